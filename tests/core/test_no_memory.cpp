// SPDX-License-Identifier: Apache-2.0
// Every allocation that the core makes with `new` fails in turn: std::bad_alloc or an Error comes
// out, and the live counts balance.
#include <cstdlib>
#include <new>
#include <vector>

#include "check.hpp"
#include "copy.hpp"
#include "dlpack_export.hpp"
#include "dlpack_import.hpp"

namespace {

thread_local long calls = 0;
thread_local long fail_at = 0;  // 0: none

bool fails_now() { return ++calls == fail_at; }

}  // namespace

// Calls from the shared libraries (the SYCL runtime, the C++ library) are not ours to break.
extern "C" const char __executable_start;
extern "C" const char etext;

namespace {

void* allocate_for(const void* return_address, std::size_t nbytes) {
  const auto* caller = static_cast<const char*>(return_address);
  const bool ours = caller >= &__executable_start && caller < &etext;
  void* block = ours && fails_now() ? nullptr : std::malloc(nbytes ? nbytes : 1);
  if (!block) throw std::bad_alloc();
  return block;
}

}  // namespace

void* operator new(std::size_t nbytes) { return allocate_for(__builtin_return_address(0), nbytes); }
void* operator new[](std::size_t nbytes) {
  return allocate_for(__builtin_return_address(0), nbytes);
}
void* operator new(std::size_t nbytes, const std::nothrow_t&) noexcept {
  return std::malloc(nbytes ? nbytes : 1);
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t) noexcept { std::free(block); }

using namespace sycl_ext;

namespace {

void something_of_everything() {
  const std::int64_t shape[] = {7, 2, 2, 2, 3}, flat[] = {7, 24};
  const DType& dtype = dtype_named("float64");
  const Tensor tensor =
      make_tensor(default_row(), UsmKind::device, dtype, compact_layout(5, shape, Order::c, 8));
  fill_zero(tensor);
  Layout result;
  reshape_layout(tensor.layout, compact_layout(2, flat, Order::c, 8), &result);
  const Tensor flat_view = make_view(tensor, 0, result);
  const Tensor fortran = copy_to_row(flat_view, default_row(), UsmKind::shared, Order::f);
  copy_elements(flat_view, fortran);
  const Tensor host = copy_to_host(tensor);
  auto* managed = export_managed<DLManagedTensorVersioned>(tensor, {tensor.dl_device()});
  const Tensor again = import_managed(managed, {}).tensor;
  relabel(import_managed(export_managed<DLManagedTensor>(as_host_view(fortran), {{kDLCPU, 0}}), {})
              .tensor,
          default_row(), UsmKind::shared);
}

}  // namespace

TEST(no_memory_for_new) {
  something_of_everything();
  release_cached_memory();
  const long live = live_allocations(), exports = live_exports();
  calls = 0;
  something_of_everything();
  const long count = calls;
  CHECK(count > 10);
  long failures = 0;
  for (long number = 1; number <= count; ++number) {
    calls = 0;
    fail_at = number;
    try {
      something_of_everything();
    } catch (const std::bad_alloc&) {
      ++failures;
    } catch (const Error&) {
      ++failures;
    }
    fail_at = 0;
    CHECK(live_allocations() == live);
    CHECK(live_exports() == exports);
  }
  CHECK(failures > 0);
  something_of_everything();
}
