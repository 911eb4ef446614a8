// SPDX-License-Identifier: Apache-2.0
#include "python/bind_ipc.hpp"

#include "runtime/memory/host_registration.hpp"
#include "runtime/memory/ipc.hpp"

namespace sycl_ext {

void bind_ipc(py::module_& m) {
  py::class_<HostRegistration>(m, "HostRegistration")
      .def(py::init([](const Tensor& tensor) {
        const ByteRange bytes = byte_range(tensor);
        return std::make_unique<HostRegistration>(tensor.memory, bytes.begin, bytes.nbytes);
      }))
      .def_property_readonly("closed", &HostRegistration::is_closed)
      .def("is_known_to", &HostRegistration::is_known_to)
      .def("close", [](HostRegistration& mine) { mine.close(true); });
  py::class_<IpcExport>(m, "IpcExport")
      .def(py::init([](const Tensor& tensor) {
        const ByteRange bytes = byte_range(tensor);
        return export_ipc(tensor.memory, bytes.begin, bytes.nbytes);
      }))
      .def_property_readonly("data",
                             [](const IpcExport& handle) { return py::bytes(handle.bytes); })
      .def_readonly("exposed", &IpcExport::exposed);
  m.def("extent_of", [](const Tensor& tensor, bool of_memory) {
    const Allocation& memory = *tensor.memory;
    const ByteRange bytes = of_memory ? ByteRange{memory.data, memory.nbytes} : byte_range(tensor);
    return std::make_pair(bytes.nbytes, bytes.begin ? tensor.data - bytes.begin : 0);
  });
  m.def("has_ipc", &has_ipc);
  m.def("open_ipc", [](const Entry& entry, const py::bytes& handle, std::size_t nbytes,
                       std::size_t offset, const std::string& dtype, const py::sequence& shape,
                       const py::sequence& strides, bool readonly, const py::object& lease) {
    const DType& element = dtype_named(dtype);
    const Layout layout = strided(read_dims(shape), read_dims(strides), element.itemsize());
    Owner kept(Py_NewRef(lease.ptr()), release_python_object);
    const Memory memory = open_ipc(entry, handle, nbytes, std::move(kept));
    if (offset > nbytes) fail(Error::Kind::value, "offset is ", offset, " of ", nbytes);
    Tensor tensor{memory, memory->data + offset, &element, layout, readonly, false};
    require_inside(Error::Kind::buffer, memory, tensor.data, layout, element.itemsize());
    return tensor;
  });
}

}  // namespace sycl_ext
