// SPDX-License-Identifier: Apache-2.0
#include "runtime/sycl/runtime_call.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "base/forced_unwind.hpp"
#include "base/fork.hpp"
#include "base/host.hpp"
#include "base/lock.hpp"

namespace sycl_ext {

namespace {

std::atomic<bool> ending{false};

// The number of threads in a brief call, the number of calls that wait for work, and whether a
// thread is about to fork.
std::atomic<int> brief{0}, unfinished{0};
std::atomic<bool> forking{false};
// How many calls this thread is in, and how many brief ones.  Only the outermost brief one is
// counted in `brief`.
thread_local int own_calls __attribute__((tls_model("initial-exec"))) = 0;
thread_local int own_brief __attribute__((tls_model("initial-exec"))) = 0;

// The part of `brief` that is this thread's.
int own_share_of_brief() noexcept { return own_brief > 0 ? 1 : 0; }

// Exit and fork wait for a bounded time: the runtime may wait for a host task inside a brief call,
// so the call may take long, and a thread that holds a lock that the fork needs must be able to
// continue.
template <class Condition>
bool wait_a_little(const Condition& is_met) noexcept {
  for (int tries = 0; !is_met() && tries < 300; ++tries) usleep(500);
  return is_met();
}

// Whether commands of this package may have been pending when the last fork began.
bool had_commands_at_fork = false;
// In a forked child: whether a parent had such commands.  They never end in the child, and a driver
// may wait for them in its destructor.
bool has_work_of_parent = false;

// The answer of a folder above this one; `otherwise`: that folder was not used yet.
template <class Answer>
Answer ask(const std::atomic<Answer (*)() noexcept>& question, Answer otherwise) noexcept {
  Answer (*const function)() noexcept = question;
  return function ? function() : otherwise;
}

// Runs before the destructors of the libraries that the runtime had loaded by its first call.
void end_process(int status, void*) {
  const auto is_all_done = [] {
    return unfinished == 0 && ask(pending_work.deferred_frees, std::size_t{0}) == 0;
  };
  const bool was_all_done = wait_a_little(is_all_done);
  ending = true;
  const bool is_nobody_inside =
      was_all_done && wait_a_little([&] { return brief == 0 && is_all_done(); });
  if (is_nobody_inside && !has_work_of_parent) return;
  std::fflush(stdout);
  std::fflush(stderr);
  _exit(status);
}

void before_fork() noexcept {
  forking = true;
  wait_a_little([] { return brief == own_share_of_brief(); });
  had_commands_at_fork = ask(pending_work.may_have_commands, /*otherwise=*/false);
}

// The child has none of the threads that were in the runtime.
void after_fork(bool in_child) noexcept {
  if (in_child) {
    has_work_of_parent = has_work_of_parent || had_commands_at_fork;
    unfinished = 0;
    brief = own_share_of_brief();
  }
  forking = false;
}

constexpr ForkSteps steps{before_fork, after_fork};
struct SetForkSteps {
  SetForkSteps() noexcept { fork_steps = &steps; }
};
[[maybe_unused]] const SetForkSteps set_fork_steps;

// Registers end_process() for the end of the process, once.
void prepare_end() noexcept {
  static std::atomic<bool> is_prepared{false};
  if (is_prepared) return;
  const bool was_prepared = is_prepared.exchange(true);
  if (!was_prepared) on_exit(end_process, nullptr);
}

// Counts a call.  Once the process is ending, only the main thread may make calls; other threads
// stop here for ever.
void enter(const char* what, std::atomic<int>* count) noexcept {
  check_locks(held_locks == 0, "the SYCL runtime is called under a lock");
  prepare_end();
  const Host* const python = checks_gil.load(std::memory_order_relaxed) ? host.load() : nullptr;
  if (python && python->holds_gil()) {
    std::fprintf(stderr, "sycl_ext: %s: the SYCL runtime is called with the GIL held\n", what);
    std::abort();
  }
  ++*count;
  if (ending && !is_main_thread()) {
    --*count;
    hang();
  }
}

}  // namespace

RuntimeCall::RuntimeCall(const char* what, bool waits) noexcept : waits_(waits) {
  ++own_calls;
  if (waits) {
    enter(what, &unfinished);
    return;
  }
  ++own_brief;
  if (own_brief > 1) return;
  enter(what, &brief);
  for (int forks = 0; forking && forks < 10; ++forks) {
    --brief;
    wait_a_little([] { return !forking; });
    ++brief;  // then check again: the next fork may already have begun
  }
}

RuntimeCall::~RuntimeCall() {
  --own_calls;
  if (waits_) {
    --unfinished;
    return;
  }
  --own_brief;
  if (own_brief == 0) --brief;
}

bool is_in_runtime() noexcept { return own_calls > 0; }

bool is_process_ending() noexcept { return ending.load(std::memory_order_relaxed); }

}  // namespace sycl_ext
