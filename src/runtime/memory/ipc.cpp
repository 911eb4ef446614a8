// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/ipc.hpp"

#include <cstddef>
#include <optional>
#include <utility>

#include "base/fork.hpp"
#include "base/host.hpp"
#include "runtime/devices/entry_handles.hpp"
#include "runtime/devices/level_zero.hpp"
#include "runtime/memory/usm_pointers.hpp"
#include "runtime/sycl/handles.hpp"
#include "runtime/sycl/older_headers.hpp"
#include "runtime/sycl/runtime_call.hpp"

namespace sycl_ext {

namespace {

void require_ipc(const Entry& entry) {
  require_not_forked([&entry] { return entry.is_cpu(); });
  if (has_ipc(entry)) return;
  fail(Error::Kind::buffer, "device (14, ", entry.id, "), ", entry.name,
       ", does not support inter-process handles (aspect ext_oneapi_ipc_memory, and Level Zero's "
       "ZE_IPC_PROPERTY_FLAG_MEMORY); sycl_ext.ipc.empty allocates memory that processes can "
       "share, on devices where that is possible");
}

// Error(buffer) unless the whole block lies in one allocation of the driver.  nullopt: the driver
// cannot be asked.
std::optional<DriverAllocation> require_one_allocation(const char* what, const Entry& entry,
                                                       const std::byte* data, std::size_t nbytes) {
  const std::optional<DriverAllocation> allocation = allocation_at(entry, data);
  if (!allocation) return allocation;
  if (allocation->error) {
    fail(Error::Kind::buffer, "the driver of device (14, ", entry.id, ") reports no allocation at ",
         static_cast<const void*>(data), " (zeMemGetAddressRange: error ", allocation->error, ")");
  }
  const auto offset = static_cast<std::size_t>(data - allocation->begin);
  if (offset <= allocation->nbytes && nbytes <= allocation->nbytes - offset) return allocation;
  fail(Error::Kind::buffer, what, " describes ", nbytes, " bytes at ",
       static_cast<const void*>(data), ", but the driver reports an allocation of ",
       allocation->nbytes, " bytes at ", static_cast<const void*>(allocation->begin));
}

struct Opened {
  void* pointer;
  sycl::context context;
  Owner lease;  // is released after the mapping was closed

  void end() const { ipc::close(pointer, context); }
};

struct Exported {
  MemoryKeeper keeper;
  ipc::handle handle;

  void end() { ipc::put(handle, keeper.memory()->entry->sycl->context); }
};

template <class State>
void release_ipc(void* state) {
  const std::unique_ptr<State> mine(static_cast<State*>(state));
  if (is_forked_child() || is_process_ending()) return;  // the parent or the system ends the use
  const WithoutGil released;
  const RuntimeCall call("closing an inter-process handle");
  try {
    mine->end();
  } catch (...) {  // a deleter does not raise; the handle then lasts as long as its block
  }
}

}  // namespace

bool has_ipc(const Entry& entry) {
  return has_usm(entry, UsmKind::device) && sycl_call("querying the aspects of a device", [&] {
           return has_ipc_aspect(entry.sycl->device) && shares_memory(entry);
         });
}

IpcExport export_ipc(const Memory& memory, const std::byte* data, std::size_t nbytes) {
  MemoryKeeper keeper(memory);
  const WithoutGil released;
  if (memory->kind != UsmKind::device || !memory->entry) {
    fail(Error::Kind::buffer, "'", usm_kind_name(memory->kind),
         "' memory has no inter-process handle, because only 'device' USM has one; copy it to "
         "memory from sycl_ext.ipc.empty");
  }
  const Entry& entry = *memory->entry;
  require_ipc(entry);
  const auto allocation = require_one_allocation("the tensor", entry, data, nbytes);
  const auto get = [&] { return ipc::get(const_cast<std::byte*>(data), entry.sycl->context); };
  std::unique_ptr<Exported> exported;
  try {
    exported.reset(
        new Exported{std::move(keeper), locked_call("getting an inter-process handle", get)});
  } catch (const Error& error) {
    if (memory->is_ours()) throw;
    fail(Error::Kind::buffer,
         "the tensor's memory was not allocated by sycl_ext, and the driver returned no handle for "
         "it (",
         error.what(),
         "); if it comes from another process, forward that process's Handle, which any number of "
         "processes can open; otherwise copy the tensor to memory from sycl_ext.ipc.empty");
  }
  const ipc::handle_data_t bytes = exported->handle.data();
  // The Level Zero adapter v1 loses errors of its memory provider, and reports success without a
  // handle.
  if (bytes.empty()) {
    fail(Error::Kind::runtime, "getting an inter-process handle failed: the driver of device (14, ",
         entry.id, "), ", entry.name, ", returned an empty handle");
  }
  return {{reinterpret_cast<const char*>(bytes.data()), bytes.size()},
          allocation ? allocation->nbytes : 0,
          Owner(exported.release(), release_ipc<Exported>)};
}

Memory open_ipc(const Entry& entry, const std::string& handle, std::size_t nbytes, Owner lease) {
  const WithoutGil released;
  require_ipc(entry);
  const auto* const bytes = reinterpret_cast<const std::byte*>(handle.data());
  const sycl::context& context = entry.sycl->context;
  auto opened = std::make_unique<Opened>(Opened{nullptr, context, std::move(lease)});
  const auto open = [&] {
    return ipc::open(ipc::handle_data_t(bytes, bytes + handle.size()), context, entry.sycl->device);
  };
  try {
    opened->pointer = locked_call("opening an inter-process handle", open);
  } catch (const Error& error) {
    if (!is_cuda_or_hip(context.get_backend())) throw;
    fail(Error::Kind::runtime, error.what(),
         "; this driver cannot open a handle in the process that made it; use the array itself "
         "there");
  }
  auto* const data = static_cast<std::byte*>(opened->pointer);
  if (!data) {  // an error that the Level Zero adapter v1 has lost
    fail(Error::Kind::runtime, "opening an inter-process handle failed: the driver of device (14, ",
         entry.id, "), ", entry.name, ", returned a NULL pointer");
  }
  // A mapping that is not valid must not be closed: the runtime looks it up by its pointer, and
  // would close another mapping.
  require_one_allocation("the inter-process handle", entry, data, nbytes);
  Owner owner(opened.release(), release_ipc<Opened>);
  UsmKind kind;
  const Entry& where = locate_usm("the inter-process handle", data, nbytes, entry, &kind);
  return borrow(data, nbytes, kind, &where, {}, std::move(owner));
}

void* lease_of(const Memory& memory) noexcept {
  for (const Allocation* block = &*memory; block; block = block->kept_block()) {
    void* const opened = block->owner_released_by(release_ipc<Opened>);
    if (opened) return static_cast<Opened*>(opened)->lease.get();
  }
  return nullptr;
}

}  // namespace sycl_ext
