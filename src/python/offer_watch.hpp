// SPDX-License-Identifier: Apache-2.0
// Whether somebody who was handed a tensor has asked for its memory, and taken it: what
// tells a consumer that refuses a form of the memory from one that fails for reasons of its own.
#pragma once

#include <utility>
#include <vector>

#include "python/gil.hpp"

namespace sycl_ext {

// Watches the context (contextvars) that makes it until end(); watches nest.  The GIL is held.
//
// A context belongs to one greenlet or task, so calls that interleave in one thread do not see each
// other.  The context and the watches inside own what is written to (`Seen`), so no order of their
// ends leaves a dangling pointer.
class OfferWatch {
 public:
  OfferWatch() : outer_(current()), seen_(make_seen()) {
    token_.reset(PyContextVar_Set(variable(), seen_.get()));
    if (!token_) throw PythonError();
    ++active_;
  }
  ~OfferWatch() { end(); }
  OfferWatch(const OfferWatch&) = delete;
  OfferWatch& operator=(const OfferWatch&) = delete;

  void end() noexcept {
    if (!token_) return;
    const SavedException saved;
    if (PyContextVar_Reset(variable(), token_.get()) < 0) PyErr_Clear();  // in another context
    token_.reset();
    --active_;
    Seen& seen = in(seen_.get());
    if (outer_ && seen.asked) {  // what is done in there is done in the outer one, too
      in(outer_.get()).asked = true;
      in(outer_.get()).taken = in(outer_.get()).taken || !refused();
    }
    seen.is_over = true;
    seen.capsules.clear();
  }

  // Whether the memory was asked for, or where it is, and not taken.
  bool refused() const noexcept {
    const Seen& seen = in(seen_.get());
    if (!seen.asked || seen.taken) return false;
    for (const PyRef& capsule : seen.capsules) {
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
    if (const PyRef seen = current()) in(seen.get()).asked = true;
  }
  static void taken() noexcept {
    if (const PyRef seen = current()) in(seen.get()).taken = true;
  }
  // Returns the capsule (may be nullptr), and looks later what became of it.
  static PyObject* handed_out(PyObject* capsule) noexcept {
    const PyRef seen = capsule ? current() : nullptr;
    if (!seen) return capsule;
    try {
      Py_INCREF(capsule);
      in(seen.get()).capsules.push_back(PyRef(capsule));
    } catch (...) {  // no memory to remember it with
      in(seen.get()).taken = true;
    }
    return capsule;
  }

 private:
  // What was done while a watch was the innermost of its context; held by a Python capsule.
  struct Seen {
    bool asked = false, taken = false, is_over = false;
    std::vector<PyRef> capsules;
  };

  static Seen& in(PyObject* seen) noexcept {
    return *static_cast<Seen*>(PyCapsule_GetPointer(seen, nullptr));
  }
  static PyRef make_seen() {
    auto seen = std::make_unique<Seen>();
    PyRef capsule(PyCapsule_New(seen.get(), nullptr, [](PyObject* self) { delete &in(self); }));
    if (!capsule) throw PythonError();
    seen.release();
    return capsule;
  }
  static PyObject* variable() {
    static PyObject* made = nullptr;
    if (!made) made = PyContextVar_New("sycl_ext.offer", nullptr);
    if (!made) throw PythonError();
    return made;
  }
  // Of the innermost watch of this context that has not ended; empty: there is none.
  static PyRef current() noexcept {
    if (active_ == 0) return nullptr;  // each export asks
    PyObject* found = nullptr;
    if (PyContextVar_Get(variable(), nullptr, &found) < 0) PyErr_Clear();
    PyRef seen(found);
    if (seen && in(seen.get()).is_over) seen.reset();
    return seen;
  }

  static inline long active_ = 0;
  const PyRef outer_, seen_;
  PyRef token_;
};

}  // namespace sycl_ext
