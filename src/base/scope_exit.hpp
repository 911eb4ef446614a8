// SPDX-License-Identifier: Apache-2.0
// A block of code that runs when its scope is left, also by an exception.
#pragma once

#include <utility>

namespace sycl_ext {

template <class Do>
class [[nodiscard]] ScopeExit {
 public:
  explicit ScopeExit(Do what) noexcept(noexcept(Do(std::move(what)))) : what_(std::move(what)) {}
  ~ScopeExit() { what_(); }
  ScopeExit(const ScopeExit&) = delete;

 private:
  Do what_;
};

}  // namespace sycl_ext
