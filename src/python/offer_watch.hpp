// SPDX-License-Identifier: Apache-2.0
// Whether somebody who was handed a tensor has asked for its memory, and taken it: what
// tells a consumer that refuses a form of the memory from one that fails for reasons of its own.
#pragma once

#include <utility>
#include <vector>

#include "python/gil.hpp"

namespace sycl_ext {

// Watches the thread that makes it until end(); watches nest.  The GIL is held.
class OfferWatch {
 public:
  OfferWatch() noexcept : outer_(std::exchange(current_, this)) {}
  ~OfferWatch() { end(); }
  OfferWatch(const OfferWatch&) = delete;
  OfferWatch& operator=(const OfferWatch&) = delete;

  void end() noexcept {
    if (current_ == this) {
      current_ = outer_;
      if (outer_ && asked_) {  // what is done in there is done in the outer one, too
        outer_->asked_ = true;
        outer_->taken_ = outer_->taken_ || !refused();
      }
    }
    capsules_.clear();
  }

  // Whether the memory was asked for, or where it is, and not taken.
  bool refused() const noexcept {
    if (!asked_ || taken_) return false;
    for (const PyRef& capsule : capsules_) {
      // A consumer that takes what is in a capsule renames it.
      if (!PyCapsule_IsValid(capsule.get(), "dltensor") &&
          !PyCapsule_IsValid(capsule.get(), "dltensor_versioned")) {
        return false;
      }
    }
    return true;
  }

  // Called by the protocols.
  static void asked() noexcept {
    if (current_) current_->asked_ = true;
  }
  static void taken() noexcept {
    if (current_) current_->taken_ = true;
  }
  // Returns the capsule (may be nullptr), and looks later what became of it.
  static PyObject* handed_out(PyObject* capsule) noexcept {
    if (!current_ || !capsule) return capsule;
    try {
      Py_INCREF(capsule);
      current_->capsules_.push_back(PyRef(capsule));
    } catch (...) {  // no memory to remember it with
      current_->taken_ = true;
    }
    return capsule;
  }

 private:
  // Found without a call: each export looks at it.
  static inline __thread OfferWatch* current_ __attribute__((tls_model("initial-exec"))) = nullptr;
  OfferWatch* const outer_;
  bool asked_ = false, taken_ = false;
  std::vector<PyRef> capsules_;
};

}  // namespace sycl_ext
