// SPDX-License-Identifier: Apache-2.0
// Which private contexts are in use.
//
// The device table keeps every context for ever, with its entries.  A context that nobody else
// keeps holds no memory that somebody could hand to us: USM is valid as long as its context is, so
// whoever has allocated memory there keeps the context, or a queue, which keeps it (SYCL 2020,
// 4.8.3); and the blocks that we hold in it, our own and borrowed ones, are counted here.  Such a
// context is not asked whose a pointer is, and the memory kept for its next allocations is freed.
// (Memory whose allocator let the context go all the same counts as plain host memory.)
//
// Nothing ends with that: whoever still has the entry gets hold of the context through it, and from
// then on the context is in use again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace sycl_ext {

struct EntryHandles;  // sycl_handles.hpp

// A device table entry of a private context.
class ContextEntry {
 public:
  // How many references to the context the table keeps because of this entry; nullopt: somebody
  // else has the entry's queue, which keeps the context.
  virtual std::optional<long> own_references() const noexcept = 0;

  const ContextEntry* previous_in_context = nullptr;  // the entry made before, of the same context

 protected:
  ContextEntry() = default;
  ~ContextEntry() = default;
};

// Shared by the entries of one private context; as immortal as they are.
class ContextUse {
 public:
  explicit ContextUse(std::shared_ptr<const EntryHandles> handles) : handles_(std::move(handles)) {}
  ContextUse(const ContextUse&) = delete;
  ContextUse& operator=(const ContextUse&) = delete;

  // Makes room for one context more, before it is made: is_held() needs no memory then.
  static void reserve();
  // The entry is in the table, with the references of both to the context.  No two may come at
  // once.
  void add_entry(const ContextEntry& entry) noexcept;

  // To be called after somebody got a reference to the context or to a queue of it.
  void is_held() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!is_in_use_.load(std::memory_order_seq_cst)) list();
  }
  // Somebody has the address of the context that the table keeps, and may use it without a
  // reference of their own, at any time.
  void address_is_known() noexcept {
    address_is_known_ = true;
    is_held();
  }
  // A block of the context that we hold.
  void block_begins() noexcept {
    blocks_.fetch_add(1, std::memory_order_seq_cst);
    is_held();
  }
  void block_ends() noexcept { blocks_.fetch_sub(1, std::memory_order_release); }

  const ContextEntry* last_entry() const noexcept {
    return entries_.load(std::memory_order_acquire);
  }
  bool is_in_use() const noexcept { return is_in_use_.load(std::memory_order_acquire); }

 private:
  friend struct ContextList;
  bool has_users() const noexcept;
  void list() noexcept;

  const std::shared_ptr<const EntryHandles> handles_;
  std::atomic<const ContextEntry*> entries_{nullptr};  // the last one; each knows the one before it
  const ContextEntry* first_ = nullptr;
  std::atomic<long> blocks_{0};
  std::atomic<bool> address_is_known_{false}, is_in_use_{false};
};

// How many private contexts are in use, or were when that was last looked at.
std::size_t private_contexts_in_use() noexcept;

struct PrivateContexts {
  std::vector<const ContextEntry*> in_use;  // the first entry of each
  // Every entry of those that were in use and are not any more.
  std::vector<const ContextEntry*> dropped;
  std::uint32_t end;  // what comes into use later has this number, or a greater one
};
// Looks at those that came into use with the number `first` or later.
PrivateContexts look_at_private_contexts(std::uint32_t first);

// Whether there are twice as many as were left when all were last looked at.
bool many_contexts_may_be_dropped() noexcept;

}  // namespace sycl_ext
