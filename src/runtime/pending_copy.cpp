// SPDX-License-Identifier: Apache-2.0
#include "runtime/pending_copy.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <iterator>
#include <map>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/fork.hpp"
#include "base/interpreter.hpp"
#include "base/lock.hpp"
#include "runtime/deferred_free.hpp"
#include "runtime/runtime_call.hpp"

namespace sycl_ext {

namespace {

// The number of the copy that this thread carries out; 0: none.
thread_local std::uint64_t own_number __attribute__((tls_model("initial-exec"))) = 0;

// Threads that copy; who begins another copy waits for one of them.
constexpr int most_copying_threads = 32;
std::atomic<int> copying_threads{0};

constexpr const char* lost =
    "a copy was under way when this process was forked, and goes on in the parent alone; wait for "
    "it before the fork, or copy again";

// A copy that a command does, and what it reads and writes.
struct Command {
  std::shared_ptr<PendingCopy> copy;
  PendingCopy::What what;
};

// Waits for a command; what went wrong in it.
std::exception_ptr error_in(const Queue& queue, const Event& event) noexcept {
  try {
    wait_for_all({event});
    if (!event.has_failed()) return nullptr;
    queue.finish({});
    fail(Error::Kind::runtime, "the device says that a copy has failed, and not why");
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

// The table of all.  Never destroyed: a copy may end after the static destructors.  Under the lock
// nothing is called and nothing is dropped: the end of an event is a call into the runtime.
class PendingCopies final : AtFork {
 public:
  PendingCopies() : AtFork(Rank::pending_copies) {}

  void add(const std::shared_ptr<PendingCopy>& copy) {
    Copies dropped;
    const std::lock_guard<Mutex> lock(mutex_);
    copies_.push_back(copy);
    copy->number_ = ++last_number_;
    dropped = take_out_what_is_over();
  }

  void end(PendingCopy* copy, std::exception_ptr error) {
    {
      Copies dropped;
      const std::lock_guard<Mutex> lock(mutex_);
      copy->is_over_ = true;
      copy->error_ = std::move(error);
      dropped = take_out_what_is_over();
    }
    copy->completion_.set();
  }

  // Waits for a command, and lets what it reads and writes go.  Where the wait fails nobody knows
  // whether it is over, so that is left to the thread that frees.
  void end_command(const Queue& queue, Command command) {
    std::exception_ptr error = error_in(queue, command.copy->event());
    if (error) {
      QueueSet queues;
      queues.add(queue);
      free_after_work(queues, std::move(command.what.target));
      free_after_work(queues, std::move(command.what.source));
    }
    command.what.target.reset();
    command.what.source.reset();
    end(command.copy.get(), std::move(error));
  }

  // Commands of one queue are waited for in order, by one thread while there are any.
  void wait_for(const Queue& queue, Command command) {
    {
      const std::lock_guard<Mutex> lock(mutex_);
      std::deque<Command>& commands = commands_[&queue.state()];
      commands.push_back(std::move(command));
      if (commands.size() > 1) return;
    }
    try {
      run_in_background([this, queue] { wait_for_all_of(queue); });
    } catch (...) {  // no memory to hand it over
      wait_for_all_of(queue);
    }
  }

  // What is to be raised; nullptr: nothing.
  std::exception_ptr error_of(PendingCopy* copy, bool again) {
    Copies dropped;
    const std::lock_guard<Mutex> lock(mutex_);
    const bool is_told = std::exchange(copy->is_told_, true);
    dropped = take_out_what_is_over();
    if (is_told && !again) return nullptr;
    if (copy->is_over_ || !is_lost(*copy)) return copy->error_;
    return std::make_exception_ptr(Error(Error::Kind::runtime, lost));
  }

  bool is_over(const PendingCopy& copy) {
    const std::lock_guard<Mutex> lock(mutex_);
    return copy.is_over_ || is_lost(copy);
  }

  // Until the first of the copies that a thread makes is over, or a signal handler raises.
  void wait_for_a_thread() {
    std::shared_ptr<PendingCopy> first;
    {
      const std::lock_guard<Mutex> lock(mutex_);
      const auto found = std::find_if(copies_.begin(), copies_.end(), [this](const auto& copy) {
        return !copy->event() && !copy->is_over_ && !is_lost(*copy);
      });
      if (found != copies_.end()) first = *found;
    }
    first ? first->finish() : std::this_thread::yield();
  }

  template <class Visit>
  void visit(const Bytes& bytes, bool writes, const Visit& visit) {
    const std::lock_guard<Mutex> lock(mutex_);
    for (const auto& copy : copies_) {
      if (own_number != 0 && copy->number_ >= own_number) continue;
      if (copy->concerns(bytes, writes) && !is_of_no_interest(*copy)) visit(copy);
    }
  }

 private:
  using Copies = std::vector<std::shared_ptr<PendingCopy>>;

  void wait_for_all_of(const Queue& queue) {
    for (bool is_last = false; !is_last;) {
      std::unique_lock<Mutex> lock(mutex_);
      Command next = std::move(commands_[&queue.state()].front());
      lock.unlock();
      end_command(queue, std::move(next));
      lock.lock();
      const auto found = commands_.find(&queue.state());
      found->second.pop_front();
      is_last = found->second.empty();
      if (is_last) commands_.erase(found);
    }
  }

  void after_fork(bool in_child) noexcept override {
    if (!in_child) return;
    own_number = 0;
    copying_threads = 0;
    new std::map<const QueueState*, std::deque<Command>>(std::move(commands_));  // the parent's
    commands_.clear();
  }

  // Whether a thread of the parent made it.
  static bool is_lost(const PendingCopy& copy) noexcept {
    return copy.process_ != process_generation();
  }

  // An error stays until somebody was told of it, or the memory that it concerns is gone.
  bool is_of_no_interest(const PendingCopy& copy) const noexcept {
    if (!copy.is_over_ && !is_lost(copy)) return false;
    const bool is_fine = copy.is_over_ && !copy.error_;
    return is_fine || copy.is_told_ || copy.block_.expired();
  }

  Copies take_out_what_is_over() {
    const auto over =
        std::stable_partition(copies_.begin(), copies_.end(),
                              [this](const auto& one) { return !is_of_no_interest(*one); });
    Copies dropped(std::make_move_iterator(over), std::make_move_iterator(copies_.end()));
    copies_.erase(over, copies_.end());
    pending_copies_now.store(copies_.size(), std::memory_order_release);
    return dropped;
  }

  Mutex mutex_{Rank::pending_copies};
  Copies copies_;
  std::map<const QueueState*, std::deque<Command>> commands_;
  std::uint64_t last_number_ = 0;
};

namespace {
PendingCopies& table = *new PendingCopies;
}  // namespace

PendingCopy::PendingCopy(const What& what, Event event)
    : written_(what.written), read_(what.read), block_(what.block), event_(std::move(event)) {}

std::shared_ptr<PendingCopy> PendingCopy::none() {
  const std::shared_ptr<PendingCopy> copy(
      new PendingCopy({nullptr, nullptr, {nullptr, nullptr}, {nullptr, nullptr}, {}}, {}));
  copy->is_over_ = true;
  return copy;
}

std::shared_ptr<PendingCopy> PendingCopy::by_thread(const What& what, std::function<void()> body) {
  // Before it has a number: what runs now waits for copies with smaller numbers alone.
  while (copying_threads >= most_copying_threads) table.wait_for_a_thread();
  const std::shared_ptr<PendingCopy> copy(new PendingCopy(what, {}));
  table.add(copy);
  try {
    auto work = [copy, body = std::move(body)]() mutable {
      const UnfinishedWork pending;
      own_number = copy->number_;
      std::exception_ptr error;
      try {
        body();
      } catch (...) {
        error = std::current_exception();
      }
      own_number = 0;
      body = nullptr;  // what it reads and writes goes before it counts as over
      table.end(copy.get(), std::move(error));
      --copying_threads;
    };
    ++copying_threads;
    run_in_background(std::move(work));
  } catch (...) {  // no memory to hand it over
    table.end(copy.get(), nullptr);
    throw;
  }
  return copy;
}

std::shared_ptr<PendingCopy> PendingCopy::by_command(const What& what, const Queue& queue,
                                                     const Event& event) {
  std::shared_ptr<PendingCopy> copy;
  try {
    copy.reset(new PendingCopy(what, event));
    table.add(copy);
  } catch (...) {  // no memory to remember it with
    (void)error_in(queue, event);
    throw;
  }
  try {
    table.wait_for(queue, {copy, what});
  } catch (...) {
    table.end_command(queue, {copy, what});
  }
  return copy;
}

bool PendingCopy::is_done() { return table.is_over(*this); }

void PendingCopy::finish() {
  if (!table.is_over(*this)) completion_.wait();
}

void PendingCopy::wait() {
  finish();
  if (const std::exception_ptr error = table.error_of(this, true)) std::rethrow_exception(error);
}

void PendingCopy::wait_to_use(const Bytes& bytes) {
  finish();
  if (!bytes.overlap(written_)) return;
  if (const std::exception_ptr error = table.error_of(this, false)) std::rethrow_exception(error);
}

bool has_pending_copies(const Bytes& bytes, bool writes) noexcept {
  if (!any_pending_copies()) return false;
  bool found = false;
  table.visit(bytes, writes, [&](const auto&) { found = true; });
  return found;
}

std::vector<std::shared_ptr<PendingCopy>> pending_copies(const Bytes& bytes, bool writes) {
  std::vector<std::shared_ptr<PendingCopy>> found;
  if (!any_pending_copies()) return found;
  table.visit(bytes, writes, [&](const auto& copy) { found.push_back(copy); });
  return found;
}

void wait_for_copies(const Bytes& bytes, bool writes) {
  const auto copies = pending_copies(bytes, writes);
  if (copies.empty()) return;
  const WithoutGil released;
  for (const auto& copy : copies) copy->wait_to_use(bytes);
}

void order_after_copies(const Queue& queue, const Bytes& bytes) {
  const auto copies = pending_copies(bytes);
  if (copies.empty()) return;
  const WithoutGil released;
  for (const auto& copy : copies) {
    if (!copy->event() || copy->is_done() || !queue.order_after(copy->event())) {
      copy->wait_to_use(bytes);
    }
  }
}

}  // namespace sycl_ext
