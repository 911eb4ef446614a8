// SPDX-License-Identifier: Apache-2.0
#include "python/bind_devices.hpp"

#include <optional>
#include <utility>

#include "base/waiting.hpp"
#include "python/deleters.hpp"
#include "python/dpctl_queue.hpp"
#include "python/extension_api.hpp"
#include "runtime/devices/device_info.hpp"
#include "runtime/devices/device_table.hpp"
#include "runtime/devices/dl_device.hpp"
#include "runtime/memory/memory_limit.hpp"
#include "runtime/memory/reaper.hpp"
#include "runtime/memory/usm_pointers.hpp"
#include "runtime/sycl/kernel.hpp"
#include "runtime/sycl/runtime_call.hpp"
#include "runtime/sycl/runtimes.hpp"
#include "runtime/sycl/untrusted.hpp"
#include "runtime/sycl/usm_kind.hpp"
#include "tensor/kernel_copy.hpp"
#include "tensor/staging.hpp"

namespace sycl_ext {

namespace {

const char* kind_of(const Entry& entry) noexcept {
  constexpr const char* names[] = {"root", "sub_device", "context"};
  return names[static_cast<int>(entry.kind)];
}

py::tuple usm_types_of(const Entry& entry) {
  py::list names;
  for (std::size_t kind = 0; kind < usm_kind_count; ++kind) {
    if (entry.usm[kind]) names.append(usm_kind_name(static_cast<UsmKind>(kind)));
  }
  return py::tuple(names);
}

// File names in the form that Python uses for them; they need not be UTF-8.
py::typing::List<py::str> as_paths(const std::vector<std::string>& files) {
  py::list paths;
  for (const std::string& file : files) {
    paths.append(own(PyUnicode_DecodeFSDefault(file.c_str())));
  }
  return paths;
}

bool may_add_keeper() noexcept { return is_current() || !python_is_alive(); }

bool ask_handler_for_room(const Entry& limited, std::size_t nbytes) {
  const auto ask = [&] {
    const PyRef answer(
        PyObject_CallFunction(hooks.make_room, "in", limited.id, static_cast<Py_ssize_t>(nbytes)));
    const int is_true = answer ? PyObject_IsTrue(answer.get()) : -1;
    if (is_true < 0) throw PythonError();
    return is_true != 0;
  };
  return with_gil(ask, [] { return false; });
}

}  // namespace

void bind_devices(py::module_& m) {
  static const Host python{release_gil_if_held,
                           take_gil,
                           lacks_gil,
                           holds_gil,
                           may_add_keeper,
                           call_deleter_of_others,
                           takes_signals,
                           handle_signals,
                           find_events_of_dpctl,
                           cached_queue_of_dpctl,
                           ask_handler_for_room};
  host = &python;
  m.def("begin_end", [] {
    const WithoutGil released;
    end_compilers();
    end_deleters();
  });
#ifndef NDEBUG
  checks_gil = true;
#endif
  py::module_ tests = m.def_submodule("_test");
  tests.def("check_gil", [] { checks_gil = true; });
  tests.def("call_runtime_with_gil", [] { const RuntimeCall call("a planted call"); });
  tests.def("waits_of_main_thread", &waits_of_main_thread);
  tests.def("interrupted_waits", &interrupted_waits);
  tests.def("deferred_frees", &deferred_frees);
  tests.def("live_allocations", &live_allocations);
  tests.def(
      "set_staging_plan",
      [](std::size_t block_bytes, int blocks, int threads) {
        set_staging_plan({block_bytes, blocks, threads});
      },
      py::arg("block_bytes"), py::arg("blocks"), py::arg("threads"));
  tests.def("break_kernels", &break_kernels);
  py::class_<Queue>(m, "Queue")
      .def("wait", &Queue::wait)
      .def("addressof_ref",
           [](const Queue& queue) { return reinterpret_cast<std::uintptr_t>(queue.share()); })
      .def("_get_capsule",
           [](const Queue& queue) {
             return reference_capsule(queue.new_reference(), "SyclQueueRef");
           })
      .def(
          "__eq__", [](const Queue& queue, const Queue& other) { return queue == other; },
          py::is_operator())
      .def("__hash__", &Queue::hash);
  m.def("queue_at_untrusted",
        [](std::uintptr_t queue) { return queue_at_untrusted(address(queue)); });
  m.def("loaded_libraries", [] { return as_paths(loaded_libraries()); });
  m.def("loaded_libsycl", [] { return as_paths(loaded_libsycl()); });
  m.def("has_other_libsycl", &has_other_libsycl);
  m.def("queue_of_capsule", [](const py::object& capsule) {
    return queue_at_untrusted(referenced(capsule, "SyclQueueRef"));
  });

  // Entries live for ever, so Python never owns one.
  py::class_<Entry, std::unique_ptr<Entry, py::nodelete>>(m, "Entry")
      .def_readonly("id", &Entry::id)
      .def_readonly("root_id", &Entry::root_id)
      .def_readonly("parent", &Entry::parent)
      .def_property_readonly("kind", &kind_of)
      .def_readonly("partition", &Entry::partition)
      .def_readonly("partition_index", &Entry::partition_index)
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
      .def_readonly("total_memory", &Entry::total_memory)
      .def("free_memory",
           [](const Entry& entry) {
             const WithoutGil released;
             return free_memory(entry);
           })
      .def_readonly("fp64", &Entry::fp64)
      .def_property_readonly("usm_types", &usm_types_of)
      .def_readonly("host_memory", &Entry::host_memory)
      .def("reason_against_kernels",
           [](const Entry& entry) {
             const WithoutGil released;
             return reason_against_kernels(entry);
           })
      .def_property_readonly(
          "home", [](const Entry& entry) { return &entry_of_device(entry.device_address()); })
      .def("context_capsule",
           [](const Entry& entry) -> py::object {
             return py::capsule(entry.context_address(), "SyclContextRef");
           })
      .def_property_readonly("context_address",
                             [](const Entry& entry) {
                               return reinterpret_cast<std::uintptr_t>(entry.context_address());
                             })
      .def_property_readonly("device_address",
                             [](const Entry& entry) {
                               return reinterpret_cast<std::uintptr_t>(entry.device_address());
                             })
      .def_property_readonly("composite_device", &composite_entry_of)
      .def_property_readonly("queue",
                             [](const Entry& entry) { return own(shared_queue(entry).release()); })
      .def("new_queue", &Entry::new_queue);

  m.def("resolve", [](int type, int id) {
    const NamedDevice named = resolve({static_cast<DLDeviceType>(type), id});
    std::optional<const char*> kind;
    if (named.kind) kind = usm_kind_name(*named.kind);
    return std::make_tuple(named.is_host, named.may_be_host,
                           named.entry ? std::optional(named.entry) : std::nullopt, kind);
  });
  m.def("native_stream", &native_stream);
  m.def("root_count", &root_count);
  m.def("entry_count", &entry_count);
  // Returns a pointer, because pybind11 would copy the object of a reference.
  m.def("entry", [](int id) { return &entry_at(id); });
  m.def("default_entry", [] { return &default_entry(); });
  m.def("entry_of_queue", [](const Queue& queue) { return &entry_of(queue); });
  m.def("entry_of_device", [](std::uintptr_t device) { return &entry_of_device(address(device)); });
  m.def("create_sub_devices",
        [](const Entry& entry, std::string way, std::vector<std::size_t> counts) {
          const WithoutGil released;
          return create_sub_devices(entry, {std::move(way), std::move(counts)});
        });
  m.def(
      "entry_of_context",
      [](std::uintptr_t context, std::optional<const Entry*> wanted) {
        return &entry_of_context(address(context), wanted ? (*wanted)->device_address() : nullptr);
      },
      py::arg("context_address"), py::pos_only(), py::kw_only(), py::arg("wanted") = std::nullopt);
  m.def("register_context_of", &register_context_of);
  m.def("context_in_capsule", [](const py::object& capsule) {
    const void* context = referenced(capsule, "SyclContextRef");
    require_context_at(context);
    return reinterpret_cast<std::uintptr_t>(context);
  });
  m.def("entry_in_context", [](std::uintptr_t pointer, std::uintptr_t context) {
    return &entry_in_context(address(pointer), address(context));
  });
  m.def("copies_directly", &copies_directly);
  m.attr("_C_API") = own(extension_api_capsule());  // see sycl_ext/c_api.h
}

}  // namespace sycl_ext
