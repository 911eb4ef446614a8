// SPDX-License-Identifier: Apache-2.0
// The bytes of a host view that is a copy: copied when they are first needed.
#pragma once

#include <memory>
#include <utility>

#include "tensor/tensor.hpp"

namespace sycl_ext {

// Made once, by the first thread that needs it; the others wait.
class LazyCopy {
 public:
  LazyCopy(Tensor target, Tensor source) : target_(std::move(target)), source_(std::move(source)) {}

  // Must not hold the GIL.  No lock is held during the copy, in which signal handlers may run.
  void make();

 private:
  struct Copier;

  void copy() const;
  bool is_made() const;

  const Tensor target_, source_;
  std::shared_ptr<Copier> copier_;  // nullptr: no thread copies
  bool is_made_ = false;
};

}  // namespace sycl_ext
