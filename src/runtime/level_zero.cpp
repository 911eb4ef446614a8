// SPDX-License-Identifier: Apache-2.0
#include "runtime/level_zero.hpp"

#include <sycl/ext/oneapi/backend/level_zero.hpp>

#if defined(__linux__)
#include <dlfcn.h>
#endif

#include "runtime/sycl_handles.hpp"

namespace sycl_ext {

void* level_zero_symbol(const Entry& entry, const char* name) noexcept {
#if defined(__linux__)
  if (entry.backend != "level_zero") return nullptr;
  void* const loader = dlopen("libze_loader.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!loader) return nullptr;
  void* const symbol = dlsym(loader, name);
  dlclose(loader);  // the adapters keep it
  return symbol;
#else
  return nullptr;
#endif
}

namespace {

constexpr auto level_zero = sycl::backend::ext_oneapi_level_zero;

ze_context_handle_t native_context_of(const Entry& entry) {
  return sycl::get_native<level_zero>(entry.sycl->context);
}

}  // namespace

std::optional<bool> has_memory_at(const Entry& entry, const void* pointer) noexcept {
  using GetRange = std::uint32_t (*)(ze_context_handle_t, const void*, void**, std::size_t*);
  const auto get_range = level_zero_function<GetRange>(entry, "zeMemGetAddressRange");
  if (!get_range) return std::nullopt;
  try {
    void* begin = nullptr;
    std::size_t nbytes = 0;
    return get_range(native_context_of(entry), pointer, &begin, &nbytes) == 0;
  } catch (const sycl::exception&) {  // an adapter without native handles
    return std::nullopt;
  }
}

const Entry* device_of_memory(const Entry& entry, const void* pointer) noexcept {
  struct Properties {  // ze_memory_allocation_properties_t
    std::uint32_t stype = 0x17;
    void* next = nullptr;
    std::uint32_t type = 0;
    std::uint64_t id = 0, page_size = 0;
  } properties;
  using GetProperties =
      std::uint32_t (*)(ze_context_handle_t, const void*, Properties*, ze_device_handle_t*);
  const auto get = level_zero_function<GetProperties>(entry, "zeMemGetAllocProperties");
  if (!get) return nullptr;
  try {
    ze_device_handle_t device = nullptr;
    if (get(native_context_of(entry), pointer, &properties, &device) || !device) return nullptr;
    for (int id = 0; id < entries_so_far(); ++id) {
      const Entry& one = *find_entry(id);
      if (same_context(one, entry) && sycl::get_native<level_zero>(one.sycl->device) == device) {
        return &one;
      }
    }
  } catch (const sycl::exception&) {  // an adapter without native handles
  }
  return nullptr;
}

ImportedFrom imported_from(const Entry& entry, const void* pointer) noexcept {
  using GetExtension = std::uint32_t (*)(ze_driver_handle_t, const char*, void**);
  using Translate = std::uint32_t (*)(int, void*, void**);
  using GetBase = std::uint32_t (*)(void*, void*, void**);
  constexpr int driver_type = 0;  // ZEL_HANDLE_DRIVER
  const auto get_extension =
      level_zero_function<GetExtension>(entry, "zeDriverGetExtensionFunctionAddress");
  const auto translate = level_zero_function<Translate>(entry, "zelLoaderTranslateHandle");
  if (!get_extension) return {false, nullptr};
  try {
    const auto driver = sycl::get_native<level_zero>(entry.sycl->device.get_platform());
    void* get_base = nullptr;
    if (get_extension(driver, "zexDriverGetHostPointerBaseAddress", &get_base) || !get_base) {
      return {false, nullptr};
    }
    // The function is the driver's, and the handle may be the loader's.
    void* own = driver;
    if (translate && translate(driver_type, driver, &own)) own = driver;
    void* first = nullptr;
    if (reinterpret_cast<GetBase>(get_base)(own, const_cast<void*>(pointer), &first)) {
      first = nullptr;
    }
    return {true, first};
  } catch (const sycl::exception&) {  // an adapter without native handles
    return {false, nullptr};
  }
}

}  // namespace sycl_ext
