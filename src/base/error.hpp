// SPDX-License-Identifier: Apache-2.0
// The one exception class of the core, and how its message is built.
//
// Every failure leaves the core as an `Error`; `Kind` says which Python exception it becomes
// (the table stands in bindings.cpp).  A message names the thing, the value found, the way out.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace sycl_ext {

class Error : public std::runtime_error {
 public:
  enum class Kind {
    buffer,        // BufferError: this pair of producer and consumer cannot
    copy_refused,  // CopyRefusedError (BufferError and ValueError): copy=False, and a copy is
                   // needed
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

// Joins its arguments into one message and throws: fail(Error::Kind::value, "ndim is ", n).
template <class... Parts>
[[noreturn]] void fail(Error::Kind kind, const Parts&... parts) {
  std::ostringstream message;
  (message << ... << parts);
  throw Error(kind, message.str());
}

}  // namespace sycl_ext
