// SPDX-License-Identifier: Apache-2.0
// The facts, relations and routes of the exchange (src/rules) for the Python side.
#pragma once

#include "python/bind.hpp"

namespace sycl_ext {

void bind_rules(py::module_& m);

// Takes the table: for the name of each relation the names of three routes, for copy=None, False
// and True.
void set_rules(const py::dict& table);

}  // namespace sycl_ext
