// The table of entry points that the runtime's loader asks for, and who fills which part of it.
// Includes nothing of ours.
#pragma once

#include <unified-runtime/ur_api.h>
#include <unified-runtime/ur_ddi.h>

namespace fakegpu {

// Filled on first use, never changed after. What is left null, the runtime calls unsupported.
const ur_dditable_t& tables();

void fill_platform_tables(ur_dditable_t& table);  // Adapter, Platform    platform.cpp
void fill_device_tables(ur_dditable_t& table);    // Device, UsmP2PExp    device.cpp
void fill_context_tables(ur_dditable_t& table);   // Context              context.cpp
void fill_memory_tables(ur_dditable_t& table);    // USM                  memory.cpp
void fill_event_tables(ur_dditable_t& table);     // Event                event.cpp
void fill_queue_tables(ur_dditable_t& table);     // Queue                queue.cpp
void fill_enqueue_tables(ur_dditable_t& table);   // Enqueue              enqueue.cpp

}  // namespace fakegpu
