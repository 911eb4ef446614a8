// SPDX-License-Identifier: Apache-2.0
// Host memory that exists, made known to the drivers ("pinned"): they copy from it and to it by
// DMA, where other host memory goes through a block of host USM.  It does not become USM: kernels
// and get_pointer_type() know nothing of it.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/usm.hpp"

namespace sycl_ext {

// One range that drivers know.  Keeps the memory; the last handle to go tells the drivers, at once:
// copies that are going on have handles of their own.
class RegisteredMemory {
 public:
  RegisteredMemory(Memory memory, const std::byte* data, std::size_t nbytes);
  ~RegisteredMemory();
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;

  // Whether the driver of the entry knows it.
  bool is_known_to(const Entry& entry) const noexcept;
  bool contains(const std::byte* first, std::size_t size) const noexcept {
    return first >= data && size <= nbytes && first - data <= static_cast<long>(nbytes - size);
  }

  const std::byte* const data;
  const std::size_t nbytes;
  // The users with a handle, without copies.
  mutable std::atomic<int> users{0};

 private:
  Memory memory_;
  std::vector<const Entry*> known_, imported_;  // a root device of each driver; by us
};
using Registration = std::shared_ptr<const RegisteredMemory>;

// Makes the bytes known to the driver of every default context that can.  A range within one that
// is registered shares that one.  Error(buffer): it overlaps one in another way.  A driver that
// cannot, or does not, is left out.
Registration register_host(Memory memory, const std::byte* data, std::size_t nbytes);

// Drops a handle whose user has gone.  Waits for the copies that are going on, when it was the last
// user, and until the drivers have forgotten the memory; Ctrl-C leaves that to those copies.
void forget(Registration registration);

// The registration of all these bytes with the driver of the entry; nullptr: there is none.
Registration registration_of(const Entry& entry, const std::byte* data, std::size_t nbytes);

}  // namespace sycl_ext
