// SPDX-License-Identifier: Apache-2.0
#include "runtime_call.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "forced_unwind.hpp"
#include "fork.hpp"
#include "interpreter.hpp"

namespace sycl_ext {

namespace {

std::atomic<bool> checks_gil{false}, ending{false};
std::atomic<int> in_progress{0};

bool is_main_thread() noexcept { return syscall(SYS_gettid) == getpid(); }

// Runs before the destructors of the libraries that the runtime had loaded by its first call.
void end_process(int status, void*) {
  ending = true;
  // The calls that free memory in the background are short.
  for (int tries = 0; in_progress != 0 && tries < 200; ++tries) usleep(1000);
  if (in_progress == 0) return;
  std::fflush(stdout);
  std::fflush(stderr);
  _exit(status);
}

// The threads that were in the runtime are not in the child.
struct CallsOfParent final : ForkHandler {
  void before_fork() noexcept override {}
  void after_fork_in_parent() noexcept override {}
  void after_fork_in_child() noexcept override { in_progress = 0; }
};

bool prepare_the_end() {
  new CallsOfParent;  // for ever
  return on_exit(end_process, nullptr) == 0;
}

}  // namespace

RuntimeCall::RuntimeCall(const char* what) noexcept {
  static const bool prepared = prepare_the_end();
  (void)prepared;
  if (checks_gil.load(std::memory_order_relaxed)) {
    const Interpreter* const python = interpreter;
    if (python && python->holds_gil()) {
      std::fprintf(stderr, "sycl_ext: %s: the SYCL runtime is called with the GIL held\n", what);
      std::abort();
    }
  }
  ++in_progress;
  if (ending && !is_main_thread()) {
    --in_progress;
    hang();
  }
}

RuntimeCall::~RuntimeCall() { --in_progress; }

void check_gil_at_runtime_calls(bool check) noexcept { checks_gil = check; }

bool is_process_ending() noexcept { return ending.load(std::memory_order_relaxed); }

}  // namespace sycl_ext
