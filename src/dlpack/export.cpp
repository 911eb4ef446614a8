// SPDX-License-Identifier: Apache-2.0
#include "dlpack/export.hpp"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "base/error.hpp"

namespace sycl_ext {

namespace {

// A field of the version that is announced has to be written here, and read in import.cpp.
static_assert(dlpack_version.minor < DLPACK_MINOR_VERSION ||
              sizeof(DLManagedTensorVersioned) == 80);

std::atomic<long> exports{0};

// Header, owner, shape and strides in one block.
template <class Managed>
struct Block {
  Managed managed;
  const std::shared_ptr<ExportMark> mark;
  InUse use;
  std::int64_t dims[1];  // shape, then strides

  Block(const Memory& memory, bool submits, std::shared_ptr<ExportMark> mark) noexcept
      : mark(std::move(mark)), use(memory, submits) {}
  ~Block() {
    if (mark) mark->has_ended = true;
  }
};

// Frees a managed tensor whose export failed before a consumer got it.
struct DropUnused {
  template <class Managed>
  void operator()(Block<Managed>* block) const noexcept {
    block->use.give_back_unused();
    block->~Block();
    std::free(block);
  }
};

template <class Managed>
void delete_managed(Managed* self) {
  auto* block = static_cast<Block<Managed>*>(self->manager_ctx);
  block->~Block();
  std::free(block);
  exports.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

// Writes each field into its place.  A struct that is built elsewhere and copied would be slower:
// the processor would wait for its own narrow stores.
void write_dl_tensor(const Tensor& tensor, DLDevice device, DLTensor* out) noexcept {
  // A consumer may test for NULL to find an empty array, and some consumers refuse any other
  // address.
  out->data = tensor.size() == 0 ? nullptr : tensor.data;
  out->device = device;
  out->ndim = tensor.layout.ndim();
  out->dtype = tensor.dtype->dl();
  out->shape = const_cast<std::int64_t*>(tensor.layout.shape());
  out->strides = const_cast<std::int64_t*>(tensor.layout.strides());
  out->byte_offset = 0;  // several consumers ignore it
}

template <class Managed>
Managed* export_managed(const Tensor& tensor, ExportOptions options) {
  constexpr bool versioned = std::is_same_v<Managed, DLManagedTensorVersioned>;
  if (!versioned && tensor.readonly) {
    fail(Error::Kind::buffer,
         "cannot export a read-only tensor as DLPack 0.x (max_version=None), which has no "
         "read-only flag; pass max_version=(1, 0) or copy=True");
  }
  const bool submits = static_cast<int>(options.device.device_type) != kDLCPU;
  if (submits) {
    tensor.memory->fetch_queues();
  } else {
    tensor.memory->note_host_view();
  }
  if (submits && static_cast<int>(options.device.device_type) != kDLOneAPI) {
    tensor.memory->use.lose_track();  // the consumer works on streams of CUDA or HIP
  }
  const int ndim = tensor.layout.ndim();
  const auto dims_bytes = 2 * sizeof(std::int64_t) * static_cast<std::size_t>(ndim);
  void* const raw = std::malloc(sizeof(Block<Managed>) + dims_bytes);
  if (!raw) fail(Error::Kind::memory, "cannot allocate a DLPack managed tensor");
  std::unique_ptr<Block<Managed>, DropUnused> block(
      new (raw) Block<Managed>(tensor.memory, submits, std::move(options.mark)));
  if (submits && options.queue) tensor.memory->name_queue(*options.queue);
  const std::int64_t* const dims = tensor.layout.shape();  // the strides follow
  for (int i = 0; i < 2 * ndim; ++i) block->dims[i] = dims[i];

  Managed& managed = block->managed;
  write_dl_tensor(tensor, options.device, &managed.dl_tensor);
  if (!options.null_data) managed.dl_tensor.data = tensor.data;
  managed.dl_tensor.shape = block->dims;
  managed.dl_tensor.strides = block->dims + ndim;
  managed.manager_ctx = block.get();
  managed.deleter = delete_managed<Managed>;
  if constexpr (versioned) {
    managed.version = dlpack_version;
    managed.flags = (tensor.readonly ? DLPACK_FLAG_BITMASK_READ_ONLY : 0) |
                    (options.copied ? DLPACK_FLAG_BITMASK_IS_COPIED : 0);
  }
  exports.fetch_add(1, std::memory_order_relaxed);
  return &block.release()->managed;
}

template <class Managed>
InUse* own_export(const Managed* managed) noexcept {
  if (managed->deleter != delete_managed<Managed>) return nullptr;
  return &static_cast<Block<Managed>*>(managed->manager_ctx)->use;
}

template InUse* own_export(const DLManagedTensor*) noexcept;
template InUse* own_export(const DLManagedTensorVersioned*) noexcept;

template DLManagedTensor* export_managed(const Tensor&, ExportOptions);
template DLManagedTensorVersioned* export_managed(const Tensor&, ExportOptions);

long live_exports() noexcept { return exports; }

}  // namespace sycl_ext
