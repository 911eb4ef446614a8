// SPDX-License-Identifier: Apache-2.0
// Comes before the functions of Debian's loader of Level Zero where the driver has no answer
// without a device.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { OUT_OF_HOST_MEMORY = 0x70000002, UNSUPPORTED = 0x78000003 };

// v2 of the adapter makes all memory of peers resident; the driver cannot make any resident.
int zeContextMakeMemoryResident(void) { return 0; }
int zeContextEvictMemory(void) { return 0; }

// No device runs a kernel. A wait for one returns at once, but its event stays "not ready" when it
// is asked, so a poll would never end. The question is answered as the wait is.
int zeEventHostSynchronize(void* event, unsigned long long timeout);
int zeEventQueryStatus(void* event) { return zeEventHostSynchronize(event, 0); }

// No kernel fills memory. What it would write is copied, by the processor, at once.
int zeCommandListIsImmediate(void* list, unsigned char* is_immediate);
int zeCommandListAppendMemoryCopy(void* list, void* to, const void* from, size_t size,
                                  void* signals, uint32_t count, void** waits_for);
int zeCommandListAppendMemoryFill(void* list, void* to, const void* pattern, size_t length,
                                  size_t size, void* signals, uint32_t count, void** waits_for) {
  unsigned char is_immediate = 0;
  const int error = zeCommandListIsImmediate(list, &is_immediate);
  if (error != 0) return error;
  if (!is_immediate) return UNSUPPORTED;  // the memory below would be gone when the list runs
  char* filled = malloc(size);
  if (filled == NULL) return OUT_OF_HOST_MEMORY;
  for (size_t at = 0; at < size; ++at) filled[at] = ((const char*)pattern)[at % length];
  const int copied =
      zeCommandListAppendMemoryCopy(list, to, filled, size, signals, count, waits_for);
  free(filled);
  return copied;
}
