// USM: allocations, and how a queued command reaches the bytes behind a pointer.
// Knows contexts.
//
// Device memory is mapped twice. The address that the program is given is PROT_NONE: a host that
// touches it dies, as on a discrete GPU. Commands go through the second mapping.
#pragma once

#include <memory>
#include <vector>

#include "context.hpp"

namespace fakegpu {

struct Allocation {
  Allocation() = default;
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation();  // unmaps

  Ref<ur_context_handle_t_> context;
  ur_device_handle_t device = nullptr;  // null: host memory
  ur_usm_type_t type = UR_USM_TYPE_UNKNOWN;
  size_t nbytes = 0;         // as asked for
  size_t mapped_nbytes = 0;  // whole pages
  char* address = nullptr;   // what the program sees
  char* bytes = nullptr;     // what commands read and write; the same but for device memory
  int file = -1;             // what device memory is a mapping of
  bool opened = false;       // by a handle: the memory of another process
  std::vector<std::shared_ptr<void>> handles;  // that were not put; they go with the memory
  std::atomic<bool> freed{false};
};

// Where a pointer leads: found when the command is enqueued, opened when it is carried out.
class Place {
 public:
  explicit Place(const void* pointer);

  // Whether that many bytes from the pointer on are inside its allocation; a pointer that is not
  // USM is the caller's affair.
  bool holds(size_t nbytes) const { return nbytes <= room_; }

  // The GPU in whose device memory it lies, or null.
  ur_device_handle_t gpu() const { return gpu_; }

 private:
  friend class Access;
  std::weak_ptr<Allocation> allocation_;
  bool is_usm_ = false;
  char* bytes_ = nullptr;
  size_t room_;
  ur_device_handle_t gpu_ = nullptr;
};

// Opens a place while a command runs. Memory that was freed between the enqueuing and the end of
// the command ends the process with a message: on a GPU this would be silent corruption.
class Access {
 public:
  explicit Access(const Place& place);
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
  ~Access();

  char* bytes() const { return bytes_; }

 private:
  std::shared_ptr<Allocation> allocation_;
  char* bytes_;
};

}  // namespace fakegpu
