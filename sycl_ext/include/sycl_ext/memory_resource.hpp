// SPDX-License-Identifier: Apache-2.0
//
// USM as a std::pmr::memory_resource, for containers and for allocators of your own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <sycl_ext/core.hpp>
#include <unordered_map>
#include <utility>

namespace sycl_ext {

// Allocates USM of one kind, for work on one queue.  Any thread may allocate and deallocate;
// allocating takes the GIL, deallocating does not.  A deallocated block is freed when the queue is
// idle, so work on it may still be pending.  The resource frees the remaining blocks when it is
// destroyed.  Throws std::bad_alloc when there is not enough memory.
//
// Containers and the pools of std::pmr write into their memory from the host, so give them shared
// or host USM.  Use device USM if you call allocate() and deallocate() yourself.
class usm_resource final : public std::pmr::memory_resource {
 public:
  // For work on the queue of the entry.
  explicit usm_resource(const device_entry& entry, usm_kind kind = usm_kind::shared)
      : usm_resource(entry, std::nullopt, kind) {}
  explicit usm_resource(const sycl::queue& queue, usm_kind kind = usm_kind::shared)
      : usm_resource(device_entry::of(queue), queue, kind) {}

  const device_entry& entry() const noexcept { return entry_; }
  usm_kind kind() const noexcept { return kind_; }

 private:
  usm_resource(const device_entry& entry, std::optional<sycl::queue> queue, usm_kind kind)
      : entry_(entry), queue_(std::move(queue)), kind_(kind) {
    if (kind == usm_kind::system) {
      throw std::invalid_argument("usm_resource allocates device, shared or host USM");
    }
  }

  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    // SYCL aligns a block for every fundamental type.  For a larger alignment, the first byte
    // moves.
    const std::size_t slack = alignment > alignof(std::max_align_t) ? alignment - 1 : 0;
    const std::size_t most = std::numeric_limits<std::int64_t>::max();
    if (bytes > most - slack) throw std::bad_alloc();
    auto [data, owner] = block(std::max<std::size_t>(bytes, 1) + slack);
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    auto* const first = reinterpret_cast<void*>((address + alignment - 1) / alignment * alignment);
    const std::lock_guard lock(mutex_);
    blocks_.emplace(first, std::move(owner));
    return first;
  }

  void do_deallocate(void* data, std::size_t, std::size_t) override {
    decltype(blocks_)::node_type block;  // destroys its owner after the lock is released
    const std::lock_guard lock(mutex_);
    block = blocks_.extract(data);
  }

  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  // Allocates a block; returns its address and the owner that keeps it.
  std::pair<void*, std::shared_ptr<void>> block(std::size_t nbytes) const {
    if (!Py_IsInitialized()) throw std::bad_alloc();  // the interpreter has ended
    const auto size = static_cast<std::int64_t>(nbytes);
    sycl_ext_view view = detail::description(entry_, dtype_of<std::uint8_t>::value, &size, 1);
    view.usm_kind = static_cast<std::int32_t>(kind_);
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *type, *value, *traceback;  // keeps an exception that is already set
    PyErr_Fetch(&type, &value, &traceback);
    PyObject* const tensor = api().make(&view, queue_ ? &*queue_ : nullptr);
    const bool made = tensor && api().view_of(tensor, &view) == 0;
    Py_XDECREF(tensor);  // the owner keeps the memory
    // std::bad_alloc says that there is no memory; an exception of on_pressure says more.
    if (!made && !PyErr_ExceptionMatches(PyExc_MemoryError)) PyErr_WriteUnraisable(nullptr);
    PyErr_Restore(type, value, traceback);
    PyGILState_Release(state);
    if (!made) throw std::bad_alloc();
    return {view.data, std::shared_ptr<void>(view.owner, api().release_owner)};
  }

  const device_entry entry_;
  const std::optional<sycl::queue> queue_;
  const usm_kind kind_;
  std::mutex mutex_;
  std::unordered_map<void*, std::shared_ptr<void>> blocks_;  // by first byte
};

}  // namespace sycl_ext
