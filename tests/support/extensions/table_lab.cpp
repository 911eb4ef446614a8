// SPDX-License-Identifier: Apache-2.0
//
// The device table under load, only through <sycl_ext/core.hpp>: a plain CPython module, so that
// eight threads really run at once.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <future>
#include <sycl/backend.hpp>
#include <sycl/ext/oneapi/backend/level_zero.hpp>
#include <sycl/usm.hpp>
#include <sycl_ext/memory_resource.hpp>
#include <thread>

namespace {

using sycl_ext::device_entry;

// Runs `body`; an exception becomes the Python exception.
template <class Body>
PyObject* guarded(Body&& body) {
  try {
    return body();
  } catch (const sycl_ext::python_error&) {
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

// stress(threads, contexts, lookups) -> (different entries, contradictions)
// Makes private contexts, and has threads look all of them up at once: each is new to the table.
PyObject* stress(PyObject*, PyObject* args) {
  int n_threads, n_contexts, n_lookups;
  if (!PyArg_ParseTuple(args, "iii", &n_threads, &n_contexts, &n_lookups)) return nullptr;
  return guarded([&] {
    const device_entry root = device_entry::default_device();
    std::vector<sycl::context> contexts;
    for (int i = 0; i < n_contexts; ++i) {
      contexts.emplace_back(std::vector<sycl::device>{root.device()});
    }
    std::vector<std::atomic<int>> ids(contexts.size());
    for (auto& id : ids) id = -1;
    std::atomic<int> contradictions{0}, next{0};
    const auto look_up = [&] {
      for (int i = next++; i < n_lookups; i = next++) {
        const auto number = static_cast<std::size_t>(i) * 7919 % contexts.size();
        const int id = device_entry::of(root.device(), contexts[number]).id();
        int expected = -1;
        if (!ids[number].compare_exchange_strong(expected, id) && expected != id) {
          ++contradictions;
        }
        if (device_entry(id).context() != contexts[number]) ++contradictions;
      }
    };
    std::vector<std::thread> threads;
    PyThreadState* const released = PyEval_SaveThread();
    for (int i = 0; i < n_threads; ++i) threads.emplace_back(look_up);
    for (std::thread& thread : threads) thread.join();
    PyEval_RestoreThread(released);
    std::vector<int> entries(ids.begin(), ids.end());
    std::sort(entries.begin(), entries.end());
    entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
    return Py_BuildValue("ni", static_cast<Py_ssize_t>(entries.size()), contradictions.load());
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

// over(tensor, queue=0) -> another tensor over the memory of a tensor, kept by the Python object;
// with the queue of the view when the address of the queue is 0
PyObject* over(PyObject*, PyObject* args) {
  PyObject* object;
  Py_ssize_t address = 0;
  if (!PyArg_ParseTuple(args, "O|n", &object, &address)) return nullptr;
  return guarded([&] {
    const auto view = sycl_ext::usm_view<float>::from_python(object);
    const sycl::queue queue =
        address ? *reinterpret_cast<const sycl::queue*>(address) : view.queue();
    return sycl_ext::wrap(view.data(), {view.size()}, view.entry(), object, &queue);
  });
}

// make(entry, kind, queue=0): with the queue of the entry when the address of the queue is 0
PyObject* make(PyObject*, PyObject* args) {
  int id, kind;
  Py_ssize_t queue = 0;
  if (!PyArg_ParseTuple(args, "ii|n", &id, &kind, &queue)) return nullptr;
  return guarded([&] {
    const auto view = sycl_ext::make<std::int16_t>({2, 3}, device_entry(id),
                                                   static_cast<sycl_ext::usm_kind>(kind),
                                                   reinterpret_cast<const sycl::queue*>(queue));
    Py_INCREF(view.object());
    return view.object();
  });
}

// Runs `body` here with the GIL, or on a thread that Python does not know.
template <class Body>
auto run_at(int on_thread, Body body) {
  if (!on_thread) return body();
  struct Released {
    PyThreadState* const state = PyEval_SaveThread();
    ~Released() { PyEval_RestoreThread(state); }
  } released;
  return std::async(std::launch::async, body).get();
}

// needs_gil(tensor): how many of these calls throw std::logic_error with the GIL released.
PyObject* needs_gil(PyObject*, PyObject* object) {
  const auto view = sycl_ext::usm_view<float>::from_python(object);
  const device_entry entry = view.entry();
  float element = 0;
  const auto refuses = [](auto call) {
    try {
      return run_at(1, [&] { return static_cast<void>(call()), 0; });
    } catch (const std::logic_error&) {
      return 1;
    }
  };
  const auto owner = std::make_shared<float>();
  return PyLong_FromLong(refuses([&] { return sycl_ext::make<float>({2}, entry); }) +
                         refuses([&] { return sycl_ext::make<float>(view.shape(), 1, entry); }) +
                         refuses([&] { return sycl_ext::make_like(view); }) +
                         refuses([&] { return sycl_ext::wrap(&element, {1}, entry, owner); }) +
                         refuses([&] { return sycl_ext::wrap(&element, {1}, entry, object); }) +
                         refuses([&] { return sycl_ext::usm_view<float>::from_python(object); }));
}

PyObject* count_released(PyObject*, PyObject*) { return PyLong_FromLong(released_blocks); }

// ---- usm_resource -------------------------------------------------------------------------------

std::unique_ptr<sycl_ext::usm_resource> resource;

// use_resource(entry, kind, queue): of the entry when the address of the queue is 0
PyObject* use_resource(PyObject*, PyObject* args) {
  int id, kind;
  Py_ssize_t queue;
  if (!PyArg_ParseTuple(args, "iin", &id, &kind, &queue)) return nullptr;
  return guarded([&] {
    const auto usm = static_cast<sycl_ext::usm_kind>(kind);
    resource.reset();
    if (queue) {
      resource = std::make_unique<sycl_ext::usm_resource>(
          *reinterpret_cast<const sycl::queue*>(queue), usm);
    } else {
      resource = std::make_unique<sycl_ext::usm_resource>(device_entry(id), usm);
    }
    return PyLong_FromLong(resource->entry().id());
  });
}

PyObject* drop_resource(PyObject*, PyObject*) {
  resource.reset();
  Py_RETURN_NONE;
}

// Allocates when Python has ended, and says what came of it.
PyObject* allocate_after_python(PyObject*, PyObject*) {
  Py_AtExit([] {
    try {
      std::puts(resource->allocate(1) ? "memory" : "no memory");
    } catch (const std::bad_alloc&) {
      std::puts("bad_alloc");
    }
    std::fflush(stdout);
  });
  Py_RETURN_NONE;
}

// allocate(nbytes, alignment, on a thread of its own) -> address
PyObject* allocate(PyObject*, PyObject* args) {
  Py_ssize_t nbytes, alignment;
  int on_thread;
  if (!PyArg_ParseTuple(args, "nnp", &nbytes, &alignment, &on_thread)) return nullptr;
  return guarded([&] {
    return PyLong_FromVoidPtr(run_at(on_thread, [=] {
      return resource->allocate(static_cast<std::size_t>(nbytes),
                                static_cast<std::size_t>(alignment));
    }));
  });
}

// deallocate(address, on a thread of its own)
PyObject* deallocate(PyObject*, PyObject* args) {
  PyObject* address;
  int on_thread;
  if (!PyArg_ParseTuple(args, "Op", &address, &on_thread)) return nullptr;
  void* const data = PyLong_AsVoidPtr(address);
  run_at(on_thread, [=] { resource->deallocate(data, 1); });
  Py_RETURN_NONE;
}

// reused_while_pending(entry, nbytes) -> whether a block that was deallocated is had again while
// its queue has work
PyObject* reused_while_pending(PyObject*, PyObject* args) {
  int id;
  Py_ssize_t nbytes;
  if (!PyArg_ParseTuple(args, "in", &id, &nbytes)) return nullptr;
  return guarded([&] {
    const device_entry entry(id);
    sycl_ext::usm_resource usm(entry, sycl_ext::usm_kind::device);
    const auto size = static_cast<std::size_t>(nbytes);
    std::promise<void> done;
    std::shared_future<void> wait = done.get_future().share();
    void* const first = usm.allocate(size);
    sycl::event event = entry.queue().submit(
        [&](sycl::handler& handler) { handler.host_task([=] { wait.wait(); }); });
    usm.deallocate(first, size);
    void* const second = usm.allocate(size);
    done.set_value();
    usm.deallocate(second, size);
    PyThreadState* const released = PyEval_SaveThread();
    event.wait();
    PyEval_RestoreThread(released);
    return PyBool_FromLong(first == second);
  });
}

// numbers(entry, n) -> tensor over a vector of 0, 1, ... n - 1
PyObject* numbers(PyObject*, PyObject* args) {
  int id, n;
  if (!PyArg_ParseTuple(args, "ii", &id, &n)) return nullptr;
  return guarded([&] {
    struct Kept {
      explicit Kept(const device_entry& entry) : usm(entry) {}
      sycl_ext::usm_resource usm;
      std::pmr::vector<float> values{&usm};
    };
    const device_entry entry(id);
    const auto kept = std::make_shared<Kept>(entry);
    for (int i = 0; i < n; ++i) kept->values.push_back(static_cast<float>(i));
    return sycl_ext::wrap(kept->values.data(), {n}, entry, kept);
  });
}

// entries() -> [(id, root id, parent id, kind, default context, host memory, queue in its context)]
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
          PyBool_FromLong(queue.get_context() == entry.context()));
      PyList_Append(list, item);
      Py_DECREF(item);
    }
    return list;
  });
}

PyObject* entry_of_pointer(PyObject*, PyObject* address) {
  return guarded([&] {
    std::int32_t kind = -1;
    const void* const pointer = PyLong_AsVoidPtr(address);
    const int id = sycl_ext::detail::call(sycl_ext::api().entry_of_pointer, pointer, &kind);
    return Py_BuildValue("ii", id, kind);
  });
}

// entry_of_second_context(entry) -> id: of another sycl::context of the same context of Level Zero
PyObject* entry_of_second_context(PyObject*, PyObject* id) {
  return guarded([&] {
    constexpr auto level_zero = sycl::backend::ext_oneapi_level_zero;
    const device_entry entry(static_cast<int>(PyLong_AsLong(id)));
    const sycl::context second =
        sycl::make_context<level_zero>({sycl::get_native<level_zero>(entry.context()),
                                        {entry.device()},
                                        sycl::ext::oneapi::level_zero::ownership::keep});
    if (second == entry.context()) throw std::runtime_error("it is the same sycl::context");
    return PyLong_FromLong(device_entry::of(entry.device(), second).id());
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
    {"entry_of_second_context", entry_of_second_context, METH_O, nullptr},
    {"stress", stress, METH_VARARGS, nullptr},
    {"block", block, METH_VARARGS, nullptr},
    {"over", over, METH_VARARGS, nullptr},
    {"make", make, METH_VARARGS, nullptr},
    {"needs_gil", needs_gil, METH_O, nullptr},
    {"count_released", count_released, METH_NOARGS, nullptr},
    {"entries", entries, METH_NOARGS, nullptr},
    {"entry_of_pointer", entry_of_pointer, METH_O, nullptr},
    {"use_resource", use_resource, METH_VARARGS, nullptr},
    {"drop_resource", drop_resource, METH_NOARGS, nullptr},
    {"allocate_after_python", allocate_after_python, METH_NOARGS, nullptr},
    {"allocate", allocate, METH_VARARGS, nullptr},
    {"deallocate", deallocate, METH_VARARGS, nullptr},
    {"reused_while_pending", reused_while_pending, METH_VARARGS, nullptr},
    {"numbers", numbers, METH_VARARGS, nullptr},
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
