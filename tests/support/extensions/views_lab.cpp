// SPDX-License-Identifier: Apache-2.0
//
// `usm_view` as an argument, in all its forms; compiled once with pybind11 and once with nanobind.
#if defined(LAB_NANOBIND)
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <sycl_ext/nanobind.hpp>
namespace lib = nanobind;
#define LAB_MODULE(name, m) NB_MODULE(name, m)
#else
#include <pybind11/stl.h>

#include <sycl_ext/sycl_ext.hpp>
namespace lib = pybind11;
#define LAB_MODULE(name, m) PYBIND11_MODULE(name, m)
#endif

#include <chrono>
#include <optional>
#include <thread>

namespace {

using sycl_ext::copying;
using sycl_ext::device_entry;
using sycl_ext::usm_argument;
using sycl_ext::usm_view;

using Facts = std::tuple<std::uintptr_t, std::vector<std::int64_t>, std::vector<std::int64_t>, int,
                         int, bool, bool, int, std::size_t>;

Facts facts(const usm_view<const void>& view) {
  return {reinterpret_cast<std::uintptr_t>(view.data()),
          {view.shape(), view.shape() + view.ndim()},
          {view.strides(), view.strides() + view.ndim()},
          view.entry().id(),
          static_cast<int>(view.kind()),
          view.readonly(),
          view.is_c_contiguous(),
          device_entry::of(view.queue()).id(),
          view.nbytes()};
}

struct Holder {
  std::optional<usm_view<float>> view;
};

// Elements of host memory, in C order.
template <class View, class Body>
void each(const View& view, Body body) {
  if (!view.host_accessible()) throw std::runtime_error("the host cannot reach it");
  view.queue().wait();
  std::vector<std::int64_t> index(static_cast<std::size_t>(view.ndim()));
  for (std::int64_t i = 0; i < view.size(); ++i) {
    std::int64_t offset = 0, rest = i;
    for (int axis = view.ndim() - 1; axis >= 0; --axis) {
      offset += rest % view.shape(axis) * view.stride(axis);
      rest /= view.shape(axis);
    }
    body(view.data()[offset]);
  }
}

#if defined(LAB_NANOBIND)
// Writes to the first element; the result is its address.
template <class Array>
std::uintptr_t write_to(Array array) {
  *array.data() = 5;
  return reinterpret_cast<std::uintptr_t>(array.data());
}
#endif

// out = 2 x, or the same in a new tensor.
template <template <class, int> class View>
usm_view<float, 1> doubled(const View<const float, 1>& x, std::optional<View<float, 1>> out) {
  const usm_view<float, 1> result = out ? *out : sycl_ext::make_like(x);
  if (!sycl_ext::same_shape(x, result)) throw lib::value_error("x and out differ in shape");
  const lib::gil_scoped_release released;
  sycl_ext::ready(x).wait();
  sycl_ext::ready(result).wait();
  for (std::int64_t i = 0; i < x.size(); ++i) {
    result.data()[i * result.stride(0)] = 2 * x.data()[i * x.stride(0)];
  }
  return result;
}

std::vector<usm_view<const void>> kept;
std::vector<sycl::queue> queues;

}  // namespace

LAB_MODULE(LAB_NAME, m) {
  m.def("facts", facts);
  m.def("total", [](const usm_view<const float>& view) {
    double total = 0;
    each(view, [&](float x) { total += x; });
    return total;
  });
  m.def("add_one", [](usm_view<float> view) { each(view, [](float& x) { x += 1; }); });
  // The work is done some time after the function has returned.
  m.def("add_one_later", [](const usm_view<float>& view) {
    sycl::queue queue = view.queue();
    const sycl::event before = sycl_ext::ready(view);
    float* const data = view.data();
    const std::int64_t size = view.size();
    const sycl::event done = queue.submit([&](sycl::handler& handler) {
      handler.depends_on(before);
      handler.host_task([data, size] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        for (std::int64_t i = 0; i < size; ++i) data[i] += 1;
      });
    });
    sycl_ext::finish(view, queue, {done});
  });
  m.def("matrix", [](usm_view<const float, 2> view) { return view.shape(0); });
  m.def("same", [](usm_view<const void> view) { return view; });
  m.def("on", [](const usm_view<const void>& view, int entry, int copy) {
    return view.on(device_entry(entry), static_cast<copying>(copy));
  });
  m.def(
      "never_copied", [](usm_view<const float> view) { return view.size(); },
      lib::arg("x").noconvert());

  m.def("doubled", doubled<usm_view>, lib::arg("x"), lib::arg("out") = lib::none());
  m.def("doubled_alone", doubled<usm_argument>, lib::arg("x"), lib::arg("out") = lib::none());
  m.def("sizes", [](const std::vector<usm_view<float>>& views) {
    std::vector<std::int64_t> sizes;
    for (const usm_view<float>& view : views) sizes.push_back(view.size());
    return sizes;
  });
  m.def("size_of_pair",
        [](const std::tuple<usm_view<float>, int>& pair) { return std::get<0>(pair).size(); });
  m.def("optional_sizes", [](const std::vector<std::optional<usm_view<const float>>>& views) {
    std::vector<std::int64_t> sizes;
    for (const auto& view : views) sizes.push_back(view ? view->size() : -1);
    return sizes;
  });
  m.def("size_of_moved", [](usm_view<float>&& view) { return view.size(); });
  lib::class_<Holder> holder(m, "Holder");
  holder.def(lib::init<>());
#if defined(LAB_NANOBIND)
  holder.def_rw("view", &Holder::view);
#else
  holder.def_readwrite("view", &Holder::view);
#endif
  m.def("any_written", [](const usm_argument<void>& view) { return view.size(); });
  m.def(
      "alone_never_copied", [](const usm_argument<const float>& view) { return view.size(); },
      lib::arg("x").noconvert());
  m.def("like", [](const usm_view<const void>& view) { return sycl_ext::make_like(view); });
  m.def("mask", [](const usm_view<const void>& view) {
    return sycl_ext::make<bool>(view.shape(), view.ndim(), view.entry());
  });
  m.def("matrix_of", [](const std::vector<std::int64_t>& shape) {
    return sycl_ext::make<float, 2>(shape, device_entry::default_device());
  });
  m.def("same_shape", [](const usm_view<const void>& a, const usm_view<const float, 2>& b) {
    return sycl_ext::same_shape(a, b);
  });

  m.def("which", [](usm_view<float>) { return std::string("float32"); });
  m.def("which", [](usm_view<const float>) { return std::string("const float32"); });
  m.def("which", [](usm_view<const std::complex<double>>) { return std::string("complex128"); });
  m.def("which", [](usm_view<const bool>) { return std::string("bool"); });
  m.def("which", [](usm_view<const sycl::half>) { return std::string("float16"); });
  m.def("which",
        [](usm_view<const sycl::ext::oneapi::bfloat16>) { return std::string("bfloat16"); });
  m.def("which", [](usm_view<const std::uint8_t>) { return std::string("uint8"); });
  m.def("which", [](const std::string&) { return std::string("text"); });

  // Work on a queue of the caller, which waits for the work on the memory.
  m.def("clear_on", [](const usm_view<float>& view, const lib::object& given) {
    sycl::queue queue = sycl_ext::queue_from_python(given.ptr());
    const lib::gil_scoped_release released;
    const sycl::event before = sycl_ext::ready(view);
    const sycl::event done = queue.submit([&](sycl::handler& handler) {
      handler.depends_on(before);
      handler.memset(view.data(), 0, view.nbytes());
    });
    sycl_ext::finish(view, queue, {done});
  });
  // A queue outlives the object that it came from.
  m.def("keep_queue", [](const lib::object& given) {
    queues.push_back(sycl_ext::queue_from_python(given.ptr()));
  });
  m.def("use_queue", [](const usm_view<float>& view) {
    sycl::queue queue = queues.back();
    queues.pop_back();
    const lib::gil_scoped_release released;
    queue.memset(view.data(), 0, view.nbytes(), sycl_ext::ready(view)).wait();
    return device_entry::of(queue).id();
  });
  m.def("view_or_error",
        [](const lib::object& x) { return usm_view<const float, 1>::from_python(x.ptr()).size(); });

  // Views outlive the call, and go on another thread.
  m.def("keep", [](usm_view<const void> view) { kept.push_back(view); });
  m.def("drop", [] {
    auto gone = std::move(kept);
    kept.clear();
    lib::gil_scoped_release released;
    std::thread([gone = std::move(gone)] {}).join();
  });

#if defined(LAB_NANOBIND)  // functions of a user that work in place on nanobind's own arrays
  namespace nb = nanobind;
  using Host = nb::device::cpu;
  m.def("write_any_strides", write_to<nb::ndarray<float, Host>>);
  m.def("write_c_order", write_to<nb::ndarray<float, nb::c_contig, Host>>);
  m.def("write_float64", write_to<nb::ndarray<double, Host>>);
  m.def("write_never_converted", write_to<nb::ndarray<float, nb::c_contig, Host>>,
        nb::arg("x").noconvert());
#endif
}
