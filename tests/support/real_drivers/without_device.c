// SPDX-License-Identifier: Apache-2.0
// Comes before the functions of Debian's loader of Level Zero where the driver has no answer
// without a device.

// v2 of the adapter makes all memory of peers resident; the driver cannot make any resident.
int zeContextMakeMemoryResident(void) { return 0; }
int zeContextEvictMemory(void) { return 0; }

// No device runs a kernel. A wait for one returns at once, but its event stays "not ready" when it
// is asked, so a poll would never end. The question is answered as the wait is.
int zeEventHostSynchronize(void* event, unsigned long long timeout);
int zeEventQueryStatus(void* event) { return zeEventHostSynchronize(event, 0); }
