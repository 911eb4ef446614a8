// SPDX-License-Identifier: Apache-2.0
// Another process, of which can be asked whether it has ended.
#pragma once

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sycl_ext {

// A descriptor of the process (pidfd), so a later process with the same id is not mistaken for it.
class ProcessWatch {
 public:
  explicit ProcessWatch(int process) noexcept
      : process(process), descriptor_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))) {}
  ~ProcessWatch() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  ProcessWatch(const ProcessWatch&) = delete;

  const int process;
  // False also if the kernel does not say.
  bool has_ended() const noexcept {
    pollfd asked{descriptor_, POLLIN, 0};
    return descriptor_ >= 0 && poll(&asked, 1, 0) == 1;
  }

 private:
  const int descriptor_;
};

}  // namespace sycl_ext
