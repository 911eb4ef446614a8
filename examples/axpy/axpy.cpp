// SPDX-License-Identifier: Apache-2.0
//
// A pybind11 extension with a kernel of its own.  It takes the arrays of every library, on every
// device, sub-device and context.
//
// Any C++17 compiler builds it: the SYCL runtime compiles the source of the kernel when the kernel
// is first used on a device.  A SYCL compiler (-fsycl) compiles the kernel ahead of time instead.
#include <mutex>
#include <sycl/kernel_bundle.hpp>
#include <sycl/queue.hpp>
#include <sycl_ext/sycl_ext.hpp>
#include <unordered_map>

namespace py = pybind11;
namespace syclexp = sycl::ext::oneapi::experimental;

using Source = sycl_ext::usm_view<const float, 1>;
using Target = sycl_ext::usm_view<float, 1>;

namespace {

// The arguments of the kernel: y[i * y_stride] += a * x[i * x_stride], for i in [0, n).
struct Arguments {
  float a;
  const float* x;
  std::int64_t x_stride;
  float* y;
  std::int64_t y_stride;
  std::int64_t n;
};

#ifdef SYCL_LANGUAGE_VERSION  // a SYCL compiler

sycl::event submit(sycl::queue& queue, const Arguments& given,
                   const std::vector<sycl::event>& before) {
  return queue.parallel_for(sycl::range<1>(static_cast<std::size_t>(given.n)), before,
                            [=](sycl::id<1> id) {
                              const auto i = static_cast<std::int64_t>(id[0]);
                              given.y[i * given.y_stride] += given.a * given.x[i * given.x_stride];
                            });
}

#else

// These two headers suffice for a kernel; <sycl/sycl.hpp> takes ten times as long to compile.
const char* const SOURCE = R"(
#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
void axpy(float a, const float* x, long x_stride, float* y, long y_stride, long n) {
  const long i = syclexp::this_nd_item<1>().get_global_id(0);
  if (i < n) y[i * y_stride] += a * x[i * x_stride];
}
)";

constexpr std::int64_t GROUP = 64;  // work-items; some of the last group do nothing

// Compiles the kernel once for each context and device.  Kernels are never destroyed, because the
// SYCL runtime may end before static variables are destroyed.
sycl::kernel kernel_for(const sycl::context& context, const sycl::device& device) {
  static auto* const mutex = new std::mutex;
  static auto* const kernels =
      new std::unordered_map<sycl::context, std::unordered_map<sycl::device, sycl::kernel> >;
  const std::lock_guard<std::mutex> lock(*mutex);
  auto& of_context = (*kernels)[context];
  auto compiled = of_context.find(device);
  if (compiled == of_context.end()) {
    auto source = syclexp::create_kernel_bundle_from_source(context, syclexp::source_language::sycl,
                                                            std::string(SOURCE));
    auto bundle = syclexp::build(source, {device});
    compiled = of_context.emplace(device, bundle.ext_oneapi_get_kernel("axpy")).first;
  }
  return compiled->second;
}

sycl::event submit(sycl::queue& queue, const Arguments& given,
                   const std::vector<sycl::event>& before) {
  const sycl::kernel kernel = kernel_for(queue.get_context(), queue.get_device());
  const auto items = static_cast<std::size_t>((given.n + GROUP - 1) / GROUP * GROUP);
  return queue.submit([&](sycl::handler& handler) {
    handler.depends_on(before);
    handler.set_args(given.a, given.x, given.x_stride, given.y, given.y_stride, given.n);
    handler.parallel_for(sycl::nd_range<1>(items, GROUP), kernel);
  });
}

#endif

// y += a * x, asynchronously: later users of the memory of y wait for the kernel.
void axpy(float a, const Source& given, const Target& y) {
  // A view of x where the device of y can use it, else a copy there.
  const Source x = given.on(y.entry());
  if (x.shape(0) != y.shape(0)) {
    throw py::value_error("x has " + std::to_string(x.shape(0)) + " elements, and y has " +
                          std::to_string(y.shape(0)));
  }
  if (y.shape(0) == 0) return;

  // No call into the SYCL runtime is made with the GIL held: some of them wait.
  const py::gil_scoped_release released;
  sycl::queue queue = y.queue();
  const sycl::event done =
      submit(queue, {a, x.data(), x.stride(0), y.data(), y.stride(0), y.shape(0)},
             {sycl_ext::ready(x), sycl_ext::ready(y)});
  sycl_ext::finish(x, queue, {done});
  sycl_ext::finish(y, queue, {done});
}

}  // namespace

PYBIND11_MODULE(axpy, m) {
  m.doc() = "An example of an extension with sycl_ext and a kernel of its own.";
  sycl_ext::api();  // imports sycl_ext, or throws
  m.def("axpy", axpy, py::arg("a"), py::arg("x"), py::arg("y"), "y += a * x, asynchronously.");
}
