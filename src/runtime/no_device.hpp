// SPDX-License-Identifier: Apache-2.0
// What errors advise where there is no device.
#pragma once

#include <string>

namespace sycl_ext {

// The package says at import what it knows then, and which driver should give a device (empty: none
// is known): if that does not load into this process, the loader's reason is the advice.
std::string no_device_advice();
void set_no_device_advice(std::string advice, std::string driver);

}  // namespace sycl_ext
