// The commands that a list can be given.
#include <cstring>
#include <string>

#include "clock.hpp"
#include "faults.hpp"
#include "list.hpp"
#include "memory.hpp"

using namespace stand_in;

namespace {

ze_result_t append(ze_command_list_handle_t list, std::function<Work()> submit,
                   ze_event_handle_t event, std::uint32_t count, ze_event_handle_t* waits,
                   Fence fence = Fence::none) {
  std::vector<SignalPointer> signals = signals_of(count, waits);
  return of<List>(list).append({fence, std::move(signals), std::move(submit), signal_for(event)});
}

// The bytes from the first row's begin to the last row's end.
std::size_t extent(const ze_copy_region_t& region, std::size_t pitch) {
  if (region.height == 0) return 0;
  return (region.originY + region.height - 1) * pitch + region.originX + region.width;
}

// Whether a command may copy between these: device memory of two cards only where they are peers.
bool may_copy(const void* to, const void* from) {
  const std::shared_ptr<Block> target = memory().around(to), source = memory().around(from);
  if (!target || !source) return true;
  if (target->type != ZE_MEMORY_TYPE_DEVICE || source->type != ZE_MEMORY_TYPE_DEVICE) return true;
  return reaches(*target->device, *source->device) || reaches(*source->device, *target->device);
}

}  // namespace

ZE_API ze_result_t zeCommandListAppendMemoryCopy(ze_command_list_handle_t list, void* to,
                                                 const void* from, std::size_t size,
                                                 ze_event_handle_t event, std::uint32_t count,
                                                 ze_event_handle_t* waits) {
  if (!may_copy(to, from)) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  const auto submit = [=]() -> Work {
    return [target = Place(to, size), source = Place(from, size), size] {
      std::memmove(target.bytes(), source.bytes(), size);
      ++faults().copies;
    };
  };
  return append(list, submit, event, count, waits);
}

ZE_API ze_result_t zeCommandListAppendMemoryCopyRegion(
    ze_command_list_handle_t list, void* to, const ze_copy_region_t* to_region,
    std::uint32_t to_pitch, std::uint32_t, const void* from, const ze_copy_region_t* from_region,
    std::uint32_t from_pitch, std::uint32_t, ze_event_handle_t event, std::uint32_t count,
    ze_event_handle_t* waits) {
  const ze_copy_region_t t = *to_region, f = *from_region;
  const auto submit = [=]() -> Work {
    return
        [=, target = Place(to, extent(t, to_pitch)), source = Place(from, extent(f, from_pitch))] {
          for (std::size_t y = 0; y < t.height; ++y)
            std::memmove(target.bytes() + (t.originY + y) * to_pitch + t.originX,
                         source.bytes() + (f.originY + y) * from_pitch + f.originX, t.width);
          ++faults().copies;
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

ZE_API ze_result_t zeCommandListAppendEventReset(ze_command_list_handle_t list,
                                                 ze_event_handle_t event) {
  const SignalPointer signal = of<Event>(event).current();
  const auto submit = [signal]() -> Work { return [signal] { signal->reset(); }; };
  return append(list, submit, nullptr, 0, nullptr, Fence::both);
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

ZE_API ze_result_t zeCommandListAppendMemoryPrefetch(ze_command_list_handle_t, const void*,
                                                     std::size_t) {
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeCommandListAppendMemAdvise(ze_command_list_handle_t, ze_device_handle_t,
                                                const void*, std::size_t, std::uint32_t) {
  return ZE_RESULT_SUCCESS;
}
