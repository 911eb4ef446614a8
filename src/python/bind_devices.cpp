// SPDX-License-Identifier: Apache-2.0
// Queues and entries of the device table, for Python.
#include <optional>
#include <utility>

#include "python/bind.hpp"
#include "runtime/deferred_free.hpp"
#include "runtime/dl_device.hpp"
#include "runtime/runtime_call.hpp"
#include "runtime/runtimes.hpp"
#include "runtime/untrusted.hpp"
#include "runtime/usm_kind.hpp"

namespace sycl_ext {

namespace {

const char* kind_of(const Entry& entry) noexcept {
  switch (entry.kind) {
    case EntryKind::root:
      return "root";
    case EntryKind::sub_device:
      return "sub_device";
    case EntryKind::context:
      break;
  }
  return "context";
}

py::tuple usm_types_of(const Entry& entry) {
  py::list names;
  for (std::size_t kind = 0; kind < usm_kind_count; ++kind) {
    if (entry.usm[kind]) names.append(usm_kind_name(static_cast<UsmKind>(kind)));
  }
  return py::tuple(names);
}

Partition::Kind partition_kind_named(const std::string& name) {
  constexpr std::pair<const char*, Partition::Kind> kinds[] = {
      {"equally", Partition::Kind::equally},
      {"counts", Partition::Kind::counts},
      {"affinity_domain", Partition::Kind::affinity_domain},
      {"cslice", Partition::Kind::cslice}};
  for (const auto& [known, kind] : kinds) {
    if (name == known) return kind;
  }
  throw py::value_error("no kind of partition is called '" + name + "'");
}

// As Python has the names of files, which need not be UTF-8.
py::typing::List<py::str> as_paths(const std::vector<std::string>& files) {
  py::list paths;
  for (const std::string& file : files) {
    paths.append(own(PyUnicode_DecodeFSDefault(file.c_str())));
  }
  return paths;
}

}  // namespace

void bind_entries(py::module_& m) {
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
      .def_property_readonly("kind", &kind_of)
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
      .def_property_readonly("uuid", [](const Entry& entry) { return py::bytes(entry.uuid); })
      .def_readonly("pci_address", &Entry::pci_address)
      .def_readonly("fp16", &Entry::fp16)
      .def_readonly("fp64", &Entry::fp64)
      .def_property_readonly("usm_types", &usm_types_of)
      .def_property_readonly("usm_system",
                             [](const Entry& entry) { return has_usm(entry, UsmKind::system); })
      .def_readonly("host_memory", &Entry::host_memory)
      .def_property_readonly("device_address",
                             [](const Entry& entry) { return number(entry.device_address()); })
      .def_property_readonly("context_address",
                             [](const Entry& entry) { return number(entry.context_address()); })
      .def(
          "context_capsule",
          [](const Entry& entry) {
            return own(reference_capsule<Entry::delete_context_reference>(
                entry.new_context_reference(), "SyclContextRef"));
          },
          "A new 'SyclContextRef' capsule.")
      .def(
          "queue", [](const Entry& entry) { return entry.queue(); },
          "The queue that all code in the process shares for the device and context.")
      .def("new_queue", &Entry::new_queue, "Another in-order queue of its device and context.");

  m.def(
      "resolve",
      [](int type, int id) {
        const NamedDevice found = resolve({static_cast<DLDeviceType>(type), id});
        std::optional<std::pair<const Entry*, std::optional<std::string>>> answer;
        if (found.entry) answer.emplace(found.entry, std::nullopt);
        if (found.entry && found.kind) answer->second = usm_kind_name(*found.kind);
        return answer;
      },
      py::arg("type"), py::arg("id"), py::return_value_policy::reference,
      "The entry of a DLPack device, and the kind of USM that a device type of CUDA or ROCm "
      "implies.");
  m.def("native_stream", &native_stream, py::arg("entry"), py::call_guard<ReleasedGil>(),
        "The stream of CUDA or HIP behind the queue of an entry.");
  m.def("root_count", &root_count, "Number of root devices.");
  m.def("entry_count", &entry_count, "Number of entries.");
  m.def("entry", &entry_at, py::arg("id"), py::return_value_policy::reference,
        "The entry with this id; ValueError if there is none.");
  m.def("default_entry", &default_entry, py::return_value_policy::reference,
        "Entry of the device that SYCL's default selector chooses.");
  m.def(
      "entry_of_queue", [](const Queue& queue) -> const Entry& { return entry_of(queue); },
      py::arg("queue"), py::return_value_policy::reference,
      "Entry of the queue's device and context, which is appended if it is new.");
  m.def(
      "entry_of_device",
      [](std::uintptr_t device) -> const Entry& { return entry_of_device(address(device)); },
      py::arg("device_address"), py::return_value_policy::reference,
      "Entry of the sycl::device at an address, which the caller guarantees to be valid.");
  m.def(
      "create_sub_devices",
      [](const Entry& entry, const std::string& kind, const py::sequence& counts,
         const std::string& domain) {
        const Dims parts = read_dims(counts);
        const Partition partition{partition_kind_named(kind), {parts.begin(), parts.end()}, domain};
        std::vector<int> ids;
        const ReleasedGil released;
        for (const Entry* part : create_sub_devices(entry, partition)) ids.push_back(part->id);
        return ids;
      },
      py::arg("entry"), py::arg("kind"), py::arg("counts"), py::arg("domain"),
      "Ids of the entries of the sub-devices of a device, which are appended if they are new.");
  m.def(
      "entry_of_context",
      [](std::uintptr_t context, std::uintptr_t device) -> const Entry& {
        return entry_of_context(address(context), address(device));
      },
      py::arg("context_address"), py::arg("device_address") = 0, py::return_value_policy::reference,
      "Entry of the sycl::context at an address, which the caller guarantees to be valid.");
  m.def("register_context_of", &register_context_of, py::arg("entry"),
        "Adds the context of the entry to those in which bare pointers are looked up.");
  m.def(
      "context_in_capsule",
      [](const py::object& capsule) {
        const void* context = referenced(capsule, "SyclContextRef");
        require_context_at(context);
        return number(context);
      },
      py::arg("capsule"), "Address of the sycl::context in a 'SyclContextRef' capsule, checked.");
  m.def(
      "entry_in_context",
      [](std::uintptr_t pointer, std::uintptr_t context) -> const Entry& {
        return entry_in_context(address(pointer), address(context));
      },
      py::arg("pointer"), py::arg("context_address"), py::return_value_policy::reference,
      "Entry of the device that a USM block of the context was allocated on.");
  m.def("copies_directly", &copies_directly, py::arg("source"), py::arg("target"),
        "Whether one queue command copies between device USM of two entries.");
  m.attr("_C_API") = own(extension_api_capsule());  // see sycl_ext/c_api.h
}

void bind_queues(py::module_& m) {
  static const Interpreter python{holds_gil,      release_gil_if_held, ReleasedGil::take,
                                  python_is_gone, takes_signals,       handle_signals};
  interpreter = &python;
  m.def("check_gil_at_runtime_calls", &check_gil_at_runtime_calls, py::arg("check"),
        "For tests: whether a call that can wait ends the process when the GIL is held.");
  m.def(
      "call_runtime_with_gil", [] { const RuntimeCall call("a planted call"); },
      "For tests: a call that check_gil_at_runtime_calls must find.");
  m.def("interrupted_waits", &interrupted_waits,
        "Waits that a signal ended while their work was still pending.");
  m.def("deferred_frees", &deferred_frees,
        "Blocks that will be freed when the work on them is done.");
  py::class_<Queue>(m, "Queue", "A shared handle of a sycl::queue.")
      .def_property_readonly("in_order", &Queue::in_order)
      .def_property_readonly("may_have_work", &Queue::may_have_work)
      .def_property_readonly("has_pending_work", py::cpp_function(&Queue::has_pending_work,
                                                                  py::call_guard<ReleasedGil>()))
      .def(
          "__eq__", [](const Queue& a, const Queue& b) { return a == b; }, py::is_operator())
      .def("same_context", &Queue::same_context, py::arg("other"))
      .def(
          "wait", [](const Queue& queue) { queue.wait(); }, py::call_guard<ReleasedGil>(),
          "Blocks until all work submitted so far is done.")
      .def("order_after", py::overload_cast<const Queue&>(&Queue::order_after, py::const_),
           py::arg("producer"), py::call_guard<ReleasedGil>(),
           "Orders later work here after the work on `producer`; False if the host had to wait for "
           "it.")
      .def(
          "share", [](const Queue& queue) { return number(queue.share()); },
          "Address of the sycl::queue; other code can submit to it from now on.")
      .def(
          "capsule",
          [](const Queue& queue) {
            return own(
                reference_capsule<Queue::delete_reference>(queue.new_reference(), "SyclQueueRef"));
          },
          "A new 'SyclQueueRef' capsule; other code can submit to the queue from now on.");
  m.def(
      "queue_at", [](std::uintptr_t queue) { return Queue::from_address(address(queue)); },
      py::arg("address"), "The queue at an address, which the caller guarantees to be valid.");
  m.def(
      "queue_at_untrusted", [](std::uintptr_t queue) { return queue_at_untrusted(address(queue)); },
      py::arg("address"), "The queue at an address; ValueError if there cannot be a queue there.");
  m.def(
      "loaded_libraries", [] { return as_paths(loaded_libraries()); },
      "The files of all libraries that are loaded, as the loader names them.");
  m.def(
      "loaded_libsycl", [] { return as_paths(loaded_libsycl()); },
      "The files of all SYCL runtimes that are loaded, the package's own first.");
  m.def("has_other_libsycl", &has_other_libsycl,
        "Whether a SYCL runtime other than the package's own is loaded.");
  m.def(
      "queue_of_capsule",
      [](const py::object& capsule) {
        return queue_at_untrusted(referenced(capsule, "SyclQueueRef"));
      },
      py::arg("capsule"), "The queue in a 'SyclQueueRef' capsule.");
}

}  // namespace sycl_ext
