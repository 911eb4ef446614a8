// SPDX-License-Identifier: Apache-2.0
#include "runtime/no_device.hpp"

#include <dlfcn.h>

#include <utility>

namespace sycl_ext {

namespace {

struct NoDeviceAdvice {
  std::string text = "`python -m sycl_ext doctor` says why", driver;
};

NoDeviceAdvice& advice() {
  static auto* const only = new NoDeviceAdvice;
  return *only;
}

}  // namespace

void set_no_device_advice(std::string text, std::string driver) {
  advice() = {std::move(text), std::move(driver)};
}

std::string no_device_advice() {
  const std::string& driver = advice().driver;
  if (driver.empty()) return advice().text;
  if (void* const loaded = dlopen(driver.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
    dlclose(loaded);
    return advice().text;
  }
  const char* const reason = dlerror();
  return "the driver of the CPU device does not load into this process (" +
         std::string(reason ? reason : driver) +
         "); if a library that was imported before has loaded what it does not work with, call "
         "sycl_ext.devices() before that import; " +
         advice().text;
}

}  // namespace sycl_ext
