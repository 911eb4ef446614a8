// SPDX-License-Identifier: Apache-2.0
// Reads the arguments of functions that are written against the C API.
#pragma once

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "python/gil.hpp"

namespace sycl_ext {

// The arguments of a vectorcall.
struct Call {
  PyObject* const* args;
  Py_ssize_t n_positional;
  PyObject* keyword_names;  // nullptr or a tuple
};

template <class... Names>
std::array<PyObject*, sizeof...(Names)> interned(Names... names) {
  return {intern(names)...};
}

// How a function is called: `names` in order, interned, of which the first `positional_only` have
// no keyword, the first `positional` may come without one, and the first `required` have no
// default.
template <std::size_t Count>
struct Signature {
  const char* const function;
  const std::array<PyObject*, Count> names;
  const std::size_t positional_only, positional, required;
  const char* const hint = "";  // the advice when there are too many positional arguments

  // The values, `missing` where there is none.  PythonError with the TypeError that Python raises.
  // (Inlined: a call would cost a tenth of an export.)
  [[gnu::always_inline]] std::array<PyObject*, Count> read(const Call& call,
                                                           PyObject* missing = nullptr) const {
    std::array<PyObject*, Count> values;
    values.fill(missing);
    const auto given = static_cast<std::size_t>(call.n_positional);
    if (given > positional) {
      fail(Error::Kind::type, function, "() takes at most ", positional, " positional argument",
           positional == 1 ? "" : "s", " (", given, " given)", hint);
    }
    std::copy_n(call.args, given, values.begin());
    const Py_ssize_t n_keywords = call.keyword_names ? PyTuple_GET_SIZE(call.keyword_names) : 0;
    for (Py_ssize_t i = 0; i < n_keywords; ++i) {
      PyObject* const keyword = PyTuple_GET_ITEM(call.keyword_names, i);
      auto found = std::find(names.begin(), names.end(), keyword);  // most are interned
      if (found == names.end()) {
        found = std::find_if(names.begin(), names.end(), [keyword](PyObject* one) {
          return PyUnicode_Compare(one, keyword) == 0;
        });
      }
      const auto index = static_cast<std::size_t>(found - names.begin());
      const bool is_known = index >= positional_only && index < Count;
      if (!is_known || values[index] != missing) {
        PyErr_Format(PyExc_TypeError,
                     is_known ? "%s() got multiple values for argument '%U'"
                              : "%s() got an unexpected keyword argument '%U'",
                     function, keyword);
        throw PythonError();
      }
      values[index] = call.args[call.n_positional + i];
    }
    for (std::size_t i = 0; i < required; ++i) {
      if (values[i] != missing) continue;
      PyErr_Format(PyExc_TypeError, "%s() missing 1 required positional argument: '%U'", function,
                   names[i]);
      throw PythonError();
    }
    return values;
  }
};

}  // namespace sycl_ext
