// SPDX-License-Identifier: Apache-2.0
//
// sycl_ext for pybind11 extensions: the device table (`device_entry`), and an argument type that
// takes any array of any library as typed, strided USM with its queue (`usm_view<T>`).
//
//   #include <sycl_ext/sycl_ext.hpp>
//
//   void negate(sycl_ext::usm_view<float> out, sycl_ext::usm_view<const float> in);
#pragma once

#include <sycl_ext/core.hpp>
#include <sycl_ext/pybind11.hpp>
