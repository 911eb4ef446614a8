// SPDX-License-Identifier: Apache-2.0
#include "gate.hpp"

#include <unified-runtime/ur_api.h>

#include <cerrno>
#include <cstddef>
#include <new>
#include <sycl/exception.hpp>
#include <utility>

thread_local Gate allocators, runtime;
thread_local bool device_is_lost = false;
thread_local const char* failed = "";

extern "C" {
extern const char* const core_gates[];  // names, as the linker sees them

void core_runtime_gate(int number) {
  if (runtime.fails_now()) {
    failed = core_gates[number];
    sycl::exception error(sycl::make_error_code(sycl::errc::runtime), "a planned failure");
    if (device_is_lost)
      error = sycl::detail::set_ur_error(std::move(error), UR_RESULT_ERROR_DEVICE_LOST);
    throw error;
  }
}

void* __real__Znwm(std::size_t nbytes);
void* __real__ZnwmRKSt9nothrow_t(std::size_t nbytes, const std::nothrow_t&);
void* __real_malloc(std::size_t nbytes);
int __real_posix_memalign(void** block, std::size_t alignment, std::size_t nbytes);

void* __wrap__Znwm(std::size_t nbytes) {
  return allocators.fails_now() ? throw std::bad_alloc() : __real__Znwm(nbytes);
}
void* __wrap__ZnwmRKSt9nothrow_t(std::size_t nbytes, const std::nothrow_t& nothrow) {
  return allocators.fails_now() ? nullptr : __real__ZnwmRKSt9nothrow_t(nbytes, nothrow);
}
void* __wrap_malloc(std::size_t nbytes) {
  return allocators.fails_now() ? nullptr : __real_malloc(nbytes);
}
int __wrap_posix_memalign(void** block, std::size_t alignment, std::size_t nbytes) {
  return allocators.fails_now() ? ENOMEM : __real_posix_memalign(block, alignment, nbytes);
}
}
