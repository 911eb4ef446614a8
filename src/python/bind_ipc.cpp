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
    if (offset > block.nbytes) fail(Error::Kind::value, "offset is ", offset, " of ", block.nbytes);
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
      .def("close", [](HostRegistration& mine) { mine.close(/*wait=*/true); });
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
  m.def("why_no_ipc_events", py::overload_cast<const Entry&>(&why_no_ipc_events));
  py::class_<IpcEvent>(m, "IpcEvent")
      .def_property_readonly("data", [](const IpcEvent& event) { return py::bytes(event.bytes); })
      .def_property_readonly("places_before", [](const IpcEvent& event) {
        py::list places;
        for (const std::string& place : event.places_before) places.append(py::bytes(place));
        return places;
      });
  m.def("event_of_work", [](const std::vector<Tensor>& tensors) {
    std::vector<Memory> blocks;
    for (const Tensor& tensor : tensors) blocks.push_back(tensor.memory);
    return event_of_work(blocks);
  });
  m.def("on_own_queue", [](Tensor tensor) {
    tensor.memory = on_own_queue(tensor.memory);
    return tensor;
  });
  m.def(
      "wait_for_event",
      [](const std::vector<Tensor>& tensors, const py::bytes& event, int process,
         const py::bytes& place, bool is_ordered) {
        std::vector<Queue> queues;
        for (const Tensor& tensor : tensors) queues.push_back(tensor.memory->own_queue);
        wait_for_event(queues, {event, process, place}, is_ordered);
      },
      py::arg("tensors"), py::arg("event"), py::arg("process"), py::pos_only(), py::kw_only(),
      py::arg("place") = py::bytes(), py::arg("is_ordered") = false);
  m.def("is_held_by_others", [](const Tensor& tensor) {
    const BlockUse::State state = tensor.memory->use.state();
    return state == BlockUse::State::lent || state == BlockUse::State::exposed;
  });
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
          fail(Error::Kind::buffer, "the handle is of this process, and its memory has ", left,
               " bytes; ", nbytes, " were asked for: pass the shape and dtype of the array");
        }
        return array.in(memory, {begin, nbytes});
      },
      py::arg("own"), py::pos_only(), py::kw_only(), py::arg("nbytes"), py::arg("offset"),
      py::arg("dtype"), py::arg("shape"), py::arg("strides"), py::arg("readonly") = false);
}

}  // namespace sycl_ext
