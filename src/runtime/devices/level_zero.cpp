// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/level_zero.hpp"

#include <sycl/ext/oneapi/backend/level_zero.hpp>

#include "runtime/devices/entry_handles.hpp"
#include "runtime/sycl/handles.hpp"
#include "runtime/sycl/runtimes.hpp"

namespace sycl_ext {

namespace {

constexpr auto level_zero = sycl::backend::ext_oneapi_level_zero;

// A function of the Level Zero loader, which the adapters load and keep.
void* symbol(const char* name) noexcept { return loaded_symbol("libze_loader.so.1", name); }

// Passes a function of the loader to `ask`, and returns the result.  `unknown`: the entry does not
// use Level Zero, or the loader lacks the function, or there is no native handle.
template <class Function, class Answer, class Ask>
Answer ask_driver(const Entry& entry, const char* name, Answer unknown, const Ask& ask) noexcept {
  if (entry.backend != "level_zero") return unknown;
  const auto function = reinterpret_cast<Function>(symbol(name));
  if (!function) return unknown;
  try {
    return ask(function);
  } catch (const sycl::exception&) {
    return unknown;
  }
}

ze_context_handle_t context_of(const Entry& entry) {
  return sycl::get_native<level_zero>(entry.sycl->context);
}

ze_driver_handle_t driver_of(const Entry& entry) {
  return sycl::get_native<level_zero>(entry.sycl->device.get_platform());
}

}  // namespace

bool shares_memory(const Entry& entry) noexcept {
  struct IpcProperties {  // ze_driver_ipc_properties_t
    std::uint32_t type = 2;
    void* next = nullptr;
    std::uint32_t flags = 0;
  };
  using GetIpcProperties = std::uint32_t (*)(ze_driver_handle_t, IpcProperties*);
  return ask_driver<GetIpcProperties>(entry, "zeDriverGetIpcProperties", true, [&](auto get) {
    constexpr std::uint32_t memory = 1;
    IpcProperties properties;
    return get(driver_of(entry), &properties) != 0 || properties.flags & memory;
  });
}

bool is_lost(const Entry& entry) noexcept {
  using GetStatus = std::uint32_t (*)(ze_device_handle_t);
  constexpr std::uint32_t device_lost = 0x70000001;
  return ask_driver<GetStatus>(entry, "zeDeviceGetStatus", false, [&](auto get_status) {
    return get_status(sycl::get_native<level_zero>(entry.sycl->device)) == device_lost;
  });
}

std::optional<DriverAllocation> allocation_at(const Entry& entry, const void* pointer) noexcept {
  // Errors of a loader that is in the process, but that the adapters do not use.
  constexpr std::uint32_t uninitialized = 0x78000001, unsupported = 0x78000003;
  using GetRange = std::uint32_t (*)(ze_context_handle_t, const void*, void**, std::size_t*);
  using Answer = std::optional<DriverAllocation>;
  return ask_driver<GetRange>(entry, "zeMemGetAddressRange", Answer(), [&](auto get) {
    void* begin = nullptr;
    std::size_t nbytes = 0;
    const std::uint32_t error = get(context_of(entry), pointer, &begin, &nbytes);
    if (error == uninitialized || error == unsupported) return Answer();
    return Answer({error, static_cast<const std::byte*>(begin), nbytes});
  });
}

const Entry& device_of_memory(const Entry& entry, const void* pointer) noexcept {
  struct Properties {  // ze_memory_allocation_properties_t
    std::uint32_t stype = 0x17;
    void* next = nullptr;
    std::uint32_t type = 0;
    std::uint64_t id = 0, page_size = 0;
  };
  using GetProperties =
      std::uint32_t (*)(ze_context_handle_t, const void*, Properties*, ze_device_handle_t*);
  const Entry* const unknown = &entry;
  return *ask_driver<GetProperties>(entry, "zeMemGetAllocProperties", unknown, [&](auto get) {
    Properties properties;
    ze_device_handle_t device = nullptr;
    if (get(context_of(entry), pointer, &properties, &device) || !device) return unknown;
    for (int id = 0; id < entries_so_far(); ++id) {
      const Entry& candidate = *find_entry(id);
      const bool is_owner = same_context(candidate, entry) &&
                            sycl::get_native<level_zero>(candidate.sycl->device) == device;
      if (is_owner) return &candidate;
    }
    return unknown;
  });
}

std::optional<const void*> imported_from(const Entry& entry, const void* pointer) noexcept {
  using GetExtension = std::uint32_t (*)(ze_driver_handle_t, const char*, void**);
  using Translate = std::uint32_t (*)(int, void*, void**);
  using GetBase = std::uint32_t (*)(void*, void*, void**);
  constexpr int driver_type = 0;  // ZEL_HANDLE_DRIVER
  const std::optional<const void*> unknown;
  const char* const name = "zeDriverGetExtensionFunctionAddress";
  return ask_driver<GetExtension>(entry, name, unknown, [&](auto get_extension) {
    const auto driver = driver_of(entry);
    void* get_base = nullptr;
    if (get_extension(driver, "zexDriverGetHostPointerBaseAddress", &get_base) || !get_base) {
      return unknown;
    }
    // The function is the driver's, and the handle may be the loader's.
    const auto translate = reinterpret_cast<Translate>(symbol("zelLoaderTranslateHandle"));
    void* own = driver;
    if (translate && translate(driver_type, driver, &own)) own = driver;
    void* first = nullptr;
    const auto error = reinterpret_cast<GetBase>(get_base)(own, const_cast<void*>(pointer), &first);
    return std::optional<const void*>(error ? nullptr : first);
  });
}

}  // namespace sycl_ext
