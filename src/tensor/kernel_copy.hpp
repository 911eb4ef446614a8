// SPDX-License-Identifier: Apache-2.0
// Strided copies by kernels of the device (strided.cl).
//
// A kernel copies units of 1, 2, 4, 8 or 16 bytes: the widest ones that the copy consists of.  Rows
// of many elements are copied in wider units than an element, and elements at any address in
// smaller ones.
#pragma once

#include <vector>

#include "runtime/devices/entry.hpp"
#include "tensor/strided.hpp"

namespace sycl_ext {

// The same copy in the widest units: `itemsize` is that of a unit.
CopyLoops in_widest_units(const CopyLoops& loops) noexcept;

// Whether a kernel does this copy, of the widest units, at once.
bool fits_one_launch(const CopyLoops& loops) noexcept;

// Whether one command of the device does this copy: of the bytes, or by a kernel.  It may build the
// kernel, so the caller has released the GIL, and holds no lock.
bool is_one_command(const CopyLoops& loops, const Entry& entry);
// Begins that command on the queue of the entry.
Event begin_command(const CopyLoops& loops, const Entry& entry);

// Submits a copy between two memories that kernels of the entry reach, and appends its commands to
// `events`.  False: the device takes no kernels (its kernels are built here, as above), and nothing
// was submitted.
bool submit_elements(const CopyLoops& loops, const Entry& entry, std::vector<Event>* events);

// Whether the device takes the kernels for this copy.
bool takes_kernels(const CopyLoops& loops, const Entry& entry);

// Why the device takes no kernels; empty: it does.  It builds one.
std::string reason_against_kernels(const Entry& entry);

// Gives the compiler of the driver the head of a module from now on, which has no kernels.
void break_kernels() noexcept;

}  // namespace sycl_ext
