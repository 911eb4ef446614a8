// SPDX-License-Identifier: Apache-2.0
#include "python/bind_rules.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "rules/routes.hpp"

namespace sycl_ext {

namespace {

using Id = std::optional<int>;
Id id_of(int id) { return id == MemoryFacts::none ? std::nullopt : Id(id); }

UsmKind kind_named(const std::string& name) {
  return name == usm_kind_name(UsmKind::system) ? UsmKind::system : usm_kind_named(name);
}

using Kind = std::optional<std::string>;
std::optional<UsmKind> read_kind(const Kind& name) {
  return name ? std::optional(kind_named(*name)) : std::nullopt;
}

template <class Enumerator, std::size_t Count>
Enumerator named(const std::array<const char*, Count>& names, const std::string& name) {
  const auto place = std::find(names.begin(), names.end(), name);
  if (place == names.end()) fail(Error::Kind::value, "there is no ", name);
  return static_cast<Enumerator>(place - names.begin());
}

template <std::size_t Count>
py::tuple as_tuple(const std::array<const char*, Count>& names) {
  py::list list;
  for (const char* const name : names) list.append(name);
  return py::tuple(list);
}

// Tests make facts and requests by these constructors; each argument is the field of that name.
void bind_facts(py::module_& m) {
  py::class_<ArrayFacts>(m, "ArrayFacts")
      .def(py::init([](Id entry, Id root, const std::string& usm_type, bool default_context,
                       bool on_host, bool host_reachable, bool readonly, bool reversed,
                       bool c_contiguous, bool f_contiguous, bool empty, bool own_queue,
                       const std::string& dtype, int ndim, unsigned alignment) {
             ArrayFacts facts;
             facts.entry = entry.value_or(MemoryFacts::none);
             facts.root = root.value_or(MemoryFacts::none);
             facts.kind = kind_named(usm_type);
             facts.default_context = default_context;
             facts.on_host = on_host;
             facts.host_reachable = host_reachable;
             facts.readonly = readonly;
             facts.reversed = reversed;
             facts.c_contiguous = c_contiguous;
             facts.f_contiguous = f_contiguous;
             facts.empty = empty;
             facts.own_queue = own_queue;
             facts.dtype = &dtype_named(dtype);
             facts.ndim = ndim;
             facts.alignment = alignment;
             return facts;
           }),
           py::kw_only(), py::arg("entry") = std::nullopt, py::arg("root") = std::nullopt,
           py::arg("usm_type") = "system", py::arg("default_context") = false,
           py::arg("on_host") = false, py::arg("host_reachable") = false,
           py::arg("readonly") = false, py::arg("reversed") = false, py::arg("c_contiguous") = true,
           py::arg("f_contiguous") = true, py::arg("empty") = false, py::arg("own_queue") = false,
           py::arg("dtype") = "float32", py::arg("ndim") = 1,
           py::arg("alignment") = unsigned{ArrayFacts::max_alignment})
      .def_property_readonly("entry", [](const ArrayFacts& facts) { return id_of(facts.entry); })
      .def_property_readonly("root", [](const ArrayFacts& facts) { return id_of(facts.root); })
      .def_property_readonly("usm_type",
                             [](const ArrayFacts& facts) { return usm_kind_name(facts.kind); })
      .def_readonly("default_context", &ArrayFacts::default_context)
      .def_readonly("on_host", &ArrayFacts::on_host)
      .def_readonly("host_reachable", &ArrayFacts::host_reachable)
      .def_readonly("readonly", &ArrayFacts::readonly)
      .def_readonly("reversed", &ArrayFacts::reversed)
      .def_readonly("c_contiguous", &ArrayFacts::c_contiguous)
      .def_readonly("f_contiguous", &ArrayFacts::f_contiguous)
      .def_readonly("empty", &ArrayFacts::empty)
      .def_readonly("own_queue", &ArrayFacts::own_queue)
      .def_property_readonly("dtype", [](const ArrayFacts& facts) { return facts.dtype->name; })
      .def_readonly("ndim", &ArrayFacts::ndim)
      .def_readonly("alignment", &ArrayFacts::alignment)
      .def("__eq__", [](const ArrayFacts& facts,
                        const ArrayFacts& other) { return key_of(facts) == key_of(other); })
      .def("__hash__", &key_of);
  m.def("array_facts", &array_facts);
}

void bind_requests(py::module_& m) {
  py::class_<Request>(m, "Request")
      .def(py::init([](const std::pair<int, int>& device, bool ours, bool versioned, bool root_only,
                       bool any_strides, const Kind& usm_type, bool known, bool has_usm,
                       bool direct, bool system_usm, bool right_kind) {
             Request request{read_device(device)};
             request.ours = ours;
             request.versioned = versioned;
             request.root_only = root_only;
             request.any_strides = any_strides;
             request.kind = read_kind(usm_type);
             request.known = known;
             request.has_usm = has_usm;
             request.direct = direct;
             request.system_usm = system_usm;
             request.right_kind = right_kind;
             return request;
           }),
           py::arg("device"), py::pos_only(), py::kw_only(), py::arg("ours") = false,
           py::arg("versioned") = true, py::arg("root_only") = false,
           py::arg("any_strides") = false, py::arg("usm_type") = std::nullopt,
           py::arg("known") = true, py::arg("has_usm") = true, py::arg("direct") = true,
           py::arg("system_usm") = false, py::arg("right_kind") = true)
      .def_property_readonly("device", [](const Request& request) {
        return std::pair(static_cast<int>(request.device.device_type), request.device.device_id);
      });
  m.def(
      "request_for",
      [](const ArrayFacts& facts, std::optional<std::pair<int, int>> device, bool ours,
         bool versioned, bool root_only, bool any_strides, const Kind& usm_type) {
        const auto wanted = device ? std::optional(read_device(*device)) : std::nullopt;
        return request_for(facts, wanted,
                           {ours, versioned, root_only, any_strides, read_kind(usm_type)});
      },
      py::arg("facts"), py::arg("device"), py::pos_only(), py::kw_only(), py::arg("ours") = false,
      py::arg("versioned") = true, py::arg("root_only") = false, py::arg("any_strides") = false,
      py::arg("usm_type") = std::nullopt);
  m.def("relation", [](const ArrayFacts& facts, const Request& request) {
    return relation_names[static_cast<std::size_t>(relation(facts, request))];
  });
}

}  // namespace

void bind_rules(py::module_& m) {
  m.attr("RELATIONS") = as_tuple(relation_names);
  bind_facts(m);
  bind_requests(m);
}

void set_rules(const py::dict& table) {
  for (const auto& [name, routes] : table) {
    const auto row = named<std::size_t>(relation_names, py::cast<std::string>(name));
    const auto names = py::cast<std::array<std::string, 3>>(routes);
    for (std::size_t copy = 0; copy < names.size(); ++copy) {
      rules[row][copy] = named<Route>(route_names, names[copy]);
    }
  }
}

}  // namespace sycl_ext
