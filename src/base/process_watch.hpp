// SPDX-License-Identifier: Apache-2.0
// Another process, of which can be asked whether it has ended.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace sycl_ext {

// A descriptor of the process (pidfd), so a later process with the same id is not mistaken for it.
class ProcessWatch {
 public:
  explicit ProcessWatch(int process) noexcept
      : process(process),
        descriptor_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))),
        was_gone_(descriptor_ < 0 && errno == ESRCH) {}
  ~ProcessWatch() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  ProcessWatch(const ProcessWatch&) = delete;

  const int process;
  // False also if the kernel does not say.  Where no descriptor was left, or a filter forbids the
  // call, the id is asked for.
  bool has_ended() const noexcept {
    if (was_gone_) return true;
    if (descriptor_ < 0) return kill(process, 0) != 0 && errno == ESRCH;
    pollfd asked{descriptor_, POLLIN, 0};
    return poll(&asked, 1, 0) == 1;
  }

 private:
  const int descriptor_;
  const bool was_gone_;  // before there was a descriptor
};

}  // namespace sycl_ext
