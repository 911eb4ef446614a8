// SPDX-License-Identifier: Apache-2.0
#include "python/lent_queue.hpp"

#include <unordered_map>

#include "python/sycl_capsule.hpp"
#include "python/tensor_object.hpp"

namespace sycl_ext {

// Making one takes dpctl longer than an import, so it is kept; not in a private context, which
// would be in use for ever.
struct LentQueue::Kept {
  PyObject* object = nullptr;
  Py_ssize_t loans = 0;  // each has a reference
};

namespace {

PyRef new_queue_object(const Entry& entry) {
  const PyRef capsule(reference_capsule<Queue::delete_reference>(
      entry.new_queue_reference_to_lend(), "SyclQueueRef"));
  PyRef object(capsule ? in_python([&] {
    return PyObject_CallOneArg(hooks().queue_of_capsule, capsule.get());
  })
                       : nullptr);
  if (!object) throw PythonError();
  return object;
}

}  // namespace

LentQueue::LentQueue(const Entry& entry)
    : kept_([&]() -> Kept* {
        static auto* const all = new std::unordered_map<int, Kept>;  // nodes stay where they are
        return entry.default_context ? &(*all)[entry.id] : nullptr;
      }()),
      object_([&] {
        if (!kept_) return new_queue_object(entry);
        if (!kept_->object) {
          PyRef made = new_queue_object(entry);
          if (!kept_->object)
            kept_->object = made.release();  // another thread may have been faster
        }
        Py_INCREF(kept_->object);
        ++kept_->loans;
        return PyRef(kept_->object);
      }()),
      loan_(entry.queue()) {}

LentQueue::~LentQueue() {
  const Py_ssize_t references = kept_ ? 1 + kept_->loans : 1;
  if (Py_REFCNT(object_.get()) > references) loan_.is_kept();
  if (kept_) --kept_->loans;
}

}  // namespace sycl_ext
