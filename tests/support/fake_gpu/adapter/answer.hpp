// How a Get...Info entry point hands back a value: the size, the value, or both.
// Includes nothing of ours.
#pragma once

#include <unified-runtime/ur_api.h>

#include <cstring>
#include <string>

namespace fakegpu {

class Answer {
 public:
  Answer(size_t capacity, void* target, size_t* size)
      : capacity_(capacity), target_(target), size_(size) {}

  ur_result_t bytes(const void* data, size_t nbytes) const {
    if (target_) {
      if (capacity_ < nbytes) return UR_RESULT_ERROR_INVALID_SIZE;
      std::memcpy(target_, data, nbytes);
    }
    if (size_) *size_ = nbytes;
    return UR_RESULT_SUCCESS;
  }

  template <class T>
  ur_result_t value(T v) const {
    return bytes(&v, sizeof v);
  }

  ur_result_t text(const std::string& s) const { return bytes(s.c_str(), s.size() + 1); }

  ur_result_t nothing() const { return bytes("", 0); }

  // For a question nobody here has an opinion on: zero, empty or false, whatever its type is.
  ur_result_t zeros() const {
    if (target_) std::memset(target_, 0, capacity_);
    if (size_) *size_ = target_ ? capacity_ : 0;
    return UR_RESULT_SUCCESS;
  }

 private:
  size_t capacity_;
  void* target_;
  size_t* size_;
};

}  // namespace fakegpu
