// SPDX-License-Identifier: Apache-2.0
#include <sycl_ext/nanobind.hpp>

// Sets every element to zero, asynchronously.
void clear(const sycl_ext::usm_view<float, 1>& x) {
  if (!x.is_c_contiguous()) throw nanobind::value_error("x must be contiguous");
  const nanobind::gil_scoped_release released;  // no SYCL call is made with the GIL held
  sycl::queue queue = x.queue();
  const sycl::event done = queue.memset(x.data(), 0, x.nbytes(), sycl_ext::ready(x));
  sycl_ext::finish(x, queue, {done});
}

NB_MODULE(clear, m) {
  sycl_ext::api();  // imports sycl_ext
  m.def("clear", clear, nanobind::arg("x"));
}
