// SPDX-License-Identifier: Apache-2.0
//
// A pybind11 extension with sycl_ext.  It takes the arrays of every library, on every device,
// sub-device and context.  It has no kernels, so any C++17 compiler builds it.
#include <pybind11/stl.h>

#include <cstring>
#include <memory_resource>
#include <optional>
#include <sycl/usm.hpp>
#include <sycl_ext/memory_resource.hpp>
#include <sycl_ext/sycl_ext.hpp>
#include <vector>

namespace py = pybind11;

// `void`: elements of any type.  `const`: the memory is only read.
using Target = sycl_ext::usm_view<void>;
using Source = sycl_ext::usm_view<const void>;
using Rows = std::vector<std::int64_t>;

namespace {

// Returns the number of bytes of a row.  Each row must be contiguous; any distance between rows is
// allowed.
template <class View>
std::size_t row_bytes(const View& view) {
  std::int64_t expected = 1;
  for (int axis = view.ndim() - 1; axis > 0; --axis) {
    if (view.shape(axis) > 1 && view.stride(axis) != expected) {
      throw py::value_error("the rows are not compact along axis " + std::to_string(axis));
    }
    expected *= view.shape(axis);
  }
  return static_cast<std::size_t>(expected) * view.itemsize();
}

void check(const Target& target, const Rows& rows, const Source& source) {
  if (target.ndim() < 1 || source.ndim() != target.ndim() || !(source.dtype() == target.dtype()) ||
      !std::equal(source.shape() + 1, source.shape() + source.ndim(), target.shape() + 1)) {
    throw py::value_error("target and source differ in dtype or in the shape of a row");
  }
  if (static_cast<std::int64_t>(rows.size()) != source.shape(0)) {
    throw py::value_error("there must be one row number for each row of the source");
  }
  for (const std::int64_t row : rows) {
    if (row < 0 || row >= target.shape(0)) {
      throw py::index_error("there is no row " + std::to_string(row) + " in the target");
    }
  }
}

template <class View>
auto address_of(const View& view, std::int64_t row) {
  using Byte = std::conditional_t<View::writes, char, const char>;
  return static_cast<Byte*>(view.data()) +
         row * view.stride(0) * static_cast<std::int64_t>(view.itemsize());
}

// target[rows[i]] = source[i], asynchronously: the copies are submitted to the target's queue, and
// later users of the target's memory wait for them.
void scatter_rows(const Target& target, const Rows& rows, const py::object& values) {
  // A view of the source where the target's device can use it, else a copy there.
  const Source source = Source::from_python(values.ptr(), target.entry().id());
  check(target, rows, source);
  const std::size_t nbytes = row_bytes(target);
  row_bytes(source);

  const py::gil_scoped_release released;
  sycl::queue queue = target.queue();
  const std::vector<sycl::event> before{sycl_ext::ready(target), sycl_ext::ready(source)};
  std::vector<sycl::event> copies;
  for (std::size_t i = 0; nbytes > 0 && i < rows.size(); ++i) {
    copies.push_back(queue.memcpy(address_of(target, rows[i]),
                                  address_of(source, static_cast<std::int64_t>(i)), nbytes,
                                  before));
  }
  sycl_ext::finish(target, queue, copies);
  sycl_ext::finish(source, queue, copies);
}

// Copies the rows of x one after the other, asynchronously, to `out` or to a new tensor.
sycl_ext::usm_view<float, 2> packed(const sycl_ext::usm_argument<const float, 2>& x,
                                    std::optional<sycl_ext::usm_argument<float, 2>> out) {
  const sycl_ext::usm_view<float, 2> result = out ? *out : sycl_ext::make_like(x);
  if (!sycl_ext::same_shape(x, result)) throw py::value_error("x and out differ in shape");
  const sycl_ext::usm_view<const float, 2> source = x.on(result.entry());
  const std::size_t nbytes = row_bytes(source);
  row_bytes(result);

  const py::gil_scoped_release released;
  sycl::queue queue = result.queue();
  const std::vector<sycl::event> before{sycl_ext::ready(source), sycl_ext::ready(result)};
  std::vector<sycl::event> copies;
  for (std::int64_t row = 0; nbytes > 0 && row < x.shape(0); ++row) {
    copies.push_back(queue.memcpy(result.data() + row * result.stride(0),
                                  source.data() + row * source.stride(0), nbytes, before));
  }
  sycl_ext::finish(source, queue, copies);
  sycl_ext::finish(result, queue, copies);
  return result;
}

// Multiplies each row by its factor, on the host.
void scale_rows(const sycl_ext::usm_view<float, 2>& x,
                const sycl_ext::usm_view<const float, 1>& factors) {
  if (x.shape(0) != factors.shape(0)) throw py::value_error("x needs one factor for each row");
  if (!x.host_accessible() || !factors.host_accessible())
    throw py::buffer_error("the host cannot access this memory");
  const py::gil_scoped_release released;
  sycl_ext::ready(x).wait();
  sycl_ext::ready(factors).wait();
  for (std::int64_t i = 0; i < x.shape(0); ++i)
    for (std::int64_t j = 0; j < x.shape(1); ++j)
      x.data()[i * x.stride(0) + j * x.stride(1)] *= factors.data()[i * factors.stride(0)];
}

// Returns memory of this extension as a tensor that every library takes.
py::object arena(std::int64_t n, int device) {
  const sycl_ext::device_entry entry(device);
  const sycl::context context = entry.context();  // the block keeps its context
  auto* const block =
      sycl::malloc_shared<float>(static_cast<std::size_t>(n), entry.device(), context);
  if (!block) throw std::bad_alloc();
  std::memset(block, 0, static_cast<std::size_t>(n) * sizeof(float));
  std::shared_ptr<float> owner(block, [context](float* p) { sycl::free(p, context); });
  return py::reinterpret_steal<py::object>(sycl_ext::wrap(block, {n}, entry, owner));
}

// A container in USM, filled by the host.  The tensor keeps the container and its memory resource.
struct Squares {
  explicit Squares(const sycl_ext::device_entry& entry) : usm(entry, sycl_ext::usm_kind::shared) {}
  sycl_ext::usm_resource usm;
  std::pmr::vector<float> values{&usm};
};

py::object squares(int n, int device) {
  const sycl_ext::device_entry entry(device);
  const auto made = std::make_shared<Squares>(entry);
  for (int i = 0; i < n; ++i) made->values.push_back(static_cast<float>(i) * static_cast<float>(i));
  return py::reinterpret_steal<py::object>(sycl_ext::wrap(made->values.data(), {n}, entry, made));
}

// Returns a new tensor on the default device.
sycl_ext::usm_view<float> uninitialised(std::int64_t n) {
  return sycl_ext::make<float>({n}, sycl_ext::device_entry::default_device());
}

}  // namespace

// Works on a queue of the caller.
void clear_on(const sycl_ext::usm_view<float>& x, const py::object& given) {
  if (!x.is_c_contiguous()) throw py::value_error("x must be contiguous");
  sycl::queue queue = sycl_ext::queue_from_python(given.ptr());  // needs the GIL
  const py::gil_scoped_release released;
  const sycl::event before = sycl_ext::ready(x);
  const sycl::event done = queue.submit([&](sycl::handler& handler) {
    handler.depends_on(before);
    handler.memset(x.data(), 0, x.nbytes());
  });
  sycl_ext::finish(x, queue, {done});
}

PYBIND11_MODULE(scatter_rows, m) {
  m.doc() = "An example of an extension with sycl_ext.";
  sycl_ext::api();  // imports sycl_ext, or throws
  m.def("scatter_rows", scatter_rows, py::arg("target"), py::arg("rows"), py::arg("source"),
        "target[rows[i]] = source[i], for all i, asynchronously.");
  m.def("packed", packed, py::arg("x"), py::arg("out") = py::none(),
        "The rows of x, one after the other, in out or in a new tensor.");
  m.def("scale_rows", scale_rows, py::arg("x"), py::arg("factors"), "x[i] *= factors[i].");
  m.def("arena", arena, py::arg("n"), py::arg("device"), "A tensor over memory of this extension.");
  m.def("uninitialised", uninitialised, py::arg("n"), "A new tensor on the default device.");
  m.def("clear_on", clear_on, py::arg("x"), py::arg("queue"), "Clears x on a queue.");
  m.def("squares", squares, py::arg("n"), py::arg("device"), "A tensor over a std::pmr::vector.");
}
