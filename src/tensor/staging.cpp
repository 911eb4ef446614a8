// SPDX-License-Identifier: Apache-2.0
#include "tensor/staging.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.hpp"
#include "base/shared_work.hpp"
#include "runtime/devices/device_table.hpp"
#include "runtime/memory/pools.hpp"
#include "tensor/kernel_copy.hpp"

namespace sycl_ext {

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

// A block is large enough that the cost of its command is small, and a short copy still consists of
// several pieces.  Larger blocks, more threads of the host: measured on an H100, whose link is
// faster than eight threads (docs/develop/hardware_h100.md).
constexpr std::size_t largest_block = 4 * mebibyte, smallest_block = mebibyte;
constexpr int usual_threads = 8;
// With a third block the device has work even while the host is late, for example because it naps
// between two questions.  But a block that the pool does not keep costs more than its copy.
constexpr int usual_blocks = 3;
// The least that is worth the time of waking another thread.
constexpr std::size_t least_of_thread = mebibyte / 4;

struct Measured {
  std::atomic<std::size_t> block_bytes{0};
  std::atomic<int> blocks{0}, threads{0};
};
Measured measured;

// Copies on several threads.
void copy_together(const CopyLoops& loops, int threads) {
  const std::size_t nbytes = loops.nbytes();
  const auto wanted = std::min<std::size_t>(threads, nbytes / least_of_thread);
  if (wanted < 2) {
    copy_strided(loops);
    return;
  }
  std::vector<CopyLoops> pieces;
  for_each_piece(
      loops, &CopyAxis::to,
      [most = nbytes / wanted](const CopyLoops& piece) { return piece.nbytes() <= most; },
      [&pieces](const CopyLoops& piece) { pieces.push_back(piece); });
  share_work(threads, pieces.size(),
             [&pieces](std::size_t i) noexcept { copy_strided(pieces[i]); });
}

template <class Fits>
int count_pieces(const CopyLoops& loops, std::int64_t CopyAxis::* stride, const Fits& fits) {
  int pieces = 0;
  for_each_piece(loops, stride, fits, [&pieces](const CopyLoops&) { ++pieces; });
  return pieces;
}

}  // namespace

StagingPlan staging_plan(std::size_t nbytes) noexcept {
  if (const std::size_t block_bytes = measured.block_bytes) {
    return {block_bytes, measured.blocks, measured.threads};
  }
  const std::size_t quarter = (nbytes / 4 + 4095) / 4096 * 4096;
  const std::size_t block_bytes = std::clamp(quarter, smallest_block, largest_block);
  return {block_bytes, std::min(usual_blocks, static_cast<int>(host_usm_kept / block_bytes)),
          std::clamp(processors() / 2, 1, usual_threads)};
}

void set_staging_plan(const StagingPlan& plan) noexcept {
  measured.blocks = std::clamp(plan.blocks, 1, StagingPlan::most_blocks);
  measured.threads = std::clamp(plan.threads, 1, StagingPlan::most_threads);
  measured.block_bytes = plan.block_bytes;
}

bool copies_run_by_run(const CopyLoops& loops) noexcept {
  const std::size_t stores = runs_of(ThroughBlock(loops, nullptr).out);
  const std::size_t through_host =
      stores * command_bytes + source_span(loops).nbytes() + loops.nbytes();
  return runs_of(loops) * command_bytes <= through_host;
}

// The bytes on the device that a copy touches, with the gaps that it fetches.
static std::size_t touched_bytes(const CopyLoops& loops, bool with_gaps) noexcept {
  return with_gaps ? source_span(loops).nbytes() : loops.nbytes();
}

Staging::Staging(const Entry& entry, const CopyLoops& loops, bool to_host)
    : entry_(entry),
      queue_(entry.commands()),
      by_kernels_(has_usm(entry, UsmKind::host) && !loops.contiguous() &&
                  takes_kernels(loops, entry)),
      plan_(staging_plan(touched_bytes(loops, to_host && !by_kernels_))),
      size_(std::min(touched_bytes(loops, to_host && !by_kernels_), plan_.block_bytes)) {
  blocks_.reserve(plan_.blocks);
}

// Each block is kept while commands of the queue may touch it.
Staging::Block Staging::new_block() const {
  return {has_usm(entry_, UsmKind::host) ? allocate(entry_, UsmKind::host, size_)
                                         : allocate_host(size_, queue_)};
}

// All blocks are made before the first command: an exception of the callback of
// sycl_ext.memory.limit then leaves the target as it was.
void Staging::make_blocks(int pieces) {
  const int wanted = std::min(plan_.blocks, pieces);
  while (static_cast<int>(blocks_.size()) < wanted) {
    try {
      blocks_.push_back(new_block());
    } catch (const Error& error) {  // where memory is short, one does
      if (blocks_.empty() || error.kind() != Error::Kind::memory) throw;
      return;
    }
  }
}

Staging::Block& Staging::next() {
  Block& block = blocks_[turn_];
  turn_ = (turn_ + 1) % blocks_.size();
  end(block);
  return block;
}

void Staging::end(Block& block) const {
  wait_for_all(std::exchange(block.events, {}));
  if (block.fetched) copy_together(*block.fetched, plan_.threads);
  block.fetched.reset();
}

void Staging::finish() {
  for (std::size_t i = 0; i < blocks_.size(); ++i) end(blocks_[(turn_ + i) % blocks_.size()]);
  queue_.finish({});
}

// A whole span is fetched unless it is mostly gaps, because reading the gaps between elements is
// harmless.
bool Staging::fits_fetch(const CopyLoops& loops) const {
  if (by_kernels_) return loops.nbytes() <= size_;
  const std::size_t fetched = source_span(loops).nbytes();
  return fetched <= size_ && fetched <= loops.nbytes() + runs_of(loops) * command_bytes;
}

// Each run of the target is a separate command, because the gaps between runs are not ours.
bool Staging::fits_store(const CopyLoops& loops) const {
  return loops.nbytes() <= size_ &&
         (by_kernels_ || runs_of(ThroughBlock(loops, nullptr).out) <= most_runs);
}

// A piece may have other units than the whole, and so another module, which the compiler refuses
// only if memory is short: an error then.
void Staging::submit(const CopyLoops& piece, std::vector<Event>* events) const {
  if (!submit_elements(piece, entry_, events)) {
    fail(Error::Kind::runtime, "building kernels failed: ", reason_against_kernels(entry_));
  }
}

void Staging::fetch(const CopyLoops& loops) {
  const auto fits = [this](const CopyLoops& piece) { return fits_fetch(piece); };
  // Pieces of the target are long runs for the host; pieces of the source have few gaps.
  const auto side = by_kernels_ ? &CopyAxis::to : &CopyAxis::from;
  make_blocks(count_pieces(loops, side, fits));
  for_each_piece(loops, side, fits, [this](const CopyLoops& piece) {
    Block& block = next();
    if (by_kernels_) {
      const ThroughBlock copy(piece, block.memory->data);
      submit(copy.in, &block.events);
      block.fetched = copy.out;
      return;
    }
    const Extent span = source_span(piece);
    block.events = {queue_.submit_copy(block.memory->data, piece.from + span.begin, span.nbytes())};
    block.fetched = piece;
    block.fetched->from = block.memory->data - span.begin;
  });
  finish();
}

void Staging::store(const CopyLoops& loops) {
  const auto fits = [this](const CopyLoops& piece) { return fits_store(piece); };
  make_blocks(count_pieces(loops, &CopyAxis::to, fits));
  for_each_piece(loops, &CopyAxis::to, fits, [this](const CopyLoops& piece) {
    Block& block = next();
    const ThroughBlock copy(piece, block.memory->data);
    copy_together(copy.in, plan_.threads);
    if (by_kernels_) {
      submit(copy.out, &block.events);
      return;
    }
    const std::size_t run = copy.out.run();
    for_each(copy.out.axes.data(), copy.out.outer_ndim(), copy.out.to, copy.out.from,
             [&](std::byte* to, const std::byte* from) {
               block.events.push_back(queue_.submit_copy(to, from, run));
             });
  });
  finish();
}

}  // namespace sycl_ext
