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

template <class T, int Ndim>
class type_caster<sycl_ext::usm_view<T, Ndim>> {
  using View = sycl_ext::usm_view<T, Ndim>;

 public:
  static constexpr auto name =
      io_name(sycl_ext::detail::view_name<T, Ndim>.data, "sycl_ext.Tensor");
  template <class>
  using cast_op_type = View&;
  operator View&() { return *view_; }

  bool load(handle source, bool convert) {
    auto loaded = sycl_ext::detail::load<View>(source.ptr(), convert);
    if (loaded.is_error) throw error_already_set();
    view_ = std::move(loaded.view);
    return view_ != nullptr;
  }

  static handle cast(const View& view, return_value_policy, handle) {
    return handle(view.object()).inc_ref();
  }

 private:
  std::unique_ptr<View> view_;
};

}  // namespace pybind11::detail
