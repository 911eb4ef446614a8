// SPDX-License-Identifier: Apache-2.0
//
// `usm_view` as an argument and result of nanobind functions.  An argument with noconvert() is
// never copied.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <sycl_ext/core.hpp>

namespace sycl_ext::detail {

[[maybe_unused]] static const bool throws_nanobind = [] {
  throw_python_error() = [] { nanobind::raise_python_error(); };
  return true;
}();

}  // namespace sycl_ext::detail

namespace nanobind::detail {

// Of usm_view or usm_argument.
template <class View, class T, int Ndim>
class usm_caster {
 public:
  static constexpr auto Name =
      io_name(sycl_ext::detail::view_annotation<T, Ndim>.data, "sycl_ext.Tensor");
  template <class Required>
  using Cast = movable_cast_t<Required>;
  // Containers ask this before they take an element, because none of them may throw.  An element
  // with an error then does not fit.
  template <class>
  bool can_cast() const noexcept {
    return !error_;
  }

  // nanobind allows no exception here, so an error is kept, and raised when the argument is used.
  // Containers convert all their elements by one caster.
  bool from_python(handle source, std::uint8_t flags, cleanup_list*) noexcept {
    const bool convert = (flags & static_cast<std::uint8_t>(cast_flags::convert)) != 0;
    auto loaded = sycl_ext::detail::load<View>(source.ptr(), convert);
    view_ = std::move(loaded.view);
    error_ = nullptr;
    if (loaded.is_error) {
      try {
        raise_python_error();
      } catch (...) {
        error_ = std::current_exception();
      }
    }
    return view_ || error_;
  }

  explicit operator View*() { return &*found(); }
  explicit operator View&() { return *found(); }
  explicit operator View&&() { return std::move(*found()); }

  static handle from_cpp(const View& view, rv_policy, cleanup_list*) noexcept {
    return handle(view.object()).inc_ref();
  }

 protected:
  std::optional<View>& found() {
    if (error_) std::rethrow_exception(error_);
    return view_;
  }

  std::optional<View> view_;
  std::exception_ptr error_;
};

template <class T, int Ndim>
class type_caster<sycl_ext::usm_view<T, Ndim>>
    : public usm_caster<sycl_ext::usm_view<T, Ndim>, T, Ndim> {};

template <class T, int Ndim>
class type_caster<sycl_ext::usm_argument<T, Ndim>>
    : public usm_caster<sycl_ext::usm_argument<T, Ndim>, T, Ndim> {};

// With the error of its element, which a container of nanobind loses.
template <class View, class T, int Ndim>
class optional_usm_caster : usm_caster<View, T, Ndim> {
  using Element = usm_caster<View, T, Ndim>;

 public:
  static constexpr auto Name = optional_name(Element::Name);
  template <class Required>
  using Cast = movable_cast_t<Required>;
  using Element::can_cast;

  bool from_python(handle source, std::uint8_t flags, cleanup_list* cleanup) noexcept {
    if (!source.is_none()) return Element::from_python(source, flags, cleanup);
    this->view_.reset();
    this->error_ = nullptr;
    return true;
  }

  explicit operator std::optional<View>*() { return &this->found(); }
  explicit operator std::optional<View>&() { return this->found(); }
  explicit operator std::optional<View>&&() { return std::move(this->found()); }

  static handle from_cpp(const std::optional<View>& view, rv_policy policy,
                         cleanup_list* cleanup) noexcept {
    return view ? Element::from_cpp(*view, policy, cleanup) : none().release();
  }
};

template <class T, int Ndim>
class type_caster<std::optional<sycl_ext::usm_view<T, Ndim>>>
    : public optional_usm_caster<sycl_ext::usm_view<T, Ndim>, T, Ndim> {};

template <class T, int Ndim>
class type_caster<std::optional<sycl_ext::usm_argument<T, Ndim>>>
    : public optional_usm_caster<sycl_ext::usm_argument<T, Ndim>, T, Ndim> {};

}  // namespace nanobind::detail
