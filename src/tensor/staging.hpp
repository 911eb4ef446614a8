// SPDX-License-Identifier: Apache-2.0
// Staging: blocks of host memory that a device copies to and from at full speed, between pageable
// memory and the device.
//
// The blocks are used in turn.  While the host works on one of them, the device fills or empties
// the others.
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

// A command for each of several runs is limited to so many runs at a time, because the event of a
// command is kept until the command is done.
inline constexpr std::size_t most_runs = 4096;

// Whether a copy on devices that reach each other's memory is one command for each run, rather than
// a copy through the host.  That one crosses the link twice, with the gaps that it fetches, and
// needs a command for each run of the target.
bool copies_run_by_run(const CopyLoops& loops) noexcept;

class Staging {
 public:
  // `nbytes`: of the memory on the device that the copy touches, with the gaps that it fetches.
  Staging(const Entry& entry, std::size_t nbytes);

  // Device -> host: fetches the span of each piece, which is scattered while later ones are
  // fetched.
  void fetch(const CopyLoops& loops);
  // Host -> device: gathers each piece, and stores it while later ones are gathered.  Each run of
  // the target is a command; one wait covers all commands of a piece.
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
  bool fits_fetch(const CopyLoops& loops) const;
  bool fits_store(const CopyLoops& loops) const;

  const Entry& entry_;
  const Queue& queue_;
  StagingPlan plan_;
  const std::size_t size_;  // of each block
  std::vector<Block> blocks_;
  std::size_t turn_ = 0;
};

}  // namespace sycl_ext
