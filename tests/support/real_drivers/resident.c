// SPDX-License-Identifier: Apache-2.0
// Comes before the functions of Debian's loader of Level Zero. The driver cannot make memory
// resident without a device, and v2 of the adapter makes all memory of peers resident.
int zeContextMakeMemoryResident(void) { return 0; }
int zeContextEvictMemory(void) { return 0; }
