// SPDX-License-Identifier: Apache-2.0
// Where each managed tensor that is still alive came from; off unless it is asked for.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <vector>

#include "dlpack/export.hpp"

namespace sycl_ext {

struct Origin {
  const void* data;
  std::vector<std::int64_t> shape;
  DLDataType dtype;
  DLDevice device;
  std::vector<std::string> stack;  // "file:line in function", innermost first
};

// From now on, remembers every export until its deleter runs.  Frames of files below `package` are
// left out of the stacks.
void trace_origins(std::string package);

// Those that are alive, oldest first.
std::vector<Origin> live_origins();

}  // namespace sycl_ext
