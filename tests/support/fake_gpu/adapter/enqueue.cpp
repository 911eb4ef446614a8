// Entry points of commands: what each one does when its turn comes, and what is refused at once.
#include <cstring>
#include <string>

#include "control.hpp"
#include "memory.hpp"
#include "queue.hpp"
#include "settings.hpp"

namespace fakegpu {
namespace {

struct Rows {
  size_t count;
  size_t nbytes;  // of each
};

size_t extent(Rows rows, size_t pitch) {
  return rows.count == 0 ? 0 : (rows.count - 1) * pitch + rows.nbytes;
}

// Device memory of one GPU straight into another's: without peer access it takes a context that
// has both, and with FAKEGPU_STRICT_P2P not even that helps.
bool may_copy_between(ur_queue_handle_t queue, ur_device_handle_t a, ur_device_handle_t b) {
  if (!a || !b || a == b || settings().p2p) return true;
  return !settings().strict_p2p && queue->context->reaches(a) && queue->context->reaches(b);
}

ur_result_t copy_rows(ur_queue_handle_t queue, ur_command_t kind, bool blocking, void* to,
                      size_t to_pitch, const void* from, size_t from_pitch, Rows rows,
                      WaitList waits, ur_event_handle_t* out) {
  const Place target(to);
  const Place source(from);
  if (!target.holds(extent(rows, to_pitch)) || !source.holds(extent(rows, from_pitch)))
    return UR_RESULT_ERROR_INVALID_SIZE;
  if (!may_copy_between(queue, source.gpu(), target.gpu())) return UR_RESULT_ERROR_INVALID_ARGUMENT;

  ur_event_handle_t event = nullptr;
  const ur_result_t submitted = queue->submit(kind, Fence::none, waits, &event, [=] {
    const Access write(target);
    const Access read(source);
    for (size_t row = 0; row < rows.count; ++row)
      std::memmove(write.bytes() + row * to_pitch, read.bytes() + row * from_pitch, rows.nbytes);
    ++counters.copies;
  });
  if (submitted != UR_RESULT_SUCCESS) return submitted;
  const EventRef owned = EventRef::adopt(event);
  const ur_result_t outcome = blocking ? owned->wait() : UR_RESULT_SUCCESS;
  if (out && outcome == UR_RESULT_SUCCESS) {
    retain(event);
    *out = event;
  }
  return outcome;
}

ur_result_t fill_rows(ur_queue_handle_t queue, ur_command_t kind, void* to, size_t pitch,
                      const void* pattern, size_t pattern_nbytes, Rows rows, WaitList waits,
                      ur_event_handle_t* out) {
  const Place target(to);
  if (!target.holds(extent(rows, pitch))) return UR_RESULT_ERROR_INVALID_SIZE;
  if (pattern_nbytes == 0 || rows.nbytes % pattern_nbytes != 0) return UR_RESULT_ERROR_INVALID_SIZE;
  const std::string tile(static_cast<const char*>(pattern), pattern_nbytes);
  return queue->submit(kind, Fence::none, waits, out, [=] {
    const Access write(target);
    for (size_t row = 0; row < rows.count; ++row) {
      char* bytes = write.bytes() + row * pitch;
      for (size_t i = 0; i < rows.nbytes; i += tile.size())
        std::memcpy(bytes + i, tile.data(), tile.size());
    }
  });
}

void nothing_to_do() {}

ur_result_t enqueue_memcpy(ur_queue_handle_t queue, bool blocking, void* to, const void* from,
                           size_t nbytes, uint32_t wait_count, const ur_event_handle_t* waits,
                           ur_event_handle_t* out) {
  return copy_rows(queue, UR_COMMAND_USM_MEMCPY, blocking, to, nbytes, from, nbytes, {1, nbytes},
                   {wait_count, waits}, out);
}

ur_result_t enqueue_memcpy_2d(ur_queue_handle_t queue, bool blocking, void* to, size_t to_pitch,
                              const void* from, size_t from_pitch, size_t width, size_t height,
                              uint32_t wait_count, const ur_event_handle_t* waits,
                              ur_event_handle_t* out) {
  return copy_rows(queue, UR_COMMAND_USM_MEMCPY_2D, blocking, to, to_pitch, from, from_pitch,
                   {height, width}, {wait_count, waits}, out);
}

ur_result_t enqueue_fill(ur_queue_handle_t queue, void* to, size_t pattern_nbytes,
                         const void* pattern, size_t nbytes, uint32_t wait_count,
                         const ur_event_handle_t* waits, ur_event_handle_t* out) {
  return fill_rows(queue, UR_COMMAND_USM_FILL, to, nbytes, pattern, pattern_nbytes, {1, nbytes},
                   {wait_count, waits}, out);
}

ur_result_t enqueue_fill_2d(ur_queue_handle_t queue, void* to, size_t pitch, size_t pattern_nbytes,
                            const void* pattern, size_t width, size_t height, uint32_t wait_count,
                            const ur_event_handle_t* waits, ur_event_handle_t* out) {
  return fill_rows(queue, UR_COMMAND_USM_FILL_2D, to, pitch, pattern, pattern_nbytes,
                   {height, width}, {wait_count, waits}, out);
}

ur_result_t enqueue_prefetch(ur_queue_handle_t queue, const void*, size_t, ur_usm_migration_flags_t,
                             uint32_t wait_count, const ur_event_handle_t* waits,
                             ur_event_handle_t* out) {
  return queue->submit(UR_COMMAND_USM_PREFETCH, Fence::none, {wait_count, waits}, out,
                       nothing_to_do);
}

ur_result_t enqueue_advise(ur_queue_handle_t queue, const void*, size_t, ur_usm_advice_flags_t,
                           ur_event_handle_t* out) {
  return queue->submit(UR_COMMAND_USM_ADVISE, Fence::none, {0, nullptr}, out, nothing_to_do);
}

ur_result_t enqueue_marker(ur_queue_handle_t queue, uint32_t wait_count,
                           const ur_event_handle_t* waits, ur_event_handle_t* out) {
  return queue->submit(UR_COMMAND_EVENTS_WAIT, Fence::marker, {wait_count, waits}, out,
                       nothing_to_do);
}

ur_result_t enqueue_barrier(ur_queue_handle_t queue, uint32_t wait_count,
                            const ur_event_handle_t* waits, ur_event_handle_t* out) {
  return queue->submit(UR_COMMAND_EVENTS_WAIT_WITH_BARRIER, Fence::barrier, {wait_count, waits},
                       out, nothing_to_do);
}

ur_result_t enqueue_barrier_ext(ur_queue_handle_t queue, const ur_exp_enqueue_ext_properties_t*,
                                uint32_t wait_count, const ur_event_handle_t* waits,
                                ur_event_handle_t* out) {
  return enqueue_barrier(queue, wait_count, waits, out);
}

}  // namespace

void fill_enqueue_tables(ur_dditable_t& table) {
  table.Enqueue.pfnUSMMemcpy = enqueue_memcpy;
  table.Enqueue.pfnUSMMemcpy2D = enqueue_memcpy_2d;
  table.Enqueue.pfnUSMFill = enqueue_fill;
  table.Enqueue.pfnUSMFill2D = enqueue_fill_2d;
  table.Enqueue.pfnUSMPrefetch = enqueue_prefetch;
  table.Enqueue.pfnUSMAdvise = enqueue_advise;
  table.Enqueue.pfnEventsWait = enqueue_marker;
  table.Enqueue.pfnEventsWaitWithBarrier = enqueue_barrier;
  table.Enqueue.pfnEventsWaitWithBarrierExt = enqueue_barrier_ext;
}

}  // namespace fakegpu
