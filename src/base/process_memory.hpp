// SPDX-License-Identifier: Apache-2.0
// Reading memory at an address that may be wild, without a crash.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>

#if defined(__linux__)
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>
#endif

namespace sycl_ext {

// What became of an attempt to touch memory.
enum class Touch {
  done,
  faulted,  // nothing is mapped there that allows it
  denied,   // this process has no way to find out without a crash
};

#if defined(__linux__)
namespace detail {

inline Touch touched(ssize_t moved, std::size_t nbytes) noexcept {
  if (moved >= 0) return static_cast<std::size_t>(moved) == nbytes ? Touch::done : Touch::faulted;
  return errno == EFAULT ? Touch::faulted : Touch::denied;
}

// Both ends of a pipe.  write() from memory that cannot be read, and read() into memory that cannot
// be written, fail with EFAULT.
class Pipe {
 public:
  Pipe() noexcept : open_(pipe2(ends_, O_CLOEXEC | O_NONBLOCK) == 0) {}
  ~Pipe() {
    if (!open_) return;
    close(ends_[0]);
    close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  // Copies by way of the pipe; no more than it holds, 4096 bytes at least.
  Touch move(const void* from, void* to, std::size_t nbytes) const noexcept {
    if (!open_) return Touch::denied;
    const Touch written = touched(write(ends_[1], from, nbytes), nbytes);
    return written == Touch::done ? touched(read(ends_[0], to, nbytes), nbytes) : written;
  }

 private:
  int ends_[2];
  bool open_;
};

}  // namespace detail
#endif

// Copies `nbytes` (4096 at most) from `address` of this process.  Containers may deny
// process_vm_readv, and seldom pipes.
inline Touch copy_from_process(const void* address, void* to, std::size_t nbytes) noexcept {
#if defined(__linux__)
  iovec local{to, nbytes};
  iovec remote{const_cast<void*>(address), nbytes};
  const Touch found = detail::touched(process_vm_readv(getpid(), &local, 1, &remote, 1, 0), nbytes);
  return found == Touch::denied ? detail::Pipe().move(address, to, nbytes) : found;
#else
  // No such call: an address can only be believed.
  std::memcpy(to, address, nbytes);
  return Touch::done;
#endif
}

// Copies `nbytes` from `address` of this process.  False: nothing readable is mapped there, or
// nobody can say.
inline bool read_process_memory(const void* address, void* to, std::size_t nbytes) noexcept {
  return copy_from_process(address, to, nbytes) == Touch::done;
}

}  // namespace sycl_ext
