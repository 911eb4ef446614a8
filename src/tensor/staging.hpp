// SPDX-License-Identifier: Apache-2.0
// Staging: blocks of host memory that a device copies to and from at full speed, between pageable
// memory and the device.
//
// The blocks are used in turn.  While the host works on one of them, the device fills or empties
// the others.  A device that takes kernels gathers the elements of a strided source into the block,
// and scatters those of a block, so that only elements cross the bus.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "runtime/memory/usm.hpp"
#include "tensor/pieces.hpp"

namespace sycl_ext {

// How a copy goes through staging.
struct StagingPlan {
  static constexpr int most_blocks = 8, most_threads = 8;

  std::size_t block_bytes;  // of each block
  int blocks;               // of which all but one are in the hands of the device
  int threads;              // that copy between a block and pageable memory
};

// The plan for a copy of so many bytes: the one place that chooses sizes.
StagingPlan staging_plan(std::size_t nbytes) noexcept;
// Makes this the plan of all copies from now on, to measure others; without bytes: none.
void set_staging_plan(const StagingPlan& plan) noexcept;

// One queue command costs about as much time as moving this many bytes.
inline constexpr std::size_t command_bytes = std::size_t{32} << 10;

// Whether a copy on devices that reach each other's memory is one command for each run, rather than
// a copy through the host.  That one crosses the link twice, with the gaps that it fetches, and
// needs a command for each run of the target.
bool copies_run_by_run(const CopyLoops& loops) noexcept;

class Staging {
 public:
  // Copies between the host and the device.  One object makes one copy.
  Staging(const Entry& entry, const CopyLoops& loops, bool to_host);

  // Device -> host: fetches each piece, or the span of it with its gaps, which is scattered while
  // later ones are fetched.
  void fetch(const CopyLoops& loops);
  // Host -> device: gathers each piece, and stores it while later ones are gathered.  Without
  // kernels each run of the target is a command; one wait covers all commands of a piece.
  void store(const CopyLoops& loops);

 private:
  struct Block {
    Memory memory;
    std::vector<Event> events = {};         // of all commands that use it
    std::optional<CopyLoops> fetched = {};  // what these commands fetch into it
  };
  Block new_block() const;
  void make_blocks(int pieces);
  // The block that is longest in the hands of the device, after its end.
  Block& next();
  // Waits for the commands of a block, and scatters the data that they fetched.
  void end(Block& block) const;
  void finish();
  void submit(const CopyLoops& piece, std::vector<Event>* events) const;
  bool fits_fetch(const CopyLoops& loops) const;
  bool fits_store(const CopyLoops& loops) const;

  const Entry& entry_;
  const Queue& queue_;
  // Whether the device copies elements; else it copies bytes.
  const bool by_kernels_;
  StagingPlan plan_;
  const std::size_t size_;  // of each block
  std::vector<Block> blocks_;
  std::size_t turn_ = 0;
};

}  // namespace sycl_ext
