// SPDX-License-Identifier: Apache-2.0
#include "runtime/usm_pointers.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <new>
#include <optional>
#include <utility>

#include "base/extents.hpp"
#include "runtime/level_zero.hpp"
#include "runtime/sycl_handles.hpp"
#include "runtime/usm_pools.hpp"
#include "runtime/virtual_memory.hpp"

namespace sycl_ext {

namespace {

constexpr std::array<std::pair<sycl::usm::alloc, UsmKind>, 3> kinds{{
    {sycl::usm::alloc::device, UsmKind::device},
    {sycl::usm::alloc::shared, UsmKind::shared},
    {sycl::usm::alloc::host, UsmKind::host},
}};

// Which entry a pointer belonged to when it was last met, so that asking again does not ask every
// context.  Only a hint: a block may be freed, and its address be given to another one.
class SeenPointers {
 public:
  std::optional<std::uint32_t> find(const void* pointer) const noexcept {
    const auto [index, tag] = place_of(pointer);
    const std::uint64_t packed = lines_[index].load(std::memory_order_relaxed);
    if (packed == 0 || packed >> value_bits != tag) return std::nullopt;
    return static_cast<std::uint32_t>(packed & value_mask) - 1;
  }

  void put(const void* pointer, std::uint32_t value) noexcept {
    if (value >= value_mask) return;
    const auto [index, tag] = place_of(pointer);
    const std::uint64_t packed = tag << value_bits | (value + 1);
    if (lines_[index].load(std::memory_order_relaxed) != packed) {
      lines_[index].store(packed, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr int line_bits = 51;  // 57 bits of address, 64 bytes in a line
  static constexpr int index_bits = 12;
  static constexpr int value_bits = 64 - (line_bits - index_bits);
  static constexpr std::uint64_t value_mask = (std::uint64_t{1} << value_bits) - 1;

  struct Place {
    std::size_t index;
    std::uint64_t tag;
  };
  // An odd factor permutes the numbers of 51 bits, so index and tag together name one line.
  static Place place_of(const void* pointer) noexcept {
    const std::uint64_t line = reinterpret_cast<std::uintptr_t>(pointer) >> 6;
    const std::uint64_t mixed = line * 0x9E3779B97F4A7C15u & ((std::uint64_t{1} << line_bits) - 1);
    constexpr int tag_bits = line_bits - index_bits;
    return {static_cast<std::size_t>(mixed >> tag_bits),
            mixed & ((std::uint64_t{1} << tag_bits) - 1)};
  }

  std::array<std::atomic<std::uint64_t>, std::size_t{1} << index_bits> lines_{};
};

SeenPointers& seen() noexcept {
  static SeenPointers instance;  // trivially destroyed: good until the process ends
  return instance;
}

// Values from here on say: not USM of the default contexts, and of no private one that came into
// use with a number less than (value - nobodys).
constexpr std::uint32_t nobodys = 1u << 24;
constexpr std::size_t always_asked = 8;  // private contexts; more than these are asked once

// Blocks of private contexts that are alive; never destroyed.
Extents<const Entry>& private_blocks = *new Extents<const Entry>;

const Entry& owning_entry(const void* pointer, const Entry& entry, UsmKind kind) {
  return kind == UsmKind::host ? entry : allocating_entry(pointer, entry);
}

}  // namespace

// A pointer that every context of the driver knows belongs to none of them for sure.
void remember(const void* pointer, const Entry& entry) noexcept {
  if (!entry.driver_wide) seen().put(pointer, static_cast<std::uint32_t>(entry.id));
}

PrivateBlock::PrivateBlock(const void* data, std::size_t nbytes, const Entry* entry)
    : data_(data),
      nbytes_(nbytes),
      entry_(entry && !entry->default_context && nbytes > 0 ? entry : nullptr) {
  if (entry_) private_blocks.add(data_, nbytes_, entry_);
}

PrivateBlock::~PrivateBlock() {
  if (entry_) private_blocks.remove(data_, nbytes_, entry_);
}

bool classify(const void* pointer, const Entry& entry, UsmKind* kind) noexcept {
  // A device without USM makes the runtime throw here, at some cost.
  if (!entry.usm_device && !entry.usm_shared && !entry.usm_host) return false;
  try {
    const sycl::usm::alloc found = sycl::get_pointer_type(pointer, entry.sycl->context);
    for (const auto& [sycl_kind, our_kind] : kinds) {
      if (sycl_kind == found) {
        *kind = our_kind;
        remember(pointer, entry);
        return true;
      }
    }
  } catch (...) {  // the runtime does not know: the same as "no"
  }
  return false;
}

const Entry* find_owner(const void* pointer, UsmKind* kind, Search search) {
  const std::size_t defaults = default_context_count();  // raises: there is no table to be had
  try {
    const Entry* const ours = private_blocks.find(pointer);
    if (ours && classify(pointer, *ours, kind)) return &owning_entry(pointer, *ours, *kind);
    const std::optional<std::uint32_t> hint = seen().find(pointer);
    const Entry* const last =
        hint && *hint < nobodys ? find_entry(static_cast<int>(*hint)) : nullptr;
    const bool may_be_last = last && (!last->use || last->use->is_in_use());
    if (may_be_last && classify(pointer, *last, kind)) return &owning_entry(pointer, *last, *kind);
    for (std::size_t number = 0; number < defaults; ++number) {
      const Entry& entry = first_entry_of_default_context(number);
      if (classify(pointer, entry, kind)) return &owning_entry(pointer, entry, *kind);
    }
    const bool quick = search == Search::quick && private_contexts_in_use() > always_asked;
    const std::uint32_t asked = quick && hint && *hint >= nobodys ? *hint - nobodys : 0;
    const PrivateContexts others = look_at_private_contexts(asked);
    drain_pools_later(others.dropped);
    for (const ContextEntry* one : others.in_use) {
      const Entry& entry = static_cast<const Entry&>(*one);
      if (entry.driver_wide || !classify(pointer, entry, kind)) continue;
      return &owning_entry(pointer, entry, *kind);
    }
    seen().put(pointer, nobodys + others.end);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {  // nobody that we could name
  }
  return nullptr;
}

std::string describe_owner(const void* pointer) {
  UsmKind kind;
  const Entry* const entry = find_owner(pointer, &kind, Search::thorough);
  if (!entry) return "it is plain host memory, or USM of a context that is not registered";
  const char* const context = entry->default_context ? "default" : "private";
  return std::string("it is '") + usm_kind_name(kind) + "' USM of the " + context +
         " context of device (14, " + std::to_string(entry->id) + ")";
}

namespace {

sycl::device device_of(const void* pointer, const sycl::context& context) {
  try {
    return sycl::get_pointer_device(pointer, context);
  } catch (const sycl::exception&) {
    meet_unlisted_devices();
    return sycl::get_pointer_device(pointer, context);
  }
}

}  // namespace

// The entry of virtual memory that was found in the context of another one.
const Entry& owner_of_mapped(const void* pointer, const Entry& entry) {
  const Entry* const owner = entry.single_device ? &entry : device_of_memory(entry, pointer);
  return owner ? *owner : entry;
}

const Entry& allocating_entry(const void* pointer, const Entry& entry) {
  if (entry.single_device) return entry;
  return sycl_call("asking for the device of a pointer", [&]() -> const Entry& {
    const sycl::device device = device_of(pointer, entry.sycl->context);
    return device == entry.sycl->device ? entry : entry_of(&device, &entry.sycl->context);
  });
}

const Entry& entry_in_context(const void* pointer, const void* context) {
  const auto& handle = *static_cast<const sycl::context*>(context);
  const sycl::device device = [&] {
    const auto devices =
        sycl_call("asking for the devices of a context", [&] { return handle.get_devices(); });
    if (devices.size() == 1 || !pointer) return devices.front();
    try {
      return device_of(pointer, handle);
    } catch (const sycl::exception& error) {
      for (const sycl::device& one : devices) entry_of(&one, context);
      const Entry& entry = entry_of(&devices.front(), context);
      const auto* const byte = static_cast<const std::byte*>(pointer);
      if (mapped(entry, byte, 1) != Mapped::none) return owner_of_mapped(byte, entry).sycl->device;
      fail(Error::Kind::buffer, "the pointer ", pointer,
           " is not USM of the context that came with it (", error.what(), "); ",
           describe_owner(pointer), "; pass the context or queue that it was allocated with");
    }
  }();
  return entry_of(&device, context);
}

const Entry& locate_usm(const char* what, const std::byte* first, std::size_t nbytes,
                        const Entry& entry, UsmKind* kind) {
  *kind = UsmKind::device;
  if (nbytes == 0) return entry;
  const std::byte* const last = first + nbytes - 1;
  const char* const context = entry.default_context ? "default" : "private";
  const bool is_usm = classify(first, entry, kind);
  const Mapped is_mapped = is_usm ? Mapped::none : mapped(entry, first, nbytes);
  if (is_mapped == Mapped::partly) {
    fail(Error::Kind::buffer, what, " has ", nbytes, " bytes at ", static_cast<const void*>(first),
         ", in virtual memory of device (14, ", entry.id,
         "), and not all of them are mapped to memory and accessible; map them "
         "(physical_mem::map) before they are handed over");
  }
  if (!is_usm && is_mapped == Mapped::none) {
    fail(Error::Kind::buffer, what, " points to ", static_cast<const void*>(first),
         ", which is not USM of the ", context, " context of device (14, ", entry.id, ") ('",
         entry.name, "'): ", describe_owner(first),
         "; memory of another context comes with its queue or context "
         "(__sycl_usm_array_interface__, sycl_ext.as_tensor), or as the producer's own copy");
  }
  UsmKind last_kind;
  if (is_usm && (!classify(last, entry, &last_kind) || last_kind != *kind)) {
    fail(Error::Kind::buffer, what, " starts at ", static_cast<const void*>(first),
         " in USM, but its ", nbytes, " bytes end beyond that allocation");
  }
  if (*kind == UsmKind::host) return entry;
  if (!is_usm) *kind = UsmKind::device;
  const Entry& owner = is_usm ? allocating_entry(first, entry) : owner_of_mapped(first, entry);
  if (!entry.reaches(owner)) {
    fail(Error::Kind::buffer, what, " is said to be on device (14, ", entry.id,
         "), but its memory was allocated on device (14, ", owner.root_id, ")");
  }
  if (is_usm && &allocating_entry(last, entry) != &owner) {
    fail(Error::Kind::buffer, what, " starts and ends in memory of two devices");
  }
  // A root device's entry stands for all of it, and a composite device's for root devices: the
  // owner is more exact.  Any other entry came with a context that its memory is bound to.
  const bool stands_for_others = entry.kind == EntryKind::root || !entry.components.empty();
  return stands_for_others ? owner : entry;
}

}  // namespace sycl_ext
