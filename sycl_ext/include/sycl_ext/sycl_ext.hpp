// SPDX-License-Identifier: Apache-2.0
//
// sycl_ext for pybind11 extensions: `device_entry`, an entry of the device table, and
// `usm_view<T>`, an argument type for arrays of any library: typed, strided USM with its queue.
//
//   #include <sycl_ext/sycl_ext.hpp>
//
//   void negate(sycl_ext::usm_view<float> out, sycl_ext::usm_view<const float> in);
#pragma once

#include <sycl_ext/core.hpp>
#include <sycl_ext/pybind11.hpp>
