// SPDX-License-Identifier: Apache-2.0
// The only exception class of the core.
//
// Every failure leaves the core as an `Error`, and `Kind` selects the Python exception (the table
// is in bindings.cpp).  A message names the object, the value found, and the way out.
#pragma once

#include <new>
#include <sstream>
#include <stdexcept>
#include <string>

namespace sycl_ext {

class Error : public std::runtime_error {
 public:
  enum class Kind {
    buffer,        // BufferError: the exchange is impossible
    copy_refused,  // CopyRefusedError: copy=False, and the exchange needs a copy
    type,          // TypeError
    value,         // ValueError
    index,         // IndexError
    memory,        // MemoryError: an allocation failed
    runtime,       // SyclError: the SYCL runtime reported a failure
  };

  Error(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  Kind kind() const noexcept { return kind_; }

 private:
  Kind kind_;
};

// The device is lost: every later call for it fails, and only a new process can use it again.
class DeviceLost final : public Error {
 public:
  explicit DeviceLost(const std::string& message) : Error(Kind::runtime, message) {}
};

// Throws an Error whose message is the concatenation of the pieces:
// fail(Error::Kind::value, "ndim is ", n).
template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(Error::Kind kind, const Parts&... pieces) {
  std::ostringstream message;
  (message << ... << pieces);
  throw Error(kind, message.str());
}

// Calls `tell(kind, text)` for the exception in flight.  An exception of any class is translated.
template <class Tell>
void tell_exception(const Tell& tell) noexcept {
  try {
    throw;
  } catch (const Error& error) {
    tell(error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    tell(Error::Kind::memory, "out of memory");
  } catch (const std::exception& error) {
    tell(Error::Kind::runtime, error.what());
  } catch (...) {
    tell(Error::Kind::runtime, "unknown C++ exception");
  }
}

}  // namespace sycl_ext
