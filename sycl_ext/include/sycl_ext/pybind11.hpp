// SPDX-License-Identifier: Apache-2.0
//
// `usm_view` as an argument and result of pybind11 functions.  An argument with noconvert() is
// never copied.
#pragma once

#include <pybind11/pybind11.h>

#if PYBIND11_VERSION_MAJOR < 3
#error "sycl_ext needs pybind11 3 or newer: pip install 'pybind11>=3', and compile with its headers"
#endif

#include <sycl_ext/core.hpp>

namespace sycl_ext::detail {

[[maybe_unused]] static const bool throws_pybind11 = [] {
  throw_python_error() = [] { throw pybind11::error_already_set(); };
  return true;
}();

}  // namespace sycl_ext::detail

namespace pybind11::detail {

// Of usm_view or usm_argument.
template <class View, class T, int Ndim>
class usm_caster {
 public:
// An argument with noconvert() has the name of a result, unless the name is inverted; pybind11 3.0
// cannot invert it, so a result has the name of an argument there.
#if PYBIND11_VERSION_HEX >= 0x03010000
  static constexpr auto name =
      inv_descr(io_name("sycl_ext.Tensor", sycl_ext::detail::view_annotation<T, Ndim>.data));
#else
  static constexpr auto name = const_name(sycl_ext::detail::view_annotation<T, Ndim>.data);
#endif
  template <class Required>
  using cast_op_type = movable_cast_op_type<Required>;
  operator View*() { return &*view_; }
  operator View&() { return *view_; }
  operator View&&() && { return std::move(*view_); }

  bool load(handle source, bool convert) {
    auto loaded = sycl_ext::detail::load<View>(source.ptr(), convert);
    if (loaded.is_error) throw error_already_set();
    view_ = std::move(loaded.view);
    return view_.has_value();
  }

  static handle cast(const View& view, return_value_policy, handle) {
    return handle(view.object()).inc_ref();
  }

 private:
  std::optional<View> view_;
};

template <class T, int Ndim>
class type_caster<sycl_ext::usm_view<T, Ndim>>
    : public usm_caster<sycl_ext::usm_view<T, Ndim>, T, Ndim> {};

template <class T, int Ndim>
class type_caster<sycl_ext::usm_argument<T, Ndim>>
    : public usm_caster<sycl_ext::usm_argument<T, Ndim>, T, Ndim> {};

}  // namespace pybind11::detail
