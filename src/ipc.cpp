// SPDX-License-Identifier: Apache-2.0
#include "ipc.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <sycl/ext/intel/info/device.hpp>
#include <sycl/ext/oneapi/experimental/ipc_memory.hpp>

#include "sycl_handles.hpp"

// The older of two namespaces: the runtimes 2026.0 to 2026.2 all have it, and a module that is
// built with any of them runs with the others.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
namespace ipc = sycl::ext::oneapi::experimental::ipc_memory;

namespace sycl_ext {

namespace {

void require_ipc(const Row& row) {
  if (has_ipc(row)) return;
  fail(Error::Kind::buffer, "device (14, ", row.id, "), ", row.name,
       ", has no inter-process handles (the aspect ext_oneapi_ipc_memory); sycl_ext.ipc_empty "
       "makes memory that processes can share where there is any");
}

struct Opened {
  void* pointer;
  sycl::context context;
};

void close_ipc(void* state) {
  const std::unique_ptr<Opened> opened(static_cast<Opened*>(state));
  try {
    ipc::close(opened->pointer, opened->context);
  } catch (...) {  // nobody is left to be told
  }
}

}  // namespace

struct IpcExport::Handle {
  std::optional<ipc::handle> value;
};

bool has_ipc(const Row& row) {
  return row.usm_device && sycl_call("asking for the aspects of a device", [&] {
           return row.sycl->device.has(sycl::aspect::ext_oneapi_ipc_memory);
         });
}

std::string device_uuid(const Row& row) {
  const sycl::device& device = row.sycl->device;
  return sycl_call("asking for the UUID of a device", [&]() -> std::string {
    if (!device.has(sycl::aspect::ext_intel_device_info_uuid)) return {};
    const auto uuid = device.get_info<sycl::ext::intel::info::device::uuid>();
    return {reinterpret_cast<const char*>(uuid.data()), uuid.size()};
  });
}

IpcExport::IpcExport(Memory memory) : memory_(std::move(memory)) {
  if (memory_->kind != UsmKind::device || !memory_->row) {
    fail(Error::Kind::buffer, "'", usm_kind_name(memory_->kind),
         "' memory has no inter-process handle, only 'device' USM has; copy it to memory from "
         "sycl_ext.ipc_empty");
  }
  require_ipc(*memory_->row);
  if (!memory_->is_ours()) {
    fail(Error::Kind::buffer,
         "the memory was allocated by another library, and a handle is for a block as a whole; "
         "copy it to memory from sycl_ext.ipc_empty");
  }
  handle_ = std::make_unique<Handle>();
  // The last step: who has a handle gives it back.
  handle_->value = sycl_call("getting an inter-process handle",
                             [&] { return ipc::get(memory_->data, memory_->row->sycl->context); });
}

IpcExport::~IpcExport() {
  try {
    ipc::put(*handle_->value, memory_->row->sycl->context);
  } catch (...) {  // the handle goes with the block, then
  }
}

std::string IpcExport::bytes() const {
  const ipc::handle_data_t data = handle_->value->data();
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

Memory open_ipc(const Row& row, const std::string& handle, std::size_t nbytes) {
  require_ipc(row);
  const auto* const bytes = reinterpret_cast<const std::byte*>(handle.data());
  const sycl::context& context = row.sycl->context;
  auto opened = std::make_unique<Opened>(Opened{nullptr, context});
  void* const pointer = sycl_call("opening an inter-process handle", [&] {
    return ipc::open(ipc::handle_data_t(bytes, bytes + handle.size()), context, row.sycl->device);
  });
  opened->pointer = pointer;
  Owner owner(opened.release(), close_ipc);
  auto* const data = static_cast<std::byte*>(pointer);
  UsmKind kind;
  const Row& where = locate_usm("the inter-process handle", data, nbytes, row, &kind);
  return borrow(data, nbytes, kind, &where, {}, std::move(owner));
}

}  // namespace sycl_ext
