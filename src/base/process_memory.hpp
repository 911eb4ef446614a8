// SPDX-License-Identifier: Apache-2.0
// Reading memory at an address that may be wild, without a crash.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

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

// Copies `nbytes` (1 to 4096) from `address` of this process.  False: not all of it can be read.
// The memory may be anything, so the sanitizers do not look at the reads, which no memcpy()
// replaces.
__attribute__((no_sanitize("address", "thread"))) inline bool read_process_memory(
    const void* address, void* to, std::size_t nbytes) noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  // They lie in two pages at most.  A set at NULL would not be read.
  if (first < 4096 || !is_readable(first) || !is_readable(first + nbytes - 1)) return false;
  const auto* from = static_cast<const volatile unsigned char*>(address);
  for (std::size_t i = 0; i < nbytes; ++i) static_cast<unsigned char*>(to)[i] = from[i];
  return true;
}

}  // namespace sycl_ext
