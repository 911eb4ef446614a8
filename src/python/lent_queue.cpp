// SPDX-License-Identifier: Apache-2.0
#include "python/lent_queue.hpp"

#include <unordered_map>
#include <utility>

#include "python/sycl_capsule.hpp"
#include "python/tensor_object.hpp"

namespace sycl_ext {

namespace {

// The object of an entry that is not on loan.  Making one takes dpctl longer than an import; in a
// private context none is kept, which would be in use for ever.  The place stays where it is.
PyRef& unused_object(const Entry& entry) {
  static auto* const objects = new std::unordered_map<int, PyRef>;  // never destroyed
  return (*objects)[entry.id];
}

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
    : entry_(entry), unused_(unused_object(entry)), object_(std::move(unused_)) {
  if (!object_) object_ = new_queue_object(entry);  // so for a loan during a loan
  entry_.queue().lend(unused_ ? 1 : 0);
}

LentQueue::~LentQueue() {
  if (!entry_.default_context || unused_ || Py_REFCNT(object_.get()) > 1) return;
  unused_ = std::move(object_);
  entry_.queue().take_back(1);
}

}  // namespace sycl_ext
