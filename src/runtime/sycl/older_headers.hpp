// SPDX-License-Identifier: Apache-2.0
// What older headers of the runtime lack.
//
// - Before 2026.2: the aspect by which the two Level Zero adapters differ.  A module that is built
//   with them takes each Level Zero device for one of the older adapter, and so does each module
//   that runs with an older runtime, which has no device with the aspect.
// - libsycl.so.8 (oneAPI 2025.3, on machines with modules): memory shared by processes.  A module
//   that is built against it has no inter-process handles.
#pragma once

#include <cstddef>
#include <sycl/context.hpp>
#include <sycl/device.hpp>
#include <sycl/version.hpp>
#include <vector>

namespace sycl_ext {

template <class Aspect>
auto has_per_event_profiling(const sycl::device& device, Aspect)
    -> decltype(device.has(Aspect::ext_oneapi_per_event_profiling)) {
  return device.has(Aspect::ext_oneapi_per_event_profiling);
}

// Where there is no such aspect.
inline bool has_per_event_profiling(const sycl::device&, ...) { return false; }

}  // namespace sycl_ext

#if __LIBSYCL_MAJOR_VERSION >= 9

#include <sycl/ext/oneapi/experimental/ipc_memory.hpp>

namespace sycl_ext {

inline bool has_ipc_aspect(const sycl::device& device) {
  return device.has(sycl::aspect::ext_oneapi_ipc_memory);
}

// The older of two namespaces.  The runtimes 2026.0 to 2026.2 all have it, so a module that is
// built with any of them runs with the others.
namespace ipc {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
using sycl::ext::oneapi::experimental::ipc_memory::close;
using sycl::ext::oneapi::experimental::ipc_memory::get;
using handle = sycl::ext::oneapi::experimental::ipc_memory::handle;
using handle_data_t = sycl::ext::oneapi::experimental::ipc_memory::handle_data_t;
using sycl::ext::oneapi::experimental::ipc_memory::open;
using sycl::ext::oneapi::experimental::ipc_memory::put;
#pragma GCC diagnostic pop
}  // namespace ipc

}  // namespace sycl_ext

#else

#include "base/error.hpp"

namespace sycl_ext {

inline bool has_ipc_aspect(const sycl::device&) { return false; }

// Never called: no device has the aspect.
namespace ipc {

[[noreturn]] inline void lack() { fail(Error::Kind::runtime, "oneAPI 2025 has no IPC memory"); }

using handle_data_t = std::vector<std::byte>;
struct handle {
  handle_data_t data() const { lack(); }
};
inline handle get(void*, const sycl::context&) { lack(); }
inline void put(handle&, const sycl::context&) { lack(); }
inline void* open(const handle_data_t&, const sycl::context&, const sycl::device&) { lack(); }
inline void close(void*, const sycl::context&) { lack(); }

}  // namespace ipc

}  // namespace sycl_ext

#endif
