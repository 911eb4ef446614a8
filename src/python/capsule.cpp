// SPDX-License-Identifier: Apache-2.0
#include "python/capsule.hpp"

#include <array>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "base/process_memory.hpp"

namespace sycl_ext {

namespace {

template <class Managed>
constexpr bool is_versioned = std::is_same_v<Managed, DLManagedTensorVersioned>;
template <class Managed>
constexpr const char* fresh_name = is_versioned<Managed> ? "dltensor_versioned" : "dltensor";
template <class Managed>
constexpr const char* used_name =
    is_versioned<Managed> ? "used_dltensor_versioned" : "used_dltensor";

// The context of a capsule that this package made for an export.  Until it is consumed, no other
// code had the struct.  A struct of this package in another capsule comes from code that had it.
int untouched_export;

bool is_untouched(PyObject* capsule) { return PyCapsule_GetContext(capsule) == &untouched_export; }

// Runs the deleter of the struct in a capsule that was not consumed.
template <class Managed>
void destroy_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, fresh_name<Managed>)) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, fresh_name<Managed>));
  InUse* const use = own_export(managed);
  if (use && is_untouched(capsule)) use->give_back_unused();
  call_deleter<Managed>(managed);
}

template <class Managed>
PyObject* wrap(Managed* managed) {
  PyObject* capsule = PyCapsule_New(managed, fresh_name<Managed>, destroy_capsule<Managed>);
  if (!capsule) call_deleter<Managed>(managed);
  return capsule;
}

template <class Managed>
PyObject* wrap_export(const Tensor& tensor, ExportOptions options) {
  PyObject* const capsule = wrap(export_managed<Managed>(tensor, std::move(options)));
  if (capsule) PyCapsule_SetContext(capsule, &untouched_export);
  return capsule;
}

template <class Managed>
Imported consume(PyObject* capsule, ImportOptions options) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, fresh_name<Managed>));
  options.is_untouched = is_untouched(capsule);
  PyCapsule_SetName(capsule, used_name<Managed>);
  return import_managed(managed, options);
}

}  // namespace

PyObject* make_capsule(const Tensor& tensor, bool versioned, ExportOptions options) {
  return versioned ? wrap_export<DLManagedTensorVersioned>(tensor, std::move(options))
                   : wrap_export<DLManagedTensor>(tensor, std::move(options));
}

PyObject* capsule_from_pointer(void* managed, bool versioned) {
  std::array<std::byte, sizeof(DLManagedTensorVersioned)> image;
  const std::size_t nbytes = versioned ? image.size() : sizeof(DLManagedTensor);
  if (!managed || !read_process_memory(managed, image.data(), nbytes)) {
    fail(Error::Kind::value, "there is no managed tensor at address ",
         reinterpret_cast<std::uintptr_t>(managed),
         ", which is not readable; pass the address of a live DLManagedTensor or "
         "DLManagedTensorVersioned");
  }
  return versioned ? wrap(static_cast<DLManagedTensorVersioned*>(managed))
                   : wrap(static_cast<DLManagedTensor*>(managed));
}

Imported consume_capsule(PyObject* capsule, const ImportOptions& options) {
  using Versioned = DLManagedTensorVersioned;
  using Legacy = DLManagedTensor;
  const auto is_named = [capsule](const char* name) { return PyCapsule_IsValid(capsule, name); };
  if (is_named(fresh_name<Versioned>)) return consume<Versioned>(capsule, options);
  if (is_named(fresh_name<Legacy>)) return consume<Legacy>(capsule, options);
  if (is_named(used_name<Versioned>) || is_named(used_name<Legacy>)) {
    fail(Error::Kind::buffer,
         "the DLPack capsule has already been consumed; a capsule can be consumed only once: "
         "request a new one from the producer");
  }
  if (PyCapsule_CheckExact(capsule)) {
    const char* name = PyCapsule_GetName(capsule);
    fail(Error::Kind::buffer, "the capsule is named '", name ? name : "",
         "', not 'dltensor' or 'dltensor_versioned'; it does not hold a DLPack tensor");
  }
  fail(Error::Kind::buffer, "__dlpack__ returned an object of type ", Py_TYPE(capsule)->tp_name,
       ", not a DLPack capsule");
}

}  // namespace sycl_ext
