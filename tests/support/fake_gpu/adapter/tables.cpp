// Puts the table together and exports it: the only symbols of the library besides those of
// control.cpp.
#include "tables.hpp"

#include <cstdio>
#include <cstdlib>

#include "control.hpp"
#include "settings.hpp"

namespace fakegpu {
namespace {

void report_at_exit() {
  std::fprintf(stderr, "[fakegpu] live allocations at exit: %ld, device bytes: %ld\n",
               counters.live_allocations.load(), counters.device_bytes.load());
}

}  // namespace

const ur_dditable_t& tables() {
  static const ur_dditable_t table = [] {
    ur_dditable_t t{};
    fill_platform_tables(t);
    fill_device_tables(t);
    fill_context_tables(t);
    fill_memory_tables(t);
    fill_event_tables(t);
    fill_queue_tables(t);
    fill_enqueue_tables(t);
    if (settings().stats) std::atexit(report_at_exit);
    return t;
  }();
  return table;
}

}  // namespace fakegpu

// The loader looks each part up by name and takes a missing one for an empty one, so only what is
// filled is exported. That also keeps the adapter free of parts that one release has and another
// has not.
#define EXPORT_PART(PART)                                                                   \
  extern "C" __attribute__((visibility("default"))) ur_result_t urGet##PART##ProcAddrTable( \
      ur_api_version_t, decltype(ur_dditable_t::PART)* out) {                               \
    if (!out) return UR_RESULT_ERROR_INVALID_NULL_POINTER;                                  \
    *out = fakegpu::tables().PART;                                                          \
    return UR_RESULT_SUCCESS;                                                               \
  }

EXPORT_PART(Adapter)
EXPORT_PART(Platform)
EXPORT_PART(Device)
EXPORT_PART(UsmP2PExp)
EXPORT_PART(Context)
EXPORT_PART(USM)
EXPORT_PART(Event)
EXPORT_PART(Queue)
EXPORT_PART(Enqueue)
EXPORT_PART(IPCExp)
