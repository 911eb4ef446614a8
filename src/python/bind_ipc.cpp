// SPDX-License-Identifier: Apache-2.0
#include "python/bind_ipc.hpp"

#include "python/deleters.hpp"
#include "runtime/memory/host_registration.hpp"
#include "runtime/memory/ipc.hpp"

namespace sycl_ext {

namespace {

// The description of the array inside the block, as it is in a handle.
struct Described {
  Described(std::size_t offset, const std::string& dtype, const py::sequence& shape,
            const py::sequence& strides, bool readonly)
      : offset(offset),
        dtype(dtype_named(dtype)),
        layout(strided(read_dims(shape), read_dims(strides), this->dtype.itemsize())),
        readonly(readonly) {}

  const std::size_t offset;
  const DType& dtype;
  const Layout layout;
  const bool readonly;

  Tensor in(const Memory& memory, const ByteRange& block) const {
    if (offset > block.nbytes) {
      fail(Error::Kind::value, "offset is ", offset, ", but the block has ", block.nbytes,
           " bytes");
    }
    Tensor tensor{memory, block.begin + offset, &dtype, layout, readonly, false};
    require_inside(Error::Kind::buffer, block, tensor.data, layout, dtype.itemsize());
    return tensor;
  }
};

}  // namespace

void bind_ipc(py::module_& m) {
  py::class_<HostRegistration>(m, "HostRegistration")
      .def(py::init([](const Tensor& tensor) {
        const ByteRange bytes = byte_range(tensor);
        return std::make_unique<HostRegistration>(tensor.memory, bytes.begin, bytes.nbytes);
      }))
      .def_property_readonly("closed", &HostRegistration::is_closed)
      .def("is_known_to", &HostRegistration::is_known_to)
      .def("close", &HostRegistration::close, py::kw_only(), py::arg("wait"));
  py::class_<IpcExport>(m, "IpcExport")
      .def(py::init([](const Tensor& tensor) {
        const ByteRange bytes = byte_range(tensor);
        return export_ipc(tensor.memory, bytes.begin, bytes.nbytes);
      }))
      .def_property_readonly("data",
                             [](const IpcExport& handle) { return py::bytes(handle.bytes); })
      .def_readonly("exposed", &IpcExport::exposed);
  const auto extent_in = [](const ByteRange& bytes, const Tensor& tensor) {
    return std::make_pair(bytes.nbytes, bytes.begin ? tensor.data - bytes.begin : 0);
  };
  m.def("extent_in_block", [extent_in](const Tensor& tensor) {
    return extent_in({tensor.memory->data, tensor.memory->nbytes}, tensor);
  });
  m.def("extent_of_elements",
        [extent_in](const Tensor& tensor) { return extent_in(byte_range(tensor), tensor); });
  m.def("has_ipc", &has_ipc);
  m.def("lease_of", [](const Tensor& tensor) {
    void* const lease = lease_of(tensor.memory);
    return lease ? py::reinterpret_borrow<py::object>(static_cast<PyObject*>(lease)) : py::none();
  });
  m.def(
      "open_ipc",
      [](const Entry& entry, const py::bytes& handle, std::size_t nbytes, std::size_t offset,
         const std::string& dtype, const py::sequence& shape, const py::sequence& strides,
         bool readonly, const py::object& lease) {
        const Described array(offset, dtype, shape, strides, readonly);
        Owner kept(Py_NewRef(lease.ptr()), release_python_object);
        const Memory memory = open_ipc(entry, handle, nbytes, std::move(kept));
        return array.in(memory, {memory->data, memory->nbytes});
      },
      py::arg("entry"), py::arg("handle"), py::pos_only(), py::kw_only(), py::arg("nbytes"),
      py::arg("offset"), py::arg("dtype"), py::arg("shape"), py::arg("strides"),
      py::arg("readonly") = false, py::arg("lease") = py::none());
  m.def(
      "open_own",
      [](const Tensor& own, std::size_t nbytes, std::size_t offset, const std::string& dtype,
         const py::sequence& shape, const py::sequence& strides, bool readonly) {
        const Described array(offset, dtype, shape, strides, readonly);
        const Memory& memory = own.memory;
        std::byte* const begin = byte_range(own).begin;
        const auto left = static_cast<std::size_t>(memory->data + memory->nbytes - begin);
        if (nbytes > left) {
          fail(Error::Kind::buffer, "the memory of this handle, which this process made, has ",
               left, " bytes, but ", nbytes,
               " were requested; pass the shape and dtype of the array");
        }
        return array.in(memory, {begin, nbytes});
      },
      py::arg("own"), py::pos_only(), py::kw_only(), py::arg("nbytes"), py::arg("offset"),
      py::arg("dtype"), py::arg("shape"), py::arg("strides"), py::arg("readonly") = false);
}

}  // namespace sycl_ext
