// SPDX-License-Identifier: Apache-2.0
// The module `sycl_ext._core`: argument names, docstrings, exception translation, and no
// logic.  Python decides; these functions do.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/interruptible.hpp"
#include "python/buffer_protocol.hpp"
#include "python/capsule.hpp"
#include "python/conversation.hpp"
#include "python/exchange_api.hpp"
#include "python/extension_api.hpp"
#include "python/functions.hpp"
#include "python/numpy_bridge.hpp"
#include "python/offer_watch.hpp"
#include "python/origins.hpp"
#include "python/signals.hpp"
#include "python/sycl_capsule.hpp"
#include "python/tensor_object.hpp"
#include "runtime/deferred_free.hpp"
#include "runtime/ipc.hpp"
#include "runtime/native_devices.hpp"
#include "runtime/runtime_call.hpp"
#include "runtime/runtimes.hpp"
#include "runtime/untrusted.hpp"
#include "tensor/copy.hpp"

namespace py = pybind11;
using sycl_ext::Entry;
using sycl_ext::Order;
using sycl_ext::Queue;
using sycl_ext::Tensor;
using sycl_ext::UsmKind;

namespace pybind11::detail {

// Tensors cross the border as instances of the hand-written type of tensor_object.cpp.
template <>
struct type_caster<Tensor> {
  static constexpr auto name = const_name("TensorBase");
  template <typename>
  using cast_op_type = const Tensor&;
  operator const Tensor&() { return *value; }

  bool load(handle source, bool) {
    if (!sycl_ext::is_tensor(source.ptr())) return false;
    value = &sycl_ext::tensor_of(source.ptr());  // it never changes, and the caller keeps it
    return true;
  }
  static handle cast(Tensor tensor, return_value_policy, handle) {
    PyObject* object = sycl_ext::wrap_tensor(std::move(tensor), nullptr);
    if (!object) throw error_already_set();
    return object;
  }
  const Tensor* value = nullptr;
};

}  // namespace pybind11::detail

namespace {

using Dims = std::vector<std::int64_t>;

// Releases the GIL when the bytes are worth it.
class GilReleasedFor {
 public:
  explicit GilReleasedFor(bool worth_it) {
    if (worth_it) released_.emplace();
  }

 private:
  std::optional<sycl_ext::ReleasedGil> released_;
};

using sycl_ext::gil_threshold;
using sycl_ext::is_worth_releasing;

// ---- conversions --------------------------------------------------------------------------------

Dims read_dims(const py::sequence& values) {
  Dims dims;
  dims.reserve(values.size());
  for (const py::handle value : values) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (number == -1 && PyErr_Occurred()) throw py::error_already_set();
    if (overflow != 0) {
      sycl_ext::fail(sycl_ext::Error::Kind::value, "the length or stride ",
                     std::string(py::str(value)), " does not fit into 64 bits");
    }
    dims.push_back(number);
  }
  return dims;
}

Order read_order(const std::string& order) {
  if (order == "C") return Order::c;
  if (order == "F") return Order::f;
  sycl_ext::fail(sycl_ext::Error::Kind::value, "order is '", order, "'; it must be 'C' or 'F'");
}

sycl_ext::Layout compact(const Dims& shape, const std::string& order, std::size_t itemsize) {
  return sycl_ext::compact_layout(static_cast<int>(shape.size()), shape.data(), read_order(order),
                                  itemsize);
}

sycl_ext::Layout strided(const Dims& shape, const Dims& strides) {
  if (shape.size() != strides.size()) {
    sycl_ext::fail(sycl_ext::Error::Kind::value, "shape has ", shape.size(),
                   " entries and strides has ", strides.size());
  }
  return {static_cast<int>(shape.size()), shape.data(), strides.data()};
}

const void* address(std::uintptr_t value) { return reinterpret_cast<const void*>(value); }
std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

py::object own(PyObject* object) {
  if (!object) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(object);
}

DLDevice read_device(const std::pair<int, int>& device) {
  return {static_cast<DLDeviceType>(device.first), device.second};
}

const void* referenced(const py::handle& capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule.ptr(), name)) {
    sycl_ext::fail(sycl_ext::Error::Kind::type, "a '", name, "' capsule is needed");
  }
  return PyCapsule_GetPointer(capsule.ptr(), name);
}

// ---- the parts of the module --------------------------------------------------------------------

void bind_entries(py::module_& m) {
  py::enum_<sycl_ext::EntryKind>(m, "EntryKind", "What an entry of the device table stands for.")
      .value("root", sycl_ext::EntryKind::root)
      .value("sub_device", sycl_ext::EntryKind::sub_device)
      .value("context", sycl_ext::EntryKind::context);

  // Entries are immortal, so Python never owns one.
  py::class_<Entry, std::unique_ptr<Entry, py::nodelete>>(m, "Entry",
                                                          "An entry of the device table.")
      .def_readonly("id", &Entry::id)
      .def_readonly("root_id", &Entry::root_id)
      .def_property_readonly("parent_id",
                             [](const Entry& entry) {
                               return entry.parent ? std::optional<int>(entry.parent->id)
                                                   : std::nullopt;
                             })
      .def_readonly("kind", &Entry::kind)
      .def_readonly("partition", &Entry::partition)
      .def_readonly("part", &Entry::part)
      .def_property_readonly("composite",
                             [](const Entry& entry) { return !entry.components.empty(); })
      .def_readonly("default_context", &Entry::default_context)
      .def_readonly("name", &Entry::name)
      .def_readonly("backend", &Entry::backend)
      .def_readonly("device_type", &Entry::device_type)
      .def_readonly("filter_string", &Entry::filter_string)
      .def_readonly("driver_version", &Entry::driver_version)
      .def_readonly("fp16", &Entry::fp16)
      .def_readonly("fp64", &Entry::fp64)
      .def_readonly("usm_device", &Entry::usm_device)
      .def_readonly("usm_shared", &Entry::usm_shared)
      .def_readonly("usm_host", &Entry::usm_host)
      .def_readonly("usm_system", &Entry::usm_system)
      .def_readonly("host_memory", &Entry::host_memory)
      .def_property_readonly("device_address",
                             [](const Entry& entry) { return number(entry.device_address()); })
      .def_property_readonly("context_address",
                             [](const Entry& entry) { return number(entry.context_address()); })
      .def(
          "context_capsule",
          [](const Entry& entry) {
            return own(sycl_ext::reference_capsule<Entry::delete_context_reference>(
                entry.new_context_reference(), "SyclContextRef"));
          },
          "A new 'SyclContextRef' capsule.")
      .def("queue", &Entry::queue_for_others, "The entry's own in-order queue.")
      .def("new_queue", &Entry::new_queue, "Another in-order queue of its device and context.");

  m.def(
      "native_device",
      [](const Entry& entry, const std::string& usm_type) -> std::optional<std::pair<int, int>> {
        if (usm_type == "system") return std::nullopt;
        const auto found =
            sycl_ext::native_device(entry, sycl_ext::usm_kind_named(usm_type.c_str()));
        if (!found) return std::nullopt;
        return std::make_pair(found->type, found->id);
      },
      py::arg("entry"), py::arg("usm_type"),
      "What DLPack calls such memory of CUDA or ROCm; None: the backend is another one.");
  m.def(
      "entry_of_native",
      [](int type, int id) {
        const Entry* const entry = sycl_ext::entry_of_native({type, id});
        return entry ? py::cast(entry, py::return_value_policy::reference) : py::object(py::none());
      },
      py::arg("type"), py::arg("id"),
      "The root device that DLPack calls so, of CUDA or ROCm; None: there is none.");
  m.def("native_stream", &sycl_ext::native_stream, py::arg("entry"),
        py::call_guard<sycl_ext::ReleasedGil>(),
        "The stream of CUDA or HIP behind the queue of an entry.");
  m.def(
      "kind_of_native",
      [](int type) { return sycl_ext::usm_kind_name(sycl_ext::kind_of_native(type)); },
      py::arg("type"), "The kind of USM that a device type of CUDA or ROCm names.");
  m.def("root_count", &sycl_ext::root_count, "Number of root devices.");
  m.def("entry_count", &sycl_ext::entry_count, "Number of entries.");
  m.def("entry", &sycl_ext::entry_at, py::arg("id"), py::return_value_policy::reference,
        "The entry with this id; ValueError when there is none.");
  m.def("default_entry", &sycl_ext::default_entry, py::return_value_policy::reference,
        "Entry of the device that SYCL's default selector chooses.");
  m.def(
      "entry_of_queue",
      [](const Queue& queue) -> const Entry& { return sycl_ext::entry_of(queue); },
      py::arg("queue"), py::return_value_policy::reference,
      "Entry of the queue's device and context, appended when new.");
  m.def(
      "entry_of_device",
      [](std::uintptr_t device) -> const Entry& {
        return sycl_ext::entry_of_device(address(device));
      },
      py::arg("device_address"), py::return_value_policy::reference,
      "Entry of the sycl::device at an address that the caller vouches for.");
  py::enum_<sycl_ext::Partition::Kind>(m, "PartitionKind", "How a device is cut.")
      .value("equally", sycl_ext::Partition::Kind::equally)
      .value("counts", sycl_ext::Partition::Kind::counts)
      .value("affinity_domain", sycl_ext::Partition::Kind::affinity_domain)
      .value("cslice", sycl_ext::Partition::Kind::cslice);
  m.def(
      "create_sub_devices",
      [](const Entry& entry, sycl_ext::Partition::Kind kind, const py::sequence& counts,
         const std::string& domain) {
        const Dims parts = read_dims(counts);
        const sycl_ext::Partition partition{kind, {parts.begin(), parts.end()}, domain};
        std::vector<int> ids;
        const sycl_ext::ReleasedGil released;
        for (const Entry* part : sycl_ext::create_sub_devices(entry, partition))
          ids.push_back(part->id);
        return ids;
      },
      py::arg("entry"), py::arg("kind"), py::arg("counts"), py::arg("domain"),
      "Ids of the entries of the parts of a device, appended when new.");
  m.def(
      "entry_of_context",
      [](std::uintptr_t context, std::uintptr_t device) -> const Entry& {
        return sycl_ext::entry_of_context(address(context), address(device));
      },
      py::arg("context_address"), py::arg("device_address") = 0, py::return_value_policy::reference,
      "Entry of the sycl::context at an address that the caller vouches for.");
  m.def(
      "context_in_capsule",
      [](const py::object& capsule) {
        const void* context = referenced(capsule, "SyclContextRef");
        sycl_ext::require_context_at(context);
        return number(context);
      },
      py::arg("capsule"), "Address of the sycl::context in a 'SyclContextRef' capsule, checked.");
  m.def(
      "entry_in_context",
      [](std::uintptr_t pointer, std::uintptr_t context) -> const Entry& {
        return sycl_ext::entry_in_context(address(pointer), address(context));
      },
      py::arg("pointer"), py::arg("context_address"), py::return_value_policy::reference,
      "Entry of the device that a USM block of the context was allocated on.");
  m.def("copies_directly", &sycl_ext::copies_directly, py::arg("source"), py::arg("target"),
        "Whether one queue command copies between device USM of two entries.");
  m.attr("_C_API") = own(sycl_ext::extension_api_capsule());  // see sycl_ext/c_api.h
}

void bind_queues(py::module_& m) {
  static const sycl_ext::Interpreter python{
      sycl_ext::holds_gil,      sycl_ext::release_gil_if_held, sycl_ext::ReleasedGil::take,
      sycl_ext::is_only_thread, sycl_ext::takes_signals,       sycl_ext::handle_signals};
  sycl_ext::interpreter = &python;
  m.def("check_gil_at_runtime_calls", &sycl_ext::check_gil_at_runtime_calls, py::arg("check"),
        "For tests: whether a call that can wait ends the process when the GIL is held.");
  m.def(
      "call_runtime_with_gil", [] { const sycl_ext::RuntimeCall call("a planted call"); },
      "For tests: what check_gil_at_runtime_calls has to find.");
  m.def("interrupted_waits", &sycl_ext::interrupted_waits,
        "Waits that a signal ended, and whose work is still pending.");
  m.def("deferred_frees", &sycl_ext::deferred_frees,
        "Blocks that will be freed when the work on them is done.");
  m.def(
      "raise_dropped_signal",
      [](const py::object& tensor) { sycl_ext::raise_dropped_signal(tensor.ptr()); },
      py::arg("tensor"),
      "Raises what a signal handler raised in the last buffer request, if nobody has seen it.");
  py::class_<Queue>(m, "Queue", "A shared handle of a sycl::queue.")
      .def_property_readonly("in_order", &Queue::in_order)
      .def_property_readonly(
          "has_pending_work",
          py::cpp_function(&Queue::has_pending_work, py::call_guard<sycl_ext::ReleasedGil>()))
      .def(
          "__eq__", [](const Queue& a, const Queue& b) { return a == b; }, py::is_operator())
      .def("same_context", &Queue::same_context, py::arg("other"))
      .def(
          "wait", [](const Queue& queue) { queue.wait(); }, py::call_guard<sycl_ext::ReleasedGil>(),
          "Blocks until all work submitted so far is done.")
      .def("order_after", py::overload_cast<const Queue&>(&Queue::order_after, py::const_),
           py::arg("producer"), py::call_guard<sycl_ext::ReleasedGil>(),
           "Later work here sees what `producer` was given so far; False when it took a host wait.")
      .def(
          "share", [](const Queue& queue) { return number(queue.share()); },
          "Address of the sycl::queue; from now on others can submit to it.")
      .def(
          "capsule",
          [](const Queue& queue) {
            return own(sycl_ext::reference_capsule<Queue::delete_reference>(queue.new_reference(),
                                                                            "SyclQueueRef"));
          },
          "A new 'SyclQueueRef' capsule; from now on others can submit to the queue.");
  m.def(
      "queue_at", [](std::uintptr_t queue) { return Queue::from_address(address(queue)); },
      py::arg("address"), "The queue at an address that the caller vouches for.");
  m.def(
      "queue_at_untrusted",
      [](std::uintptr_t queue) { return sycl_ext::queue_at_untrusted(address(queue)); },
      py::arg("address"), "The queue at an address; ValueError when no queue can be there.");
  m.def("loaded_libsycl", &sycl_ext::loaded_libsycl,
        "The files of all SYCL runtimes that are loaded, ours first.");
  m.def("has_other_libsycl", &sycl_ext::has_other_libsycl,
        "Whether another SYCL runtime than ours is loaded.");
  m.def(
      "queue_of_capsule",
      [](const py::object& capsule) {
        return sycl_ext::queue_at_untrusted(referenced(capsule, "SyclQueueRef"));
      },
      py::arg("capsule"), "The queue in a 'SyclQueueRef' capsule.");
}

// What Python holds of a copy that goes on: each call, and its end, is without the GIL.
class CopyObject {
 public:
  explicit CopyObject(std::shared_ptr<sycl_ext::PendingCopy> copy) : copy_(std::move(copy)) {}
  CopyObject(CopyObject&&) noexcept = default;
  ~CopyObject() {
    if (!copy_) return;
    const sycl_ext::SavedException saved;
    const sycl_ext::ReleasedGil released;
    copy_.reset();
  }
  bool is_done() const {
    const sycl_ext::ReleasedGil released;
    return copy_->is_done();
  }
  void wait() const {
    const std::shared_ptr<sycl_ext::PendingCopy> copy = copy_;
    const sycl_ext::ReleasedGil released;
    copy->wait();
  }
  py::object event_capsule() const {
    if (!copy_->event()) return py::none();
    return own(sycl_ext::reference_capsule<sycl_ext::Event::delete_reference>(
        copy_->event().new_reference(), "SyclEventRef"));
  }

 private:
  std::shared_ptr<sycl_ext::PendingCopy> copy_;
};

void require_alike(const Tensor& to, const Tensor& from) {
  if (to.dtype == from.dtype &&
      std::equal(to.layout.shape(), to.layout.shape() + to.layout.ndim(), from.layout.shape(),
                 from.layout.shape() + from.layout.ndim())) {
    return;
  }
  sycl_ext::fail(sycl_ext::Error::Kind::value, "the two sides differ in shape or dtype");
}

void bind_copies(py::module_& m) {
  py::class_<CopyObject>(m, "PendingCopy", "A copy that goes on while its caller does.")
      .def("done", &CopyObject::is_done, "Whether wait() returns, or raises, at once.")
      .def("wait", &CopyObject::wait, "Blocks until it is done; raises what went wrong in it.")
      .def("event_capsule", &CopyObject::event_capsule,
           "A new 'SyclEventRef' capsule of its command; None: a thread copies.");
  m.def(
      "begin_copy",
      [](const Tensor& to, const Tensor& from) {
        require_alike(to, from);
        return CopyObject(sycl_ext::begin_copy(to, from));
      },
      py::arg("tensor"), py::arg("source"), "Begins to copy all elements.");
  m.def(
      "begin_copy_to_host",
      [](const Tensor& tensor) {
        auto [to, copy] = sycl_ext::begin_copy_to_host(tensor);
        return std::make_pair(std::move(to), CopyObject(std::move(copy)));
      },
      py::arg("tensor"), "A compact host copy, and what is done when its elements are there.");
  m.def(
      "begin_wait",
      [](const Tensor& tensor) { return CopyObject(sycl_ext::begin_wait(tensor.memory)); },
      py::arg("tensor"), "What is done when the work that is pending on the tensor is.");
  m.def(
      "pending_copies", [] { return sycl_ext::pending_copies_now.load(); },
      "For tests: copies that are under way, or have failed and told nobody.");
  m.def(
      "order_after_copies",
      [](const Queue& queue, const Tensor& tensor) {
        sycl_ext::order_after_copies(queue, tensor.memory->bytes());
      },
      py::arg("queue"), py::arg("tensor"),
      "Later work on the queue sees the copies of the tensor that were begun so far.");
}

void bind_tensors(py::module_& m) {
  m.attr("TensorBase") =
      py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(sycl_ext::tensor_base_type()));

  m.attr("TensorBase").attr("__dlpack_c_exchange_api__") = own(sycl_ext::exchange_api_capsule());

  m.def(
      "allocate",
      [](const Entry& entry, const std::string& usm_type, const std::string& dtype,
         const py::sequence& shape, const std::string& order, const std::optional<Queue>& queue,
         bool zero) {
        const sycl_ext::DType& element = sycl_ext::dtype_named(dtype);
        const sycl_ext::Layout layout = compact(read_dims(shape), order, element.itemsize());
        const UsmKind kind = sycl_ext::usm_kind_named(usm_type.c_str());
        const auto nbytes =
            static_cast<std::size_t>(sycl_ext::element_count(layout)) * element.itemsize();
        const GilReleasedFor big(nbytes >= gil_threshold || zero);
        Tensor tensor =
            sycl_ext::make_tensor(entry, kind, element, layout, queue.value_or(Queue()));
        if (zero) sycl_ext::fill_zero(tensor);
        return tensor;
      },
      py::arg("entry"), py::arg("usm_type"), py::arg("dtype"), py::arg("shape"), py::arg("order"),
      py::arg("queue") = std::nullopt, py::arg("zero") = false, "A new compact tensor.");
  m.def(
      "view",
      [](const Tensor& tensor, std::int64_t offset, const py::sequence& shape,
         const py::sequence& strides, const py::object& base, bool readonly) {
        Tensor view =
            sycl_ext::make_view(tensor, offset, strided(read_dims(shape), read_dims(strides)));
        view.readonly = view.readonly || readonly;
        return own(sycl_ext::wrap_tensor(std::move(view), base.ptr()));
      },
      py::arg("tensor"), py::arg("offset"), py::arg("shape"), py::arg("strides"), py::arg("base"),
      py::arg("readonly") = false, "A view; `offset` and `strides` count elements.");
  m.def(
      "reshape_strides",
      [](const Tensor& tensor, const py::sequence& shape) -> std::optional<py::tuple> {
        const sycl_ext::Layout target = compact(read_dims(shape), "C", tensor.dtype->itemsize());
        sycl_ext::Layout result;
        if (!sycl_ext::reshape_layout(tensor.layout, target, &result)) return std::nullopt;
        py::tuple strides(result.ndim());
        for (int i = 0; i < result.ndim(); ++i) strides[i] = result.strides()[i];
        return strides;
      },
      py::arg("tensor"), py::arg("shape"),
      "Strides of the same elements in another shape of equal size; None when that takes a copy.");

  m.def(
      "as_host_view",
      [](const Tensor& tensor, const py::object& base, const py::type& cls) {
        return own(sycl_ext::wrap_tensor(sycl_ext::as_host_view(tensor), base.ptr(),
                                         reinterpret_cast<PyTypeObject*>(cls.ptr())));
      },
      py::arg("tensor"), py::arg("base"), py::arg("cls"),
      "The same memory, offered as (kDLCPU, 0); BufferError when the host cannot reach it.");
  m.def(
      "lazy_host_copy",
      [](const Tensor& tensor, const py::object& base, const py::type& cls) {
        return own(sycl_ext::wrap_lazy_host_copy(tensor, base.ptr(),
                                                 reinterpret_cast<PyTypeObject*>(cls.ptr())));
      },
      py::arg("tensor"), py::arg("base"), py::arg("cls"),
      "A host copy that is made when its bytes are first needed.");
  m.def(
      "copy_to_host",
      [](const Tensor& tensor, const std::string& order) {
        const Order wanted = read_order(order);
        const GilReleasedFor big(is_worth_releasing(tensor));
        return sycl_ext::copy_to_host(tensor, wanted);
      },
      py::arg("tensor"), py::arg("order") = "C", "A compact, page-aligned host copy.");
  m.def(
      "as_ndarray",
      [](const py::object& tensor) {
        sycl_ext::wait_for_pending_work(sycl_ext::tensor_of(tensor.ptr()));
        return own(sycl_ext::ndarray_over(tensor.ptr()));
      },
      py::arg("tensor"),
      "A numpy.ndarray over host-reachable memory, after pending work; the tensor is its base.");
  m.def(
      "as_ndarray_if_idle",
      [](const py::object& tensor) -> py::object {
        const sycl_ext::Memory memory = sycl_ext::tensor_of(tensor.ptr()).memory;
        if (!memory->is_idle()) return py::none();
        return own(sycl_ext::ndarray_over(tensor.ptr()));
      },
      py::arg("tensor"), "The same without a wait; None: work may be pending.");
  m.def(
      "copy_to_entry",
      [](const Tensor& tensor, const Entry& entry, const std::string& usm_type,
         const std::string& order, const std::optional<Queue>& queue) {
        const Order wanted = read_order(order);
        const UsmKind kind = sycl_ext::usm_kind_named(usm_type.c_str());
        const GilReleasedFor big(is_worth_releasing(tensor) || !entry.host_memory);
        return sycl_ext::copy_to_entry(tensor, entry, kind, wanted, queue.value_or(Queue()));
      },
      py::arg("tensor"), py::arg("entry"), py::arg("usm_type"), py::arg("order") = "C",
      py::arg("queue") = std::nullopt, "A compact copy on another entry, or on the same one.");
  m.def(
      "copy_elements",
      [](const Tensor& to, const Tensor& from) {
        require_alike(to, from);
        const GilReleasedFor big(is_worth_releasing(to) || is_worth_releasing(from));
        sycl_ext::copy_elements(to, from);
      },
      py::arg("target"), py::arg("source"), "Copies all elements.");
  m.def(
      "synchronize",
      [](const Tensor& tensor) {
        const GilReleasedFor big(is_worth_releasing(tensor));
        sycl_ext::synchronize(tensor);
      },
      py::arg("tensor"), "Waits for the pending work on the tensor's queue.");
  m.def(
      "order_after",
      [](const Queue& queue, const Tensor& tensor) {
        const sycl_ext::ReleasedGil released;
        sycl_ext::order_after(queue, tensor.memory);
      },
      py::arg("queue"), py::arg("tensor"),
      "Later work on the queue sees all work on the tensor that was submitted so far.");
  m.def(
      "queue_of",
      [](const Tensor& tensor) -> std::optional<Queue> {
        if (!tensor.memory->queue()) return std::nullopt;
        return tensor.memory->queue();
      },
      py::arg("tensor"), "The queue that work on the tensor goes to; None for host memory.");
  m.def("live_allocations", &sycl_ext::live_allocations,
        "Blocks of memory that are held now, our own and borrowed ones.");
  m.def("release_cached_memory", &sycl_ext::release_cached_memory,
        py::call_guard<sycl_ext::ReleasedGil>(),
        "Gives the blocks that are kept for the next allocations back to the runtime.");
  m.def(
      "cached_memory",
      [] {
        std::vector<std::tuple<std::optional<int>, std::string, std::size_t>> found;
        for (const auto& [entry, kind, nbytes] : sycl_ext::cached_memory()) {
          found.emplace_back(entry ? std::optional<int>(entry->id) : std::nullopt,
                             sycl_ext::usm_kind_name(kind), nbytes);
        }
        return found;
      },
      "Entry id (None: host memory), kind and bytes of the blocks that are kept.");
  m.def(
      "find_owner",
      [](const Tensor& tensor, bool thorough) -> std::optional<std::pair<int, std::string>> {
        UsmKind kind;
        const auto search = thorough ? sycl_ext::Search::thorough : sycl_ext::Search::quick;
        const Entry* entry = tensor.memory->data
                                 ? sycl_ext::find_owner(tensor.memory->data, &kind, search)
                                 : nullptr;
        if (!entry) return std::nullopt;
        return std::make_pair(entry->id, std::string(sycl_ext::usm_kind_name(kind)));
      },
      py::arg("tensor"), py::arg("thorough") = false,
      "Entry and kind of host memory that is USM of a context of the table.");
  m.def(
      "as_usm",
      [](const Tensor& tensor, const py::object& base) {
        return own(sycl_ext::wrap_tensor(sycl_ext::as_usm(tensor), base.ptr()));
      },
      py::arg("tensor"), py::arg("base"), "A host view of USM as that USM, the same memory.");
  m.def(
      "adopt",
      [](const Tensor& tensor, const Entry& entry, const std::string& kind, const py::object& base,
         const std::optional<Queue>& queue) {
        const UsmKind label =
            kind == "system" ? UsmKind::system : sycl_ext::usm_kind_named(kind.c_str());
        return own(sycl_ext::wrap_tensor(
            sycl_ext::relabel(tensor, entry, label, queue.value_or(Queue())), base.ptr()));
      },
      py::arg("tensor"), py::arg("entry"), py::arg("usm_type"), py::arg("base"),
      py::arg("queue") = std::nullopt, "The same host memory as USM of an entry.");
  m.def(
      "from_usm",
      [](std::uintptr_t pointer, const std::string& dtype, const py::sequence& shape,
         const py::sequence& strides, const Entry& entry, bool readonly, const py::object& owner,
         const std::optional<Queue>& queue) {
        Py_INCREF(owner.ptr());
        sycl_ext::Owner keep(owner.ptr(), sycl_ext::release_python_object);
        return own(sycl_ext::wrap_tensor(
            sycl_ext::borrow_usm(reinterpret_cast<std::byte*>(pointer),
                                 sycl_ext::dtype_named(dtype),
                                 strided(read_dims(shape), read_dims(strides)), entry, readonly,
                                 std::move(keep), queue.value_or(Queue())),
            owner.ptr()));
      },
      py::arg("pointer"), py::arg("dtype"), py::arg("shape"), py::arg("strides"), py::arg("entry"),
      py::arg("readonly"), py::arg("owner"), py::arg("queue") = std::nullopt,
      "A view of USM that `owner` keeps alive; `pointer` is its first element.");
  m.def(
      "from_host",
      [](std::uintptr_t pointer, const std::string& dtype, const py::sequence& shape,
         const py::sequence& strides, bool readonly, const py::object& owner) {
        Py_INCREF(owner.ptr());
        sycl_ext::Owner keep(owner.ptr(), sycl_ext::release_python_object);
        return own(sycl_ext::wrap_tensor(
            sycl_ext::borrow_host(
                reinterpret_cast<std::byte*>(pointer), sycl_ext::dtype_named(dtype),
                strided(read_dims(shape), read_dims(strides)), readonly, std::move(keep)),
            owner.ptr()));
      },
      py::arg("pointer"), py::arg("dtype"), py::arg("shape"), py::arg("strides"),
      py::arg("readonly"), py::arg("owner"), "A view of host memory that `owner` keeps alive.");
}

void bind_dlpack(py::module_& m) {
  m.attr("DLPACK_VERSION") = py::make_tuple(DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
  py::class_<sycl_ext::OfferWatch>(
      m, "OfferWatch", "Watches what is done with a tensor on this thread, until end().")
      .def(py::init<>())
      .def("refused", &sycl_ext::OfferWatch::refused,
           "Whether the memory was asked for, and not taken.")
      .def("end", &sycl_ext::OfferWatch::end, "Ends the watch.");
  m.def("note_offer_asked", &sycl_ext::OfferWatch::asked,
        "Tells the watch of this thread that the memory was asked for.");
  m.def("live_exports", &sycl_ext::live_exports, "Managed tensors whose deleter has not run yet.");
  m.def(
      "trace_origins", &sycl_ext::trace_origins, py::arg("package"),
      "Remembers where each export comes from, from now on; frames below `package` do not count.");
  m.def(
      "live_origins",
      [] {
        using Record = std::tuple<std::uintptr_t, Dims, std::string, std::pair<int, int>,
                                  std::vector<std::string>>;
        std::vector<Record> found;
        for (const sycl_ext::Origin& origin : sycl_ext::live_origins()) {
          found.emplace_back(
              number(origin.data), origin.shape, sycl_ext::dtype_from_dlpack(origin.dtype).name,
              std::make_pair(static_cast<int>(origin.device.device_type), origin.device.device_id),
              origin.stack);
        }
        return found;
      },
      "(address, shape, dtype, device, stack) of each export that is alive, oldest first.");
  m.def(
      "make_capsule",
      [](const Tensor& tensor, bool versioned, std::pair<int, int> device, bool copied,
         bool null_data) {
        return own(
            sycl_ext::make_capsule(tensor, versioned, {read_device(device), copied, null_data}));
      },
      py::arg("tensor"), py::arg("versioned"), py::arg("device"), py::arg("copied"),
      py::arg("null_data") = true,
      "A DLPack capsule over the tensor's memory; `null_data`: NULL when there are no elements.");
  m.def(
      "ask_copy",
      [](const py::object& x, const std::pair<int, int>& device, const py::object& copy) {
        return own(sycl_ext::ask_copy(x.ptr(), read_device(device), copy.ptr()).release());
      },
      py::arg("x"), py::arg("device"), py::arg("copy"),
      "What a producer gives for dl_device=device, which may be a copy.");
  m.def(
      "capsule_from_pointer",
      [](std::uintptr_t managed, bool versioned) {
        return own(sycl_ext::capsule_from_pointer(reinterpret_cast<void*>(managed), versioned));
      },
      py::arg("address"), py::kw_only(), py::arg("versioned") = true,
      "A capsule over a DLManagedTensor[Versioned]* that C code made; takes it over.");
}

// What Python holds of an IpcExport: its end, too, is without the GIL.
class IpcExportObject {
 public:
  explicit IpcExportObject(const Tensor& tensor) {
    const sycl_ext::ReleasedGil released;
    sycl_ext::Extent extent{};
    (void)sycl_ext::find_extent(tensor.layout, tensor.dtype->itemsize(), &extent);
    first_ = static_cast<std::size_t>(-extent.begin);
    nbytes_ = extent.nbytes();
    handle_ = std::make_unique<sycl_ext::IpcExport>(tensor.memory, tensor.data + extent.begin,
                                                    extent.nbytes());
  }
  ~IpcExportObject() {
    const sycl_ext::ReleasedGil released;
    handle_.reset();
  }
  const sycl_ext::IpcExport& handle() const noexcept { return *handle_; }
  std::size_t nbytes() const noexcept { return nbytes_; }
  std::size_t first() const noexcept { return first_; }

 private:
  std::size_t nbytes_;
  std::size_t first_;
  std::unique_ptr<sycl_ext::IpcExport> handle_;
};

void bind_ipc(py::module_& m) {
  py::class_<IpcExportObject>(m, "IpcExport", "An inter-process handle; keeps its memory.")
      .def(py::init([](const Tensor& tensor) { return std::make_unique<IpcExportObject>(tensor); }),
           py::arg("tensor"))
      .def_property_readonly(
          "data", [](const IpcExportObject& handle) { return py::bytes(handle.handle().bytes()); })
      .def_property_readonly("nbytes", &IpcExportObject::nbytes)
      .def_property_readonly("first", &IpcExportObject::first)
      .def_property_readonly(
          "exposed", [](const IpcExportObject& handle) { return handle.handle().exposed(); });
  m.def(
      "allocate_dedicated",
      [](const Entry& entry, const std::string& dtype, const py::sequence& shape,
         const std::string& order, const std::optional<Queue>& queue) {
        const sycl_ext::DType& element = sycl_ext::dtype_named(dtype);
        sycl_ext::Layout layout = compact(read_dims(shape), order, element.itemsize());
        const auto nbytes =
            static_cast<std::size_t>(sycl_ext::element_count(layout)) * element.itemsize();
        const sycl_ext::ReleasedGil released;
        sycl_ext::Memory memory =
            sycl_ext::allocate_dedicated(entry, nbytes, queue.value_or(Queue()));
        std::byte* const data = memory->data;
        return Tensor{std::move(memory), data, &element, std::move(layout), false, false};
      },
      py::arg("entry"), py::arg("dtype"), py::arg("shape"), py::arg("order"),
      py::arg("queue") = std::nullopt,
      "A new compact tensor in 'device' USM that other processes may be shown.");
  m.def("has_ipc", &sycl_ext::has_ipc, py::arg("entry"),
        "Whether other processes can open the device memory of an entry.");
  m.def(
      "device_uuid", [](const Entry& entry) { return py::bytes(sycl_ext::device_uuid(entry)); },
      py::arg("entry"), "What identifies the device in every process; empty: it does not say.");
  m.def(
      "memory_of",
      [](const Tensor& tensor) {
        const auto* data = tensor.memory->data;
        return std::make_pair(tensor.memory->nbytes, tensor.data ? tensor.data - data : 0);
      },
      py::arg("tensor"),
      "Size of the block that the tensor lies in, and where its first element is.");
  m.def(
      "open_ipc",
      [](const Entry& entry, const py::bytes& handle, std::size_t nbytes, std::size_t offset,
         const std::string& dtype, const py::sequence& shape, const py::sequence& strides,
         bool readonly, int lease) {
        using sycl_ext::Error;
        sycl_ext::Descriptor owned(lease);  // from here on, also when an error is raised
        const sycl_ext::Layout layout = strided(read_dims(shape), read_dims(strides));
        const std::string bytes = handle;
        const sycl_ext::Memory memory = [&] {
          const sycl_ext::ReleasedGil released;
          return sycl_ext::open_ipc(entry, bytes, nbytes, std::move(owned));
        }();
        if (offset > nbytes) sycl_ext::fail(Error::Kind::value, "offset is ", offset);
        Tensor tensor{
            memory, memory->data + offset, &sycl_ext::dtype_named(dtype), layout, readonly, false};
        sycl_ext::require_inside(Error::Kind::buffer, memory, tensor.data, layout,
                                 tensor.dtype->itemsize());
        return tensor;
      },
      py::arg("entry"), py::arg("handle"), py::arg("nbytes"), py::arg("offset"), py::arg("dtype"),
      py::arg("shape"), py::arg("strides"), py::arg("readonly"), py::arg("lease") = -1,
      "A tensor in the block behind an inter-process handle of another process.");
}

// Fields of Hooks by name.
const std::pair<const char*, PyObject * sycl_ext::Hooks::*> hook_fields[] = {
    {"tensor_class", &sycl_ext::Hooks::tensor_class},
    {"host_view_class", &sycl_ext::Hooks::host_view_class},
    {"device_ids", &sycl_ext::Hooks::device_ids},
    {"dtype_indices", &sycl_ext::Hooks::dtype_indices},
    {"numpy_dtype", &sycl_ext::Hooks::numpy_dtype},
    {"decide", &sycl_ext::Hooks::decide},
    {"traits_of", &sycl_ext::Hooks::traits_of},
    {"producer_queue", &sycl_ext::Hooks::producer_queue},
    {"queue_of_capsule", &sycl_ext::Hooks::queue_of_capsule},
    {"order_behind", &sycl_ext::Hooks::order_behind},
    {"wait_for_producer", &sycl_ext::Hooks::wait_for_producer},
    {"read_device", &sycl_ext::Hooks::read_device},
    {"from_usm_interface", &sycl_ext::Hooks::from_usm_interface},
    {"from_ndarray", &sycl_ext::Hooks::from_ndarray},
    {"from_buffer", &sycl_ext::Hooks::from_buffer},
    {"import_to_any", &sycl_ext::Hooks::import_to_any},
    {"place", &sycl_ext::Hooks::place},
    {"move", &sycl_ext::Hooks::move},
    {"as_usm", &sycl_ext::Hooks::as_usm},
    {"import_rest", &sycl_ext::Hooks::import_rest},
    {"export_negotiated", &sycl_ext::Hooks::export_negotiated},
    {"host_view", &sycl_ext::Hooks::host_view},
    {"refuse_host", &sycl_ext::Hooks::refuse_host},
    {"new_tensor", &sycl_ext::Hooks::new_tensor},
    {"begin_to_numpy", &sycl_ext::Hooks::begin_to_numpy},
};

void bind_hooks(py::module_& m) {
  m.def(
      "no_device_advice", [] { return sycl_ext::no_device_advice(); },
      "What errors advise where there is no device.");
  m.def(
      "set_no_device_advice", [](std::string advice) { sycl_ext::no_device_advice() = advice; },
      py::arg("advice"), "Sets what errors advise where there is no device; once, at import.");
  m.def(
      "set_hooks",
      [](const py::dict& fields, const py::object& copy_refused_error, const py::object& sycl_error,
         bool trace) {
        sycl_ext::Hooks& hooks = sycl_ext::hooks();
        for (const auto& [name, field] : hook_fields) {
          hooks.*field = py::object(fields[name]).release().ptr();
        }
        hooks.trace = trace;
        for (PyObject* type : {hooks.tensor_class, hooks.host_view_class}) {
          sycl_ext::end_directly(type);
        }
        using Kind = sycl_ext::Error::Kind;
        sycl_ext::error_class(Kind::copy_refused) = copy_refused_error.inc_ref().ptr();
        sycl_ext::error_class(Kind::runtime) = sycl_error.inc_ref().ptr();
      },
      py::arg("fields"), py::arg("copy_refused_error"), py::arg("sycl_error"), py::arg("trace"),
      "What the core needs of the Python package; called once, by the package.");
  py::tuple names(sycl_ext::dtypes.size());
  for (std::size_t i = 0; i < sycl_ext::dtypes.size(); ++i) {
    const sycl_ext::DType& entry = sycl_ext::dtypes[i];
    names[i] = py::make_tuple(entry.name, std::string(1, entry.kind), entry.itemsize());
  }
  m.attr("package_modules") = py::dict();  // the package that the core works for: see _startup.py
  m.attr("DTYPES") = names;  // (name, array-interface kind, itemsize) of each exchanged dtype
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  m.doc() = "The C++ core of sycl_ext: literal classes and functions, used by the package alone.";
  py::register_exception_translator([](std::exception_ptr pointer) {
    if (!pointer) return;
    try {
      std::rethrow_exception(pointer);
    } catch (const sycl_ext::Error&) {
      sycl_ext::set_python_error();
    } catch (const sycl_ext::PythonError&) {
      sycl_ext::set_python_error();
    }
  });
  bind_queues(m);  // before the entries, whose docstrings name the class
  bind_entries(m);
  bind_copies(m);
  bind_tensors(m);
  bind_dlpack(m);
  bind_ipc(m);
  bind_hooks(m);
  if (sycl_ext::add_functions(m.ptr()) < 0) throw py::error_already_set();
}
