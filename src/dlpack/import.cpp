// SPDX-License-Identifier: Apache-2.0
#include "dlpack/import.hpp"

#include <type_traits>

#include "base/error.hpp"
#include "dlpack/export.hpp"
#include "runtime/devices/dl_device.hpp"

namespace sycl_ext {

namespace {

std::string device_text(DLDevice device) {
  return "(" + std::to_string(static_cast<int>(device.device_type)) + ", " +
         std::to_string(device.device_id) + ")";
}

Layout layout_of(const DLTensor& dl, std::size_t itemsize) {
  try {
    return read_layout(dl.ndim, dl.shape, Order::c, itemsize, dl.strides);
  } catch (const Error& error) {
    fail(Error::Kind::buffer, "the producer's array is invalid: ", error.what());
  }
}

// Whether two devices are the same, or are both names of the host.  JAX announces (1, 0) for memory
// of its device (1, 1), and torch announces pinned memory whose capsule says (1, 0).
bool are_one_place(DLDevice a, DLDevice b) {
  if (a.device_type == b.device_type && a.device_id == b.device_id) return true;
  const auto names_host = [](DLDevice device) {
    const NamedDevice named = resolve(device);
    return named.is_host || named.may_be_host;
  };
  return names_host(a) && names_host(b);
}

[[noreturn]] void refuse(DLDevice device, const NamedDevice& named) {
  if (named.may_be_host) {
    fail(Error::Kind::buffer, "the producer's array is on device ", device_text(device),
         ", which means pinned or managed memory, but the host cannot read its address; ask the "
         "producer for a host copy");
  }
  if (static_cast<int>(device.device_type) == kDLOneAPI) {
    fail(Error::Kind::buffer, "the producer's array is on device ", device_text(device),
         ", but this process has no such device (the device table has ", entry_count(),
         " entries); if the libraries number devices differently, check ONEAPI_DEVICE_SELECTOR and "
         "ZE_FLAT_DEVICE_HIERARCHY");
  }
  fail(Error::Kind::buffer, "the producer's array is on device ", device_text(device),
       "; sycl_ext supports only kDLCPU (1), kDLOneAPI (14), and the CUDA and ROCm devices that "
       "SYCL lists; ask the producer for a host copy");
}

// A view of an export of this package that a third party returned.
Tensor view_known(InUse* use, std::byte* data, const DType& dtype, Layout&& layout, DLDevice device,
                  const NamedDevice& named, bool readonly, const ImportOptions& options) {
  const Memory& memory = use->memory();
  const Entry* const entry = memory->entry;
  const bool is_its_label = entry && named.entry &&
                            (named.entry == entry || named.entry->id == entry->root_id) &&
                            named.kind.value_or(memory->kind) == memory->kind;
  if (named.is_host ? !host_accessible(memory->kind, entry) : !is_its_label) {
    fail(Error::Kind::buffer, "the producer's array is labelled device ", device_text(device),
         ", but its memory is not accessible there; ask the producer for a copy on that device");
  }
  if (!require_inside(Error::Kind::buffer, memory, data, layout, dtype.itemsize())) {
    data = memory->data;
  }
  const bool on_host = named.is_host && !(options.find_usm && entry);
  // A producer that works on the memory itself holds another export, or has the address.  The end
  // of one that labels the memory as the host's cannot be observed.
  if (!on_host && named.is_host && (options.expected || options.queue)) memory->expose();
  const bool has_queue = on_host || !entry || !options.queue || *options.queue == memory->queue();
  if (options.is_untouched) use->give_back_unused();
  Tensor view{memory, data, &dtype, std::move(layout), readonly, on_host};
  if (!has_queue) view = on_queue(view, *options.queue, keep_memory(view.memory));
  // A host copy that this package made is imported like any other host memory.
  if (on_host && options.host_reader) view = relabel(view, *options.host_reader, UsmKind::system);
  return view;
}

}  // namespace

template <class Managed>
Imported import_managed(Managed* managed, ImportOptions options) {
  constexpr bool versioned = std::is_same_v<Managed, DLManagedTensorVersioned>;
  // A struct without a deleter may go at any time after this call, and is not read again.
  Owner owner(managed->deleter ? managed : nullptr, call_deleter<Managed>);
  bool readonly = false, copied = false;
  if constexpr (versioned) {
    // With another major version, nothing but the deleter may be touched.
    if (managed->version.major != dlpack_version.major) {
      fail(Error::Kind::buffer, "the producer's capsule has DLPack version ",
           managed->version.major, ".", managed->version.minor, ", but sycl_ext supports version ",
           dlpack_version.major, ".x; request the capsule with max_version=(1, 0)");
    }
    static_assert(dlpack_version.minor == 3,
                  "read each flag of the newer version here, write it in export.cpp, and add it to "
                  "structs.py and must_producer.py of the conformance kit");
    readonly = (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
    copied = (managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0;
    if (managed->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) {
      fail(Error::Kind::buffer,
           "the producer's array has a padded sub-byte dtype, which is not supported; convert it "
           "in the producer's library to a whole-byte dtype, such as int8");
    }
  }
  const DLTensor& dl = managed->dl_tensor;
  const DLDevice* const expected = options.expected;
  if (expected && !are_one_place(dl.device, *expected)) {
    fail(Error::Kind::buffer, "the producer's capsule is on device ", device_text(dl.device),
         ", but ", device_text(*expected), " was announced or requested");
  }
  const DType& dtype = dtype_from_dlpack(dl.dtype);
  Layout layout = layout_of(dl, dtype.itemsize());
  auto first = reinterpret_cast<std::uintptr_t>(dl.data);
  if (first && __builtin_add_overflow(first, dl.byte_offset, &first)) {
    fail(Error::Kind::buffer, "the producer's byte_offset ", dl.byte_offset,
         " exceeds the address space");
  }
  auto* const data = reinterpret_cast<std::byte*>(first);
  NamedDevice named = resolve(dl.device);
  if (named.may_be_host && !named.entry) {
    const ByteRange range = byte_range(data, layout, dtype.itemsize());
    named.is_host = host_reads(range.begin, range.nbytes);
  }
  if (!named.is_host && !named.entry) refuse(dl.device, named);
  const Entry* home = named.entry;
  if (home && options.queue) {
    // The tensor gets the producer's queue if that belongs to the announced entry, or to a
    // sub-device of it in the default context.
    const Entry& queue_entry = entry_of(*options.queue);
    if (&queue_entry == home ||
        (queue_entry.default_context && home->default_context && queue_entry.reaches(*home))) {
      home = &queue_entry;
    } else {
      options.queue->wait();
      options.queue = nullptr;
    }
  } else if (home && options.expected) {
    home->queue();  // reads wait for it
  }
  if (InUse* const use = own_export(managed)) {
    Tensor view =
        view_known(use, data, dtype, std::move(layout), dl.device, named, readonly, options);
    return {std::move(view), copied, std::move(owner)};
  }
  if (named.is_host) {
    return {borrow_host(data, dtype, std::move(layout), readonly, std::move(owner),
                        options.find_usm, options.host_reader),
            copied};
  }
  return {borrow_usm(data, dtype, std::move(layout), *home, readonly, std::move(owner),
                     options.queue ? *options.queue : Queue()),
          copied};
}

template Imported import_managed(DLManagedTensor*, ImportOptions);
template Imported import_managed(DLManagedTensorVersioned*, ImportOptions);

}  // namespace sycl_ext
