// USM: blocks of memory, how a command reaches their bytes, and frees that come too early.
//
// Device memory is mapped twice. The address that the program is given is PROT_NONE: a host that
// touches it dies, as on a discrete GPU. Commands go through the second mapping.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "device.hpp"

namespace stand_in {

struct Block {
  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();  // unmaps

  char* base = nullptr;   // the pointer for the program
  char* bytes = nullptr;  // what commands read and write
  std::size_t size = 0;
  std::size_t mapped = 0;  // whole pages; 0: memory of the program's, imported
  ze_memory_type_t type = ZE_MEMORY_TYPE_UNKNOWN;
  Device* device = nullptr;
  int file = -1;
  std::uint64_t id = 0;
  bool is_virtual = false;       // a mapping in a reservation, which stays
  bool opened = false;           // by a handle: the memory of another process
  std::atomic<int> commands{0};  // not done yet, which use it
};

// The bytes that a command uses, from its submission until it is done.
class Place {
 public:
  Place(const void* pointer, std::size_t nbytes);

  char* bytes() const { return bytes_; }

 private:
  std::shared_ptr<void> use_;  // counts in Block::commands
  char* bytes_;
};

class Memory {
 public:
  ze_result_t allocate(ze_memory_type_t type, Device* device, std::size_t size, std::size_t align,
                       bool above_limits, void** out);
  // Maps what another block, perhaps of another process, is a mapping of; takes the file.
  ze_result_t open(Device* device, int file, std::size_t size, void** out);
  ze_result_t free(const void* pointer);
  // Notes a mapping of virtual memory: what commands read and write is at `bytes`.
  void place(const void* pointer, std::size_t size, Device* device, char* bytes);
  // Makes memory of the program's known, as `type`.
  ze_result_t import(void* pointer, std::size_t size,
                     ze_memory_type_t type = ZE_MEMORY_TYPE_HOST_IMPORTED);
  ze_result_t release(void* pointer);

  // The block around a pointer, or null.
  std::shared_ptr<Block> around(const void* pointer);

  long blocks();        // alive, imported memory not counted
  long imported();      // memory of the program's
  long opened();        // of these, memory of other processes
  long device_bytes();  // of all cards, opened memory not counted
  std::size_t used_on(int card);

 private:
  std::shared_ptr<Block> find(const void* pointer);  // the caller holds the lock
  ze_result_t map(std::shared_ptr<Block> block, std::size_t align, void** out);

  std::mutex mutex_;
  std::map<const char*, std::shared_ptr<Block>> blocks_;  // by their first byte
  std::map<int, std::size_t> used_;                       // bytes of each card
  std::map<std::size_t, char*> freed_;                    // the last of each size
  std::uint64_t next_id_ = 1;
};

Memory& memory();

}  // namespace stand_in
