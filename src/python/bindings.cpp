// SPDX-License-Identifier: Apache-2.0
// The extension module `sycl_ext._core`: argument names, docstrings and the translation of
// exceptions, without logic.  Python decides, and these functions carry out.  The bind_*.cpp files
// are its parts.
#include "python/bind.hpp"
#include "python/bind_devices.hpp"
#include "python/bind_dlpack.hpp"
#include "python/bind_ipc.hpp"
#include "python/bind_rules.hpp"
#include "python/bind_tensors.hpp"
#include "python/exchange.hpp"
#include "python/functions.hpp"
#include "python/host_arrays.hpp"
#include "runtime/devices/device_table.hpp"
#include "runtime/sycl/usm_kind.hpp"

namespace {

void bind_hooks(py::module_& m) {
  m.def("no_device_advice", &sycl_ext::no_device_advice);
  m.def("set_no_device_advice", [](const py::bytes& advice,
                                   const py::bytes& driver) {  // paths need not be UTF-8
    sycl_ext::set_no_device_advice(advice, driver);
  });
#define SYCL_EXT_TAKE(name) sycl_ext::hooks.name = py::object(fields[#name]).release().ptr()
  const auto set_hooks = [](const py::dict& fields, const py::dict& rules, bool trace) {
    using sycl_ext::hooks;
    SYCL_EXT_HOOKS(SYCL_EXT_TAKE);
    hooks.trace = trace;
    // An export through the table would bypass Python, which writes the log.
    auto* const base = reinterpret_cast<PyObject*>(sycl_ext::tensor_base_type());
    if (trace) py::delattr(base, "__dlpack_c_exchange_api__");
    sycl_ext::end_directly(hooks.tensor_class);
    sycl_ext::end_directly(hooks.host_view_class);
    sycl_ext::set_rules(rules);
  };
  m.def("set_hooks", set_hooks, py::arg("fields"), py::pos_only(), py::kw_only(), py::arg("rules"),
        py::arg("trace"));
  m.def("set_exchange_hooks",
        [](const py::dict& fields) { SYCL_EXT_EXCHANGE_HOOKS(SYCL_EXT_TAKE); });
#undef SYCL_EXT_TAKE
  m.def("require_same_memory", [](const py::object& array, const py::object& handed) {
    sycl_ext::require_same_memory(array.ptr(), handed.ptr());
  });
  py::list names;
  for (const sycl_ext::DType& dtype : sycl_ext::dtypes) {
    names.append(py::make_tuple(dtype.name, dtype.kind, dtype.itemsize(), dtype.code));
  }
  m.attr("DTYPES") = py::tuple(names);  // (name, array-interface kind, itemsize, DLPack code)
  py::list kinds;
  for (const sycl_ext::UsmKind kind : sycl_ext::allocated_kinds) {
    kinds.append(sycl_ext::usm_kind_name(kind));
  }
  m.attr("ALLOCATED_KINDS") = py::tuple(kinds);
}

// `module`: the one that the functions are said to be in.  A pickle names it, and a process that
// loads the pickle imports it: so it must be one that connects the core to the package.
void add_functions(py::module_& m, PyMethodDef* functions, const char* module) {
  const py::str said(module);
  for (; functions->ml_name; ++functions) {
    PyObject* const function = PyCFunction_NewEx(functions, m.ptr(), said.ptr());
    if (!function) throw py::error_already_set();
    m.attr(functions->ml_name) = py::reinterpret_steal<py::object>(function);
  }
}

// Whether this is the main interpreter.  If not, an ImportError is set.
bool require_main_interpreter() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return true;
  PyErr_SetString(PyExc_ImportError,
                  "sycl_ext does not support sub-interpreters; use a thread or a process instead");
  return false;
}

}  // namespace

// The entry point of a pybind11 module first takes the GIL as a thread of the main interpreter,
// which would wait for ever in a sub-interpreter.  So Python calls the entry point below.  (CPython
// 3.13 and later call that one in the main interpreter, and the body of this module in the
// sub-interpreter.)
PYBIND11_MODULE(core_of_main_interpreter, m) {
  if (!require_main_interpreter()) throw py::error_already_set();
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      std::rethrow_exception(pointer);
    } catch (const sycl_ext::Error&) {
      sycl_ext::set_python_error();
    } catch (const sycl_ext::PythonError&) {  // the exception is set already
    }
  });
  if (!sycl_ext::load_numpy()) throw py::error_already_set();
  if (!sycl_ext::make_tensor_base_type(
          {sycl_ext::tensor_methods(), sycl_ext::get_buffer, sycl_ext::release_buffer})) {
    throw py::error_already_set();
  }
  sycl_ext::bind_devices(m);
  sycl_ext::bind_tensors(m);
  sycl_ext::bind_dlpack(m);
  sycl_ext::bind_ipc(m);
  sycl_ext::bind_rules(m);
  bind_hooks(m);
  add_functions(m, sycl_ext::public_functions(), "sycl_ext");
  add_functions(m, sycl_ext::private_functions(), "sycl_ext._core");
}

extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
  return require_main_interpreter() ? PyInit_core_of_main_interpreter() : nullptr;
}
