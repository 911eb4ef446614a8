// SPDX-License-Identifier: Apache-2.0
// Kernels that wait until a test lets them go, for ctypes: see kernels/__init__.py.
//
// Their source is compiled at run time by the SYCL runtime itself, so plain g++ builds this file:
// https://github.com/intel/llvm/blob/sycl/sycl/doc/extensions/experimental/sycl_ext_oneapi_kernel_compiler.asciidoc
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <sycl/kernel_bundle.hpp>
#include <sycl/queue.hpp>
#include <sycl/usm.hpp>
#include <thread>

namespace {

namespace syclexp = sycl::ext::oneapi::experimental;

// The flag is set by the host while the kernel runs: in host USM, whose stores become visible.
const char* const SOURCE = R"(
#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;

static void wait_for(const volatile int* gate) { while (*gate == 0) {} }

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::single_task_kernel))
void fill(const volatile int* gate, long* target, unsigned long count, long value) {
  wait_for(gate);
  for (unsigned long i = 0; i < count; ++i) target[i] = value;
}

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::single_task_kernel))
void copy(const volatile int* gate, long* target, const long* source, unsigned long count) {
  wait_for(gate);
  for (unsigned long i = 0; i < count; ++i) target[i] = source[i];
}
)";

struct Kernels {
  sycl::kernel fill, copy;
};

constexpr int BY_THE_WATCH = 2;
constexpr int GATES = 4096;

// Of this process, and never destroyed: kernels of a test that failed may still look at it.
thread_local std::string said;

template <class Call>
auto guarded(Call call) noexcept -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& error) {
    said = error.what();
  } catch (...) {
    said = "an unknown exception";
  }
  return {};
}

}  // namespace

#define LAB_API extern "C" __attribute__((visibility("default")))

// The message of the last function that returned 0.
LAB_API const char* lab_error() { return said.c_str(); }

// Compiles for the context of the queue; never freed.
LAB_API void* lab_kernels(const sycl::queue* queue) {
  return guarded([&]() -> void* {
    auto source = syclexp::create_kernel_bundle_from_source(
        queue->get_context(), syclexp::source_language::sycl, std::string(SOURCE));
    auto built = syclexp::build(source);
    return new Kernels{built.ext_oneapi_get_kernel("fill"), built.ext_oneapi_get_kernel("copy")};
  });
}

// `GATES` closed gates, of host USM; never freed.
LAB_API int* lab_gates(const sycl::queue* queue) {
  return guarded([&]() -> int* {
    int* gates = sycl::malloc_host<int>(GATES, *queue);
    for (int number = 0; gates != nullptr && number < GATES; ++number) {
      gates[number] = 0;
    }
    return gates;
  });
}

LAB_API int lab_gate_count() { return GATES; }

// Submits a kernel that waits for the gate, and then sets `count` numbers.
LAB_API int lab_fill(const Kernels* kernels, sycl::queue* queue, const volatile int* gate,
                     long* target, unsigned long count, long value) {
  return guarded([&]() -> int {
    queue->submit([&](sycl::handler& handler) {
      handler.set_args(gate, target, count, value);
      handler.single_task(kernels->fill);
    });
    return 1;
  });
}

// Submits a kernel that waits for the gate, and then copies `count` numbers.
LAB_API int lab_copy(const Kernels* kernels, sycl::queue* queue, const volatile int* gate,
                     long* target, const long* source, unsigned long count) {
  return guarded([&]() -> int {
    queue->submit([&](sycl::handler& handler) {
      handler.set_args(gate, target, source, count);
      handler.single_task(kernels->copy);
    });
    return 1;
  });
}

// Opens the gate after a while, unless somebody has: without the GIL, so also when a call that
// waits for the kernel holds it.
LAB_API int lab_watch(volatile int* gate, int milliseconds) {
  return guarded([&]() -> int {
    std::thread([gate, milliseconds] {
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
      while (*gate == 0 && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      if (*gate == 0) {
        *gate = BY_THE_WATCH;
      }
    }).detach();
    return 1;
  });
}

// The sycl::usm::alloc of an address in the context of the queue.
LAB_API int lab_kind(const sycl::queue* queue, const void* address) {
  return static_cast<int>(sycl::get_pointer_type(address, queue->get_context()));
}
