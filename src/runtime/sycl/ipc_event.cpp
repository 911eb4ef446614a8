// SPDX-License-Identifier: Apache-2.0
#include "runtime/sycl/ipc_event.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "base/interpreter.hpp"
#include "runtime/sycl/commands.hpp"

#if __has_include(<sycl/ext/oneapi/experimental/ipc_event.hpp>)
#define HAS_IPC_EVENTS 1
#include <sycl/ext/oneapi/experimental/ipc_event.hpp>

// An older runtime lacks these functions: there they are null.
namespace sycl {
inline namespace _V1 {
namespace ext::oneapi::experimental {
namespace detail {
__attribute__((weak)) sycl::event make_event(const sycl::context&, std::uint32_t);
}
__attribute__((weak)) void enqueue_signal_event(sycl::queue, event&);
namespace ipc::event {
__attribute__((weak)) handle get(const sycl::event&);
__attribute__((weak)) void put(handle&, const sycl::context&);
}  // namespace ipc::event
}  // namespace ext::oneapi::experimental
namespace detail {
__attribute__((weak)) sycl::event openIPCEventHandle(const std::byte*, std::size_t,
                                                     const sycl::context&);
}
}  // namespace _V1
}  // namespace sycl
#endif

namespace sycl_ext {

namespace {

// A process with another runtime may have made the event.
[[noreturn]] void fail_to_open(int process, const char* reason) {
  fail(Error::Kind::buffer, "the handle has an event of process ", process,
       ", which cannot be waited for here: ", reason,
       "; or wait for the array in that process before its handle is made");
}

}  // namespace

#ifdef HAS_IPC_EVENTS

namespace experimental = sycl::ext::oneapi::experimental;
namespace ipc = experimental::ipc;

namespace {

const char* const too_old =
    "this SYCL runtime has no inter-process events; intel-sycl-rt 2026.2 and later have";

bool runtime_has_them() noexcept {
  void (*const put)(ipc::handle&, const sycl::context&) = ipc::event::put;
  return experimental::detail::make_event && experimental::enqueue_signal_event &&
         ipc::event::get && put && sycl::detail::openIPCEventHandle;
}

}  // namespace

std::string why_no_ipc_events(const sycl::device& device) {
  if (!runtime_has_them()) return too_old;
  return sycl_call("asking for the aspects of a device", [&] {
    if (device.has(sycl::aspect::ext_oneapi_ipc_event)) return std::string();
    return std::string("the device has no inter-process events (the aspect ext_oneapi_ipc_event)");
  });
}

IpcEvent signal_event(const Queue& queue) {
  const WithoutGil released;
  return locked_call("signaling an inter-process event", [&] {
    sycl::queue on = queue.state().queue;
    sycl::event event = experimental::make_event(
        on.get_context(), experimental::properties{experimental::enable_ipc{true}});
    ++queue.state().abandoned;  // a command for which no thread waits
    experimental::enqueue_signal_event(on, event);
    on.ext_oneapi_prod();
    ipc::handle handle = ipc::event::get(event);
    const ipc::handle_data_t bytes = handle.data();
    ipc::event::put(handle, on.get_context());
    return IpcEvent{{reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                    new_reference_of(event),
                    awaited_places(queue.state())};
  });
}

void wait_for_event(const std::vector<Queue>& queues, const OthersEvent& others, bool is_ordered) {
  if (!runtime_has_them()) fail_to_open(others.process, too_old);
  const WithoutGil released;
  const auto* const begin = reinterpret_cast<const std::byte*>(others.bytes.data());
  const auto opened = [&](const sycl::context& context) {
    const RuntimeCall call("opening an inter-process event");
    auto event = std::make_shared<AwaitedEvent>(others.process, others.place);
    try {
      const ipc::handle_data_t handle(begin, begin + others.bytes.size());
      event->event = ipc::event::open(handle, context);
    } catch (const sycl::exception&) {
      if (!event->process.has_ended()) throw;
      fail(Error::Kind::runtime, "process ", others.process,
           " has ended before this one could wait for its work on shared memory; keep it until "
           "that work is complete");
    }
    return event;
  };
  sycl_call("opening an inter-process event", [&] {
    std::shared_ptr<const AwaitedEvent> event;
    std::optional<sycl::context> of_event;
    for (const Queue& queue : queues) {
      const sycl::context context = queue.state().queue.get_context();
      if (of_event != context) event = opened(context);
      of_event = context;
      if (is_ordered) {
        queue.note_order_after(event);
      } else {
        queue.order_after(event);
      }
    }
  });
}

#else  // headers before 2026.2

namespace {

const char* const built_without =
    "sycl_ext was built with a SYCL runtime without inter-process events; build it with "
    "intel-sycl-rt 2026.2 or later";

}  // namespace

std::string why_no_ipc_events(const sycl::device&) { return built_without; }

IpcEvent signal_event(const Queue&) {
  return {{}, Owner(nullptr, [](void*) {})};
}
void wait_for_event(const std::vector<Queue>&, const OthersEvent& others, bool) {
  fail_to_open(others.process, built_without);
}

#endif

}  // namespace sycl_ext
