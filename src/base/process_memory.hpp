// SPDX-License-Identifier: Apache-2.0
// Reading memory at an address that may be wild, without a crash.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace sycl_ext {

// Whether the word around an address can be read.  rt_sigprocmask() reads the set that it is given
// before it looks at `how`, and no `how` is -1: it fails with EFAULT, or with EINVAL.  Containers
// that deny process_vm_readv() do not deny this one.  (Abseil does the same:
// https://github.com/abseil/abseil-cpp/blob/master/absl/debugging/internal/address_is_readable.cc)
inline bool is_readable(std::uintptr_t address) noexcept {
  constexpr std::size_t word = 8;  // bytes of a signal set of the kernel
  const std::uintptr_t begin = address & ~(word - 1);
  return syscall(SYS_rt_sigprocmask, -1, begin, nullptr, word) != 0 && errno == EINVAL;
}

// Copies `nbytes` (1 to a page) from `address` of this process.  False: not all of these bytes can
// be read.  The address may lie anywhere, so the sanitizers must not check the reads, and a
// memcpy(), which the sanitizers intercept, must not replace them.
__attribute__((no_sanitize("address", "thread"))) inline bool read_process_memory(
    const void* address, void* to, std::size_t nbytes) noexcept {
  constexpr std::size_t page = 4096;
  assert(nbytes >= 1 && nbytes <= page);
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  // The bytes lie in at most two pages, so it is enough to check the first and the last byte.  The
  // kernel does not read a signal set at NULL, so the first page is refused.
  if (first < page || !is_readable(first) || !is_readable(first + nbytes - 1)) return false;
  const auto* from = static_cast<const volatile unsigned char*>(address);
  for (std::size_t i = 0; i < nbytes; ++i) static_cast<unsigned char*>(to)[i] = from[i];
  return true;
}

}  // namespace sycl_ext
