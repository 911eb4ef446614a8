// SPDX-License-Identifier: Apache-2.0
//
// The device table under load, through <sycl_ext/core.hpp> alone: a plain CPython module, so that
// eight threads really run at once.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <sycl/backend.hpp>
#include <sycl/ext/oneapi/backend/level_zero.hpp>
#include <sycl/usm.hpp>
#include <sycl_ext/core.hpp>
#include <thread>

namespace {

using sycl_ext::device_entry;

std::vector<sycl::context> contexts;  // those of the last call of stress()

// Runs `body`; an exception becomes the Python exception.
template <class Body>
PyObject* guarded(Body&& body) {
  try {
    return body();
  } catch (const sycl_ext::python_error&) {
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

// stress(threads, contexts, lookups) -> (different entries, contradictions, seconds)
// Makes private contexts, and has threads look all of them up at once: each is new to the table.
PyObject* stress(PyObject*, PyObject* args) {
  int n_threads, n_contexts, n_lookups;
  if (!PyArg_ParseTuple(args, "iii", &n_threads, &n_contexts, &n_lookups)) return nullptr;
  return guarded([&] {
    const device_entry root = device_entry::default_device();
    contexts.clear();
    for (int i = 0; i < n_contexts; ++i) {
      contexts.emplace_back(std::vector<sycl::device>{root.device()});
    }
    std::vector<std::atomic<int>> ids(contexts.size());
    for (auto& id : ids) id = -1;
    std::atomic<int> contradictions{0}, next{0};
    const auto look_up = [&] {
      for (int i = next++; i < n_lookups; i = next++) {
        const auto number = static_cast<std::size_t>(i) * 7919 % contexts.size();
        const int found = device_entry::of(root.device(), contexts[number]).id();
        int expected = -1;
        if (!ids[number].compare_exchange_strong(expected, found) && expected != found) {
          ++contradictions;
        }
        if (device_entry(found).context() != contexts[number]) ++contradictions;
      }
    };
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    PyThreadState* const released = PyEval_SaveThread();
    for (int i = 0; i < n_threads; ++i) threads.emplace_back(look_up);
    for (std::thread& thread : threads) thread.join();
    PyEval_RestoreThread(released);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::vector<int> entries(ids.begin(), ids.end());
    std::sort(entries.begin(), entries.end());
    entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
    return Py_BuildValue("nid", static_cast<Py_ssize_t>(entries.size()), contradictions.load(),
                         seconds.count());
  });
}

// Nanoseconds of one call, the least of many.
double least(const std::function<void()>& call) {
  double best = 1e9;
  for (int round = 0; round < 200; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 20; ++i) call();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count() / 20);
  }
  return best;
}

// times() -> {kind of lookup: nanoseconds}, for the context that was made last
PyObject* times(PyObject*, PyObject*) {
  return guarded([&] {
    const sycl::device device = device_entry::default_device().device();
    const sycl::context context = contexts.empty() ? sycl::context(device) : contexts.back();
    const sycl::queue queue(context, device, [](sycl::exception_list) {});
    const device_entry entry = device_entry::of(queue);
    void* const block = sycl::malloc_shared(64, device, context);
    const std::vector<char> host(64);
    const sycl_ext_api& api = sycl_ext::api();
    const double pair = least([&] { api.entry_of(&device, &context, nullptr); });
    const double by_queue = least([&] { api.entry_of_queue(&queue, nullptr); });
    const double by_id = least([&] {
      sycl_ext_entry found;
      api.get_entry(entry.id(), &found, nullptr);
    });
    const int owner = api.entry_of_pointer(block, nullptr);
    const double pointer = least([&] { api.entry_of_pointer(block, nullptr); });
    const double host_pointer = least([&] { api.entry_of_pointer(host.data(), nullptr); });
    sycl::free(block, context);
    if (owner != entry.id()) throw std::runtime_error("the pointer was found in another entry");
    return Py_BuildValue("{sdsdsdsdsd}", "context and device", pair, "queue", by_queue, "id", by_id,
                         "pointer", pointer, "host pointer", host_pointer);
  });
}

// ---- wrap and make ------------------------------------------------------------------------------

std::atomic<int> released_blocks{0};

// block(entry, n, of_entry, readonly) -> tensor of n floats, allocated on `of_entry`, said to be of
// `entry`
PyObject* block(PyObject*, PyObject* args) {
  int id, n, of_id, readonly;
  if (!PyArg_ParseTuple(args, "iiip", &id, &n, &of_id, &readonly)) return nullptr;
  return guarded([&] {
    const device_entry entry(id), of(of_id);
    float* const data =
        sycl::malloc_shared<float>(static_cast<std::size_t>(n), of.device(), of.context());
    std::shared_ptr<const void> owner(data, [context = of.context()](void* pointer) {
      sycl::free(pointer, context);
      ++released_blocks;
    });
    for (int i = 0; i < n; ++i) data[i] = static_cast<float>(i);
    if (readonly) return sycl_ext::wrap<const float>(data, {n}, entry, owner);
    return sycl_ext::wrap(data, {n / 2, 2}, entry, owner, nullptr, {1, n / 2});
  });
}

// over(tensor) -> another tensor over the memory of a tensor, kept by the Python object
PyObject* over(PyObject*, PyObject* object) {
  return guarded([&] {
    const auto view = sycl_ext::usm_view<float>::from_python(object);
    const sycl::queue queue = view.queue();
    return sycl_ext::wrap(view.data(), {view.size()}, view.entry(), object, &queue);
  });
}

PyObject* make(PyObject*, PyObject* args) {
  int id, kind;
  if (!PyArg_ParseTuple(args, "ii", &id, &kind)) return nullptr;
  return guarded([&] {
    const auto view = sycl_ext::make<std::int16_t>({2, 3}, device_entry(id),
                                                   static_cast<sycl_ext::usm_kind>(kind));
    Py_INCREF(view.object());
    return view.object();
  });
}

PyObject* count_released(PyObject*, PyObject*) { return PyLong_FromLong(released_blocks); }

// entries() -> [(id, root id, parent id, kind, default context, host memory, queue in order)]
PyObject* entries(PyObject*, PyObject*) {
  return guarded([&] {
    PyObject* const list = PyList_New(0);
    for (int id = 0; id < device_entry::count(); ++id) {
      const device_entry entry(id);
      const sycl::queue queue = entry.queue();
      if (device_entry::of(queue) != entry ||
          device_entry::of(entry.device(), entry.context()) != entry) {
        throw std::runtime_error("there and back is another entry");
      }
      const int kind = entry.is_root() ? 0 : entry.is_sub_device() ? 1 : 2;
      PyObject* const item = Py_BuildValue(
          "(iiiiNNN)", entry.id(), entry.root_id(), entry.parent_id(), kind,
          PyBool_FromLong(entry.is_default_context()), PyBool_FromLong(entry.has_host_memory()),
          PyBool_FromLong(queue.is_in_order() && queue.get_context() == entry.context()));
      PyList_Append(list, item);
      Py_DECREF(item);
    }
    return list;
  });
}

PyObject* entry_of_pointer(PyObject*, PyObject* address) {
  return guarded([&] {
    std::int32_t kind = -1;
    const int id = sycl_ext::api().entry_of_pointer(PyLong_AsVoidPtr(address), &kind);
    return Py_BuildValue("ii", id, kind);
  });
}

// entry_of_native_device(handle) -> id: of a device of Level Zero that came without SYCL
PyObject* entry_of_native_device(PyObject*, PyObject* handle) {
  return guarded([&] {
    constexpr auto level_zero = sycl::backend::ext_oneapi_level_zero;
    const auto native = static_cast<ze_device_handle_t>(PyLong_AsVoidPtr(handle));
    const sycl::device device = sycl::make_device<level_zero>(native);
    return PyLong_FromLong(device_entry::of(device).id());
  });
}

PyMethodDef methods[] = {
    {"entry_of_native_device", entry_of_native_device, METH_O, nullptr},
    {"stress", stress, METH_VARARGS, nullptr},
    {"times", times, METH_NOARGS, nullptr},
    {"block", block, METH_VARARGS, nullptr},
    {"over", over, METH_O, nullptr},
    {"make", make, METH_VARARGS, nullptr},
    {"count_released", count_released, METH_NOARGS, nullptr},
    {"entries", entries, METH_NOARGS, nullptr},
    {"entry_of_pointer", entry_of_pointer, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "table_lab", nullptr, -1, methods, {}, {}, {}, {}};

}  // namespace

PyMODINIT_FUNC PyInit_table_lab() {
  return guarded([] {
    sycl_ext::api();
    return PyModule_Create(&module);
  });
}
