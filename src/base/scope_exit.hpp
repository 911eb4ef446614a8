// SPDX-License-Identifier: Apache-2.0
// A block of code that runs when its scope is left, also by an exception.
#pragma once

#include <utility>

namespace sycl_ext {

template <class Do>
class [[nodiscard]] ScopeExit {
 public:
  explicit ScopeExit(Do act) noexcept(noexcept(Do(std::move(act)))) : act_(std::move(act)) {}
  ~ScopeExit() { act_(); }
  ScopeExit(const ScopeExit&) = delete;

 private:
  Do act_;
};

}  // namespace sycl_ext
