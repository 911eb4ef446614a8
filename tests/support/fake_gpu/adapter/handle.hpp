// What all handles have in common: the table in front, a reference count, an owning pointer.
// Knows the tables only.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "tables.hpp"

namespace fakegpu {

struct Handle {
  // The loader finds the adapter of a handle here: it has to be the first member, and no handle
  // may have virtual functions.
  const ur_dditable_t* table = &tables();
  std::atomic<uint32_t> references{1};
};

template <class H>
ur_result_t retain(H* handle) {
  ++handle->references;
  return UR_RESULT_SUCCESS;
}

template <class H>
ur_result_t release(H* handle) {
  if (--handle->references == 0) delete handle;
  return UR_RESULT_SUCCESS;
}

// Retain and release of what lives as long as the process.
template <class H>
ur_result_t immortal(H*) {
  return UR_RESULT_SUCCESS;
}

template <class H>
ur_result_t native_handle(H* handle, ur_native_handle_t* out) {
  *out = reinterpret_cast<ur_native_handle_t>(handle);
  return UR_RESULT_SUCCESS;
}

// A handle that someone inside the adapter needs to stay.
template <class H>
class Ref {
 public:
  Ref() = default;
  explicit Ref(H* handle) : handle_(handle) {
    if (handle_) retain(handle_);
  }
  Ref(const Ref& other) : Ref(other.handle_) {}
  Ref(Ref&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Ref() {
    if (handle_) release(handle_);
  }

  // The reference that a new handle is born with.
  static Ref adopt(H* handle) {
    Ref ref;
    ref.handle_ = handle;
    return ref;
  }

  H* get() const { return handle_; }
  H* operator->() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  H* handle_ = nullptr;
};

}  // namespace fakegpu
