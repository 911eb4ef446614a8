// SPDX-License-Identifier: Apache-2.0
// Floor 0. Reading memory at an address that may be wild, without a crash.
#pragma once

#include <cstddef>
#include <cstring>

#if defined(__linux__)
#include <sys/uio.h>
#include <unistd.h>
#endif

namespace sycl_ext {

// Copies `nbytes` from `address` of this process.  False: nothing readable is mapped there.
inline bool read_process_memory(const void* address, void* to, std::size_t nbytes) noexcept {
#if defined(__linux__)
  iovec local{to, nbytes};
  iovec remote{const_cast<void*>(address), nbytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(nbytes);
#else
  // No such call: an address can only be believed.
  std::memcpy(to, address, nbytes);
  return true;
#endif
}

}  // namespace sycl_ext
