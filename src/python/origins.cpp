// SPDX-License-Identifier: Apache-2.0
#include "python/origins.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/lock.hpp"
#include "python/gil.hpp"

namespace sycl_ext {

namespace {

constexpr std::size_t max_frames = 8;

struct Numbered {
  std::uint64_t number;
  Origin origin;
};

struct Registry {
  std::string package;
  Mutex mutex{Rank::origins};
  std::uint64_t made = 0;
  std::unordered_map<const void*, Numbered> alive;
};

// Never destroyed: a deleter may run after the static destructors.
Registry& registry = *new Registry;

std::string text_of(PyObject* string) {
  const char* text = string ? PyUnicode_AsUTF8(string) : nullptr;
  if (!text) PyErr_Clear();
  return text ? text : "?";
}

PyRef attribute(PyObject* object, const char* name) {
  PyRef value(PyObject_GetAttrString(object, name));
  if (!value) PyErr_Clear();
  return value;
}

// The frames of the caller; empty for C code that does not hold the GIL.
std::vector<std::string> stack_of_caller() {
  std::vector<std::string> stack;
  if (!holds_gil()) return stack;
  const SavedException saved;
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  while (frame && stack.size() < max_frames) {
    const PyRef code(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    const std::string file = text_of(attribute(code.get(), "co_filename").get());
    if (file.rfind(registry.package, 0) != 0) {
      stack.push_back(file + ":" + std::to_string(PyFrame_GetLineNumber(frame)) + " in " +
                      text_of(attribute(code.get(), "co_name").get()));
    }
    PyFrameObject* const back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
  return stack;
}

void remember(const void* managed, const DLTensor& tensor) noexcept {
  try {
    Origin origin{tensor.data,
                  {tensor.shape, tensor.shape + tensor.ndim},
                  tensor.dtype,
                  tensor.device,
                  stack_of_caller()};
    const std::lock_guard<Mutex> lock(registry.mutex);
    registry.alive.insert_or_assign(managed, Numbered{++registry.made, std::move(origin)});
  } catch (...) {  // no memory for a convenience
  }
}

void forget(const void* managed) noexcept {
  const std::lock_guard<Mutex> lock(registry.mutex);
  registry.alive.erase(managed);
}

}  // namespace

void trace_origins(std::string package) {
  registry.package = std::move(package);
  static const ExportObserver observer{remember, forget};
  set_export_observer(&observer);
}

std::vector<Origin> live_origins() {
  std::vector<Numbered> found;
  {
    const std::lock_guard<Mutex> lock(registry.mutex);
    for (const auto& entry : registry.alive) found.push_back(entry.second);
  }
  std::sort(found.begin(), found.end(),
            [](const Numbered& a, const Numbered& b) { return a.number < b.number; });
  std::vector<Origin> origins;
  for (Numbered& one : found) origins.push_back(std::move(one.origin));
  return origins;
}

}  // namespace sycl_ext
