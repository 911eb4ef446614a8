// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/double_mapping.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <sycl/ext/oneapi/virtual_mem/physical_mem.hpp>
#include <sycl/ext/oneapi/virtual_mem/virtual_mem.hpp>

#include "base/error.hpp"
#include "runtime/devices/entry_handles.hpp"
#include "runtime/sycl/runtime_call.hpp"

namespace sycl_ext {

namespace {

namespace experimental = sycl::ext::oneapi::experimental;

// Addresses of a context that are mapped to a page.
class Mapping {
 public:
  Mapping(const experimental::physical_mem& page, const sycl::context& context)
      : page_(page),
        nbytes_(page.size()),
        context_(context),
        address_(experimental::reserve_virtual_mem(nbytes_, context)) {
    try {
      bytes_ = page.map(address_, nbytes_, experimental::address_access_mode::read_write);
    } catch (...) {
      experimental::free_virtual_mem(address_, nbytes_, context_);
      throw;
    }
  }
  ~Mapping() {
    try {
      locked_call("unmapping a page", [this] {
        experimental::unmap(bytes_, nbytes_, context_);
        experimental::free_virtual_mem(address_, nbytes_, context_);
      });
    } catch (const Error&) {  // the addresses stay taken
    }
  }
  Mapping(const Mapping&) = delete;
  void* bytes() const noexcept { return bytes_; }

 private:
  // Released after it was unmapped: Level Zero may free a page although it is mapped.
  const experimental::physical_mem page_;
  const std::size_t nbytes_;
  const sycl::context context_;
  const std::uintptr_t address_;
  void* bytes_ = nullptr;
};

using Numbers = std::array<int, 4>;

// Whether what is written through one address is read through the other one.
bool arrives(const Queue& queue, void* to, const void* from, const Numbers& numbers) {
  Numbers read{};
  queue.copy(to, numbers.data(), sizeof(numbers));
  queue.copy(read.data(), from, sizeof(read));
  return read == numbers;
}

}  // namespace

std::optional<bool> is_one_page_at_two_addresses(const Entry& entry) {
  const sycl::device& device = entry.sycl->device;
  const sycl::context& context = entry.sycl->context;
  std::optional<Mapping> first, second;
  locked_call("mapping a page at two addresses", [&] {
    if (!device.has(sycl::aspect::ext_oneapi_virtual_mem)) return;
    const experimental::physical_mem page(
        device, context,
        experimental::get_mem_granularity(device, context,
                                          experimental::granularity_mode::recommended));
    first.emplace(page, context);
    second.emplace(page, context);
  });
  if (!second) return std::nullopt;
  const Queue queue = entry.new_queue();
  return arrives(queue, first->bytes(), second->bytes(), {1, 22, 333, 4444}) &&
         arrives(queue, second->bytes(), first->bytes(), {5, 66, 777, 8888});
}

}  // namespace sycl_ext
