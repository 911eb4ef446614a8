// SPDX-License-Identifier: Apache-2.0
#include "python/deleters.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <optional>

#include "base/first_made.hpp"
#include "python/gil.hpp"

namespace sycl_ext {

namespace {

constexpr std::chrono::seconds longest_wait{2};

// The threads that are in third-party code, and the thread that ends the interpreter.  Each order
// of `enter` and `end` in time is seen by one of the two: one writes `ending_thread` and then reads
// `inside`, the other one writes `inside` first.
struct Deleters {
  std::atomic<int> inside{0};
  std::atomic<long> ending_thread;  // 0: the interpreter is not ending

  explicit Deleters(long ending) noexcept : ending_thread(ending) {}

  // Whether this thread may run third-party code now; if so, it calls `leave` afterwards.
  bool enter() noexcept {
    ++inside;
    const long ender = ending_thread;
    if (ender == 0 || ender == syscall(SYS_gettid)) return true;
    --inside;
    return false;
  }
  void leave() noexcept { --inside; }

  void end() noexcept {
    ending_thread = syscall(SYS_gettid);
    const auto latest = std::chrono::steady_clock::now() + longest_wait;
    while (inside > 0 && std::chrono::steady_clock::now() < latest) usleep(200);
  }
};

// A forked child has none of the threads that were inside.  If it was forked by a function of
// `atexit`, its interpreter is ending as well, in the only thread that it has got.
FirstMade<Deleters, true> of_process;
Deleters& deleters() {
  return of_process.get([] {
    const auto* const parents = of_process.newest();
    return Deleters(parents && parents->value.ending_thread != 0 ? getpid() : 0);
  });
}
[[maybe_unused]] Deleters& first_deleters = deleters();

// Runs `release` with the GIL, if the interpreter is not ending.
template <class Release>
void run_code_of_others(const Release& release) {
  if (python_is_gone()) return;
  Deleters& all = deleters();
  if (!all.enter()) return;
  {
    std::optional<TakenGil> taken;
    if (!is_current()) taken.emplace();
    const SavedException saved;
    hang_at_thread_end(release);
  }
  all.leave();
}

}  // namespace

void call_deleter_of_others(void (*deleter)(void*), void* object) {
  run_code_of_others([=] { deleter(object); });
}

void release_python_object(void* object) {
  run_code_of_others([=] { Py_XDECREF(static_cast<PyObject*>(object)); });
}

void end_deleters() {
  const WithoutGil released;
  deleters().end();
}

}  // namespace sycl_ext
