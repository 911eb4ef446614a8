// The commands that a list can be given.
#include <cstring>
#include <string>

#include "clock.hpp"
#include "faults.hpp"
#include "list.hpp"
#include "memory.hpp"
#include "settings.hpp"

using namespace stand_in;

namespace {

ze_result_t append(ze_command_list_handle_t list, std::function<Work()> submit,
                   ze_event_handle_t event, std::uint32_t count, ze_event_handle_t* waits,
                   Fence fence = Fence::none) {
  std::vector<SignalPointer> signals = signals_of(count, waits);
  if (!submit && !settings().barriers) signals.clear();
  return of<List>(list).append({fence, std::move(signals), std::move(submit), signal_for(event)});
}

// Whether a command may copy between these: device memory of two cards only where they are peers.
bool may_copy(const void* to, const void* from) {
  const std::shared_ptr<Block> target = memory().around(to), source = memory().around(from);
  if (!target || !source) return true;
  if (target->type != ZE_MEMORY_TYPE_DEVICE || source->type != ZE_MEMORY_TYPE_DEVICE) return true;
  return reaches(*target->device, *source->device) || reaches(*source->device, *target->device);
}

// A copy from its submission to its end.
struct InFlight {
  InFlight() {
    const long now = ++faults().in_flight;
    long most = faults().most_in_flight;
    while (most < now && !faults().most_in_flight.compare_exchange_weak(most, now)) {
    }
  }
  ~InFlight() { --faults().in_flight; }
};

// Shared memory alone moves, so a hint about any other is a mistake of the caller.
bool takes_hints(const void* data, std::size_t size) {
  const std::shared_ptr<Block> block = memory().around(data);
  if (!block || block->type != ZE_MEMORY_TYPE_SHARED || size == 0) return false;
  return static_cast<const char*>(data) + size <= block->base + block->size;
}

ze_result_t append_hint(ze_command_list_handle_t list, const void* data, std::size_t size) {
  const auto submit = [=]() -> Work { return [place = Place(data, size)] {}; };
  return append(list, submit, nullptr, 0, nullptr);
}

}  // namespace

ZE_API ze_result_t zeCommandListAppendMemoryPrefetch(ze_command_list_handle_t list,
                                                     const void* data, std::size_t size) {
  if (!takes_hints(data, size)) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  faults().prefetched += static_cast<long>(size);
  return append_hint(list, data, size);
}

ZE_API ze_result_t zeCommandListAppendMemAdvise(ze_command_list_handle_t list, ze_device_handle_t,
                                                const void* data, std::size_t size,
                                                ze_memory_advice_t advice) {
  if (!takes_hints(data, size)) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  faults().advised += static_cast<long>(size);
  faults().advice = advice;
  return append_hint(list, data, size);
}

ZE_API ze_result_t zeCommandListAppendMemoryCopy(ze_command_list_handle_t list, void* to,
                                                 const void* from, std::size_t size,
                                                 ze_event_handle_t event, std::uint32_t count,
                                                 ze_event_handle_t* waits) {
  if (!may_copy(to, from)) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  const auto submit = [=]() -> Work {
    return [counted = std::make_shared<InFlight>(), target = Place(to, size),
            source = Place(from, size), size] {
      std::memmove(target.bytes(), source.bytes(), size);
      const long number = ++faults().copies;
      if (settings().corrupt && number % settings().corrupt == 0) target.bytes()[size - 1] ^= 1;
    };
  };
  return append(list, submit, event, count, waits);
}

ZE_API ze_result_t zeCommandListAppendMemoryFill(ze_command_list_handle_t list, void* to,
                                                 const void* pattern, std::size_t pattern_size,
                                                 std::size_t size, ze_event_handle_t event,
                                                 std::uint32_t count, ze_event_handle_t* waits) {
  const std::string what(static_cast<const char*>(pattern), pattern_size);
  const auto submit = [=]() -> Work {
    return [what, size, target = Place(to, size)] {
      for (std::size_t i = 0; i < size; ++i) target.bytes()[i] = what[i % what.size()];
    };
  };
  return append(list, submit, event, count, waits);
}

ZE_API ze_result_t zeCommandListAppendBarrier(ze_command_list_handle_t list,
                                              ze_event_handle_t event, std::uint32_t count,
                                              ze_event_handle_t* waits) {
  return append(list, {}, event, count, waits, count ? Fence::before_later : Fence::both);
}

ZE_API ze_result_t zeCommandListAppendSignalEvent(ze_command_list_handle_t list,
                                                  ze_event_handle_t event) {
  return append(list, {}, event, 0, nullptr, Fence::after_earlier);
}

ZE_API ze_result_t zeCommandListAppendWaitOnEvents(ze_command_list_handle_t list,
                                                   std::uint32_t count, ze_event_handle_t* waits) {
  return append(list, {}, nullptr, count, waits, Fence::before_later);
}

ZE_API ze_result_t zeCommandListAppendWriteGlobalTimestamp(ze_command_list_handle_t list,
                                                           std::uint64_t* to,
                                                           ze_event_handle_t event,
                                                           std::uint32_t count,
                                                           ze_event_handle_t* waits) {
  const auto submit = [to]() -> Work {
    return [target = Place(to, sizeof *to)] {
      const std::uint64_t now = now_ns();
      std::memcpy(target.bytes(), &now, sizeof now);
    };
  };
  return append(list, submit, event, count, waits);
}
