// SPDX-License-Identifier: Apache-2.0
// Registers existing host memory with the drivers ("pins" it), so that they copy from it and to it
// by DMA.  Other host memory is copied through a block of host USM.  Registered memory does not
// become USM: get_pointer_type() does not recognise it, and kernels read it only on devices that
// read all host memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/memory/usm.hpp"

namespace sycl_ext {

// A range of memory that is registered with drivers.  It owns a reference to the memory.  The
// destructor of the last handle removes the registration at once.  Each pending copy has a handle
// of each range that it reads or writes, so that close() waits for the copy.
class RegisteredMemory : public std::enable_shared_from_this<RegisteredMemory> {
 public:
  RegisteredMemory(const Memory& memory, const std::byte* data, std::size_t nbytes)
      : data(data), nbytes(nbytes), memory_(memory) {}
  ~RegisteredMemory();

  // Whether the range is registered with the driver of the entry.
  bool is_known_to(const Entry& entry) const noexcept;
  bool contains(const std::byte* first, std::size_t size) const noexcept {
    return first >= data && size <= nbytes && first - data <= static_cast<long>(nbytes - size);
  }

  bool overlaps(const std::byte* first, std::size_t size) const noexcept {
    return first < data + nbytes && data < first + size;
  }

  const std::byte* const data;
  const std::size_t nbytes;
  // The number of handles of users; those of copies are not counted.
  mutable std::atomic<int> users{0};

 private:
  friend std::shared_ptr<const RegisteredMemory> register_host(const Memory& memory,
                                                               const std::byte* data,
                                                               std::size_t nbytes);
  void release() noexcept;  // the caller holds the lock of all ranges

  std::optional<MemoryKeeper> memory_;
  struct Known {
    const Entry* root;  // a root device of the driver
    bool is_ours;       // this object registered the range; false: a third party did
  };
  std::vector<Known> known_;  // the drivers that know the range
};
using Registration = std::shared_ptr<const RegisteredMemory>;

// Registers the bytes with the driver of every default context.  Drivers that cannot register host
// memory are skipped.  A range inside a registered one shares that registration.  Error(buffer):
// the range overlaps a registered one without lying inside it.
Registration register_host(const Memory& memory, const std::byte* data, std::size_t nbytes);

// A registration as its user holds it; the destructor closes it.
class HostRegistration {
 public:
  HostRegistration(const Memory& memory, const std::byte* data, std::size_t nbytes)
      : held_(register_host(memory, data, nbytes)) {
    ++held_->users;
  }
  ~HostRegistration() { close(/*wait=*/false); }
  HostRegistration(const HostRegistration&) = delete;
  bool is_closed() const noexcept { return !held_; }
  bool is_known_to(const Entry& entry) const { return held_ && held_->is_known_to(entry); }
  // `wait`: the last user waits for pending copies, then the registration is removed.  Without it,
  // if Ctrl-C ends the wait, and in a deleter that the background thread runs, the last pending
  // copy removes the registration.
  void close(bool wait);

 private:
  Registration held_;
};

// The ranges that contain any of these bytes, whether a driver knows them or not.
std::vector<Registration> registrations_of(const std::byte* data, std::size_t nbytes);

}  // namespace sycl_ext
