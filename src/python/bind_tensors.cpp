// SPDX-License-Identifier: Apache-2.0
#include "python/bind_tensors.hpp"

#include <optional>
#include <tuple>
#include <utility>

#include "python/capsule.hpp"
#include "python/deleters.hpp"
#include "python/dpctl_queue.hpp"
#include "python/exchange_api.hpp"
#include "python/host_arrays.hpp"
#include "python/imports.hpp"
#include "runtime/memory/memory_limit.hpp"
#include "runtime/memory/pools.hpp"
#include "runtime/memory/usm_pointers.hpp"
#include "tensor/copy.hpp"

namespace sycl_ext {

namespace {

// Commands that go on while Python continues.
struct Commands {
  std::vector<Event> events;

  explicit Commands(std::vector<Event> all) : events(std::move(all)) {}
  Commands(Commands&&) noexcept = default;
  ~Commands() {  // pybind11 preserves a pending exception
    const WithoutGil released(!events.empty());
    events.clear();
  }
  std::optional<bool> are_done() const {
    const WithoutGil released;
    for (const Event& event : events) {
      const Work answer = event.work(How::ask_under_lock);
      if (answer == Work::unknown) return std::nullopt;
      if (answer == Work::pending) return false;
    }
    return true;
  }
  // The event of the only command; of several ones, an event that is over when all of them are.
  py::object event_capsule() const {
    const bool is_one = events.size() == 1 && events.front();
    if (!is_one) wait_for_all(events);
    return reference_capsule((is_one ? events.front() : Event()).new_reference(), "SyclEventRef");
  }
};

// The tensor that owns the memory of a view with another queue; otherwise the tensor itself.  So
// views that change their queue repeatedly keep only the first tensor alive, and not each other.
PyObject* first_of_block(PyObject* tensor) {
  const Memory& memory = tensor_of(tensor).memory;
  PyObject* const owner = python_owner_of(memory);
  if (!owner || !is_tensor(owner)) return tensor;
  const Memory& kept = tensor_of(owner).memory;
  return kept->data == memory->data && kept->nbytes == memory->nbytes ? owner : tensor;
}

void require_alike(const Tensor& to, const Tensor& from) {
  if (to.dtype == from.dtype &&
      std::equal(to.layout.shape(), to.layout.shape() + to.layout.ndim(), from.layout.shape(),
                 from.layout.shape() + from.layout.ndim())) {
    return;
  }
  fail(Error::Kind::value, "source and target differ in shape or dtype");
}

}  // namespace

void bind_tensors(py::module_& m) {
  py::class_<Commands>(m, "Commands")
      .def("done", &Commands::are_done)
      .def("wait", [](const Commands& all) { wait_for_all(all.events); })
      .def("event_capsule", &Commands::event_capsule);
  m.def("begin_copy", [](const Tensor& to, const Tensor& from) {
    require_alike(to, from);
    return Commands({begin_copy(to, from)});
  });
  m.def("begin_copy_to_host", [](const Tensor& tensor) {
    auto [to, copy] = begin_copy_to_host(tensor);
    return std::make_pair(std::move(to), Commands({std::move(copy)}));
  });
  m.def("pending_commands", [](const Tensor& tensor) { return Commands(pending(tensor.memory)); });
  m.attr("TensorBase") =
      py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(tensor_base_type()));
  m.attr("TensorBase").attr("__dlpack_c_exchange_api__") = own(exchange_api_capsule());
  m.def(
      "allocate",
      [](const Entry& entry, const std::string& usm_type, const std::string& dtype,
         const py::sequence& shape, const std::string& order, const std::optional<Queue>& queue,
         bool zero, bool dedicated) {
        const DType& element = dtype_named(dtype);
        const Layout layout = compact(read_dims(shape), order, element.itemsize());
        const UsmKind kind = usm_kind_named(usm_type);
        Tensor tensor =
            make_tensor(entry, kind, element, layout, queue.value_or(Queue()), dedicated);
        if (zero) fill_zero(tensor);
        return tensor;
      },
      py::arg("entry"), py::arg("usm_type"), py::arg("dtype"), py::arg("shape"), py::arg("order"),
      py::arg("queue") = std::nullopt, py::arg("zero") = false, py::arg("dedicated") = false);
  m.def(
      "view",
      [](const py::object& tensor, std::int64_t offset, const py::sequence& shape,
         const py::sequence& strides, std::optional<bool> readonly) {
        const Tensor& base = tensor_of(tensor.ptr());
        const Layout layout = strided(read_dims(shape), read_dims(strides), base.dtype->itemsize());
        Tensor view = make_view(base, offset, layout);
        view.readonly = readonly.value_or(view.readonly);
        return view_of(tensor, std::move(view));
      },
      py::arg("tensor"), py::arg("offset"), py::arg("shape"), py::arg("strides"), py::pos_only(),
      py::arg("readonly") = std::nullopt);
  m.def("reshape", [](const py::object& tensor, const py::sequence& shape) -> py::object {
    Tensor view = tensor_of(tensor.ptr());
    view.layout = compact(read_dims(shape), "C", view.dtype->itemsize());
    const bool fits = reshape_layout(tensor_of(tensor.ptr()).layout, &view.layout);
    return fits ? view_of(tensor, std::move(view)) : py::none();
  });

  m.def(
      "as_host_view",
      [](const Tensor& tensor, const py::object& source) {
        auto* const type = reinterpret_cast<PyTypeObject*>(hooks.host_view_class);
        PyObject* const base = is_tensor(source.ptr()) ? base_of(source.ptr()) : source.ptr();
        return own(wrap_tensor(as_host_view(tensor), base, type));
      },
      py::arg("tensor"), py::pos_only(), py::kw_only(), py::arg("source") = py::none());
  m.def("copy_to_host", &copy_to_host);
  m.def(
      "as_ndarray",
      [](const py::object& tensor, bool wait) -> py::object {
        const Memory& memory = tensor_of(tensor.ptr()).memory;
        if (wait) memory->wait_for_work();
        if (!wait && memory->work(How::ask_under_lock) != Work::none) return py::none();
        return own(ndarray_over(tensor.ptr()));
      },
      py::arg("tensor"), py::pos_only(), py::kw_only(), py::arg("wait"));
  // The arguments have names, because the TypeError for a wrong `order=` shows them.
  m.def(
      "copy_to_entry",
      [](const Tensor& tensor, const Entry& entry, const std::string& usm_type,
         const std::string& order, const std::optional<Queue>& queue) {
        return copy_to_entry(tensor, entry, usm_kind_named(usm_type), read_order(order),
                             queue.value_or(Queue()));
      },
      py::arg("tensor"), py::arg("entry"), py::arg("usm_type"), py::arg("order") = "C",
      py::arg("queue") = std::nullopt);
  m.def("copy_elements", [](const Tensor& to, const Tensor& from) {
    require_alike(to, from);
    copy_elements(to, from);
  });
  m.def("require_target", &require_target);
  m.def("synchronize", [](const Tensor& tensor) {
    notice_released_queue(tensor.memory);
    tensor.memory->wait_for_work();
  });
  m.def("prefetch", [](const Tensor& tensor) {
    const ByteRange bytes = byte_range(tensor);
    tensor.memory->entry->commands().prefetch(bytes.begin, bytes.nbytes);
  });
  m.def("advise", [](const Tensor& tensor, int advice) {
    const ByteRange bytes = byte_range(tensor);
    tensor.memory->entry->commands().advise(bytes.begin, bytes.nbytes, advice);
  });
  m.def("order_after",
        [](const Queue& queue, const Tensor& tensor) { order_after(queue, tensor.memory); });
  m.def("own_queue", [](const Tensor& tensor) -> std::optional<Queue> {
    if (!tensor.memory->own_queue) return std::nullopt;
    return tensor.memory->own_queue;
  });
  m.def("show_queue", [](const Tensor& tensor) -> py::object {
    const Memory& memory = tensor.memory;
    if (!memory->entry) return py::none();
    memory->show_queue();
    const Queue& queue = memory->queue();
    order_after(queue, memory, !queue.in_order());
    return memory->own_queue ? py::none() : own(shown_queue(*memory->entry).release());
  });
  m.def("lend", [](const Tensor& tensor) {
    return std::pair(reinterpret_cast<std::uintptr_t>(tensor.data), own(wrap_loan(tensor)));
  });
  m.def("release_cached_memory", &release_cached_memory);
  m.def("memory_use", [] {
    using N = std::int64_t;
    std::vector<std::tuple<std::optional<int>, std::string, N, N, N, N, std::size_t>> rows;
    const auto add = [&rows](const Entry* entry, UsmKind kind) {
      const MemoryUse use = memory_use(entry, kind);
      if (use.total == 0) return;
      rows.emplace_back(entry ? std::optional<int>(entry->id) : std::nullopt, usm_kind_name(kind),
                        use.bytes, use.peak, use.live, use.total, use.kept);
    };
    add(nullptr, UsmKind::system);
    for (int id = 0; id < entries_so_far(); ++id) {
      for (const UsmKind kind : allocated_kinds) add(find_entry(id), kind);
    }
    return rows;
  });
  m.def("limit_memory",
        [](const Entry& entry, std::int64_t nbytes) { pools_of(entry).limit = nbytes; });
  m.def(
      "as_usm",
      [](const py::object& object, bool thorough) {
        const Tensor& tensor = tensor_of(object.ptr());
        const Memory& memory = tensor.memory;
        if (!tensor.on_host) return object;
        if (memory->entry) return view_of(object, as_usm(tensor));
        if (memory->is_host_copy() || !memory->data) return object;
        UsmKind kind;
        const Entry* const entry = find_owner(memory->data, &kind, thorough);
        if (!entry) return object;
        return own(wrap_tensor(relabel(tensor, *entry, kind), object.attr("base").ptr()));
      },
      py::arg("tensor"), py::pos_only(), py::kw_only(), py::arg("thorough") = false);
  m.def(
      "adopt",
      [](const py::object& object, const Entry& entry, const std::optional<Queue>& queue) {
        const Tensor& tensor = tensor_of(object.ptr());
        return own(wrap_tensor(relabel(tensor, entry, UsmKind::system, queue.value_or(Queue())),
                               object.attr("base").ptr()));
      },
      py::arg("tensor"), py::arg("entry"), py::pos_only(), py::kw_only(),
      py::arg("queue") = std::nullopt);
  m.def("of_kind", [](const py::object& object, const std::string& usm_type) {
    Tensor tensor = tensor_of(object.ptr());
    const Memory& memory = tensor.memory;
    tensor.memory = borrow(memory->data, memory->nbytes, usm_kind_named(usm_type), memory->entry,
                           memory->own_queue, keep_memory(memory));
    return own(wrap_tensor(std::move(tensor), object.attr("base").ptr()));
  });
  m.def("on_queue", [](const py::object& tensor, const Queue& queue) {
    const Tensor& base = tensor_of(tensor.ptr());
    if (base.memory->queue() == queue) return tensor;
    Owner keep(Py_NewRef(first_of_block(tensor.ptr())), release_python_object);
    return view_of(tensor, on_queue(base, queue, std::move(keep)));
  });
  m.def(
      "borrow",
      [](std::uintptr_t pointer, const std::string& dtype, const py::sequence& shape,
         const py::sequence& strides, bool readonly, const py::object& owner,
         const std::optional<const Entry*>& entry, const std::optional<Queue>& queue) {
        Owner keep(Py_NewRef(owner.ptr()), release_python_object);
        auto* const data = reinterpret_cast<std::byte*>(pointer);
        const DType& element = dtype_named(dtype);
        Layout layout = strided(read_dims(shape), read_dims(strides), element.itemsize());
        return own(wrap_tensor(
            entry ? borrow_usm(data, element, std::move(layout), **entry, readonly, std::move(keep),
                               queue.value_or(Queue()))
                  : borrow_host(data, element, std::move(layout), readonly, std::move(keep)),
            owner.ptr()));
      },
      py::arg("pointer"), py::arg("dtype"), py::arg("shape"), py::arg("strides"), py::pos_only(),
      py::arg("readonly"), py::arg("owner"), py::arg("entry") = std::nullopt,
      py::arg("queue") = std::nullopt);
}

}  // namespace sycl_ext
