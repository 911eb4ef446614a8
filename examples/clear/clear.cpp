// SPDX-License-Identifier: Apache-2.0
#include <sycl_ext/sycl_ext.hpp>

// Sets every element to zero, asynchronously.
void clear(const sycl_ext::usm_view<float, 1>& x) {
  if (!x.is_c_contiguous()) throw pybind11::value_error("x must be contiguous");
  const pybind11::gil_scoped_release released;  // no SYCL call is made with the GIL held
  sycl::queue queue = x.queue();
  const sycl::event done = queue.memset(x.data(), 0, x.nbytes(), sycl_ext::ready(x));
  sycl_ext::finish(x, queue, {done});
}

PYBIND11_MODULE(clear, m) {
  sycl_ext::api();  // imports sycl_ext
  m.def("clear", clear, pybind11::arg("x"));
}
