// SPDX-License-Identifier: Apache-2.0
#include "tensor/copy.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <sstream>

#include "base/error.hpp"
#include "base/fork.hpp"
#include "base/host.hpp"
#include "runtime/devices/device_table.hpp"
#include "runtime/memory/host_registration.hpp"
#include "tensor/bug_opencl_copies.hpp"
#include "tensor/kernel_copy.hpp"
#include "tensor/staging.hpp"

namespace sycl_ext {

namespace {

// Up to this size, one command copies without staging.
constexpr std::size_t direct_bytes = std::size_t{256} << 10;

bool overlap(const Tensor& a, const Tensor& b) {
  const ByteRange x = byte_range(a), y = byte_range(b);
  return x.begin < y.begin + y.nbytes && y.begin < x.begin + x.nbytes;
}

// The layout of a compact copy.
Layout compact_layout_of(const Tensor& tensor, Order order = Order::c) {
  const Layout& layout = tensor.layout;
  return read_layout(layout.ndim(), layout.shape(), order, tensor.dtype->itemsize());
}

CopyLoops loops_of(const Tensor& to, const Tensor& from) {
  return make_loops(to.data, to.layout, from.data, from.layout, to.dtype->itemsize());
}

// What a command of a device may do with host memory.
enum class HostMemory : std::uint8_t {
  usm,         // any command takes it
  registered,  // a copy of bytes takes it
  pageable,    // a short copy of bytes takes it
  barred,      // none takes it
};

// Keeps blocks until the commands of the queues are over, unless `done()` was called.  `done()` is
// not called if an exception leaves (above all after Ctrl-C), or if the commands go on in the
// background.  Made with the GIL, as every keeper of memory.
class KeptWhileBusy {
 public:
  KeptWhileBusy(const Memory& a, const Memory& b) : kept_(new Kept(a, b)) {}
  ~KeptWhileBusy() {
    if (kept_) free_after_work(std::move(kept_));
  }
  // `queue` belongs to an entry, which keeps it for ever.
  void add(const Queue& queue) noexcept { kept_->queues.add(queue); }
  // The registered memory under a side.  The caller does not hold the GIL.
  void add_registered(const ByteRange& side) {
    for (Registration& range : registrations_of(side.begin, side.nbytes)) {
      kept_->registered.push_back(std::move(range));
    }
  }
  // What commands of the entry may do with such a side.  The driver knows registered memory as a
  // block, and a command must not cross the border of a block.
  HostMemory host_memory(const ByteRange& side, const Entry& entry) const noexcept {
    HostMemory memory = HostMemory::pageable;
    for (const Registration& range : kept_->registered) {
      if (!range->overlaps(side.begin, side.nbytes) || !range->is_known_to(entry)) continue;
      const bool is_whole = range->contains(side.begin, side.nbytes);
      memory = is_whole ? HostMemory::registered : HostMemory::barred;
    }
    return memory;
  }
  void done() noexcept { kept_.reset(); }

 private:
  struct Kept final : Deferred {
    Kept(const Memory& a, const Memory& b) noexcept : a(a), b(b) {}
    QueueSet awaited_queues() const noexcept override { return queues; }
    QueueSet queues;
    const MemoryKeeper a, b;
    std::vector<Registration> registered;
  };

  std::unique_ptr<Kept> kept_;
};

// Whether a device, and not the host, copies and fills the memory of a tensor.  It does so if the
// host cannot reach the memory, and with shared USM of a GPU, whose pages a copy by the host would
// move to the host.  On CUDA and HIP, which take no kernels of this package, the host copies shared
// USM.  A forked child cannot use a GPU.
bool is_devices(const Tensor& tensor) {
  if (!tensor.host_accessible()) return true;
  const Memory& memory = tensor.memory;
  return memory->kind == UsmKind::shared && memory->entry && memory->entry->takes_spirv &&
         !is_forked_child();
}

// By kernels that reach both sides.  False: the device takes none.
bool copy_by_kernels(const CopyLoops& loops, const Entry& entry) {
  std::vector<Event> events;
  if (!submit_elements(loops, entry, &events)) return false;
  entry.commands().finish(events);
  return true;
}

enum class HostSide : std::uint8_t { source, target };

// Between host and device.  One command is best for few bytes, or if the driver copies from and to
// the host memory directly.  A command that blocks in its submission is not used, because signals
// are not looked for meanwhile.
void copy_with_host(const CopyLoops& loops, const Entry& entry, HostSide host, HostMemory memory) {
  const bool to_host = host == HostSide::target;
  const bool is_short = loops.nbytes() <= direct_bytes && !entry.blocks_on_pageable;
  const bool is_direct = memory == HostMemory::usm || memory == HostMemory::registered ||
                         (memory == HostMemory::pageable && is_short);
  if (loops.contiguous() && is_direct) {
    entry.commands().copy(loops.to, loops.from, loops.nbytes());
    return;
  }
  if (memory == HostMemory::usm && copy_by_kernels(loops, entry)) return;
  if (to_host) {
    Staging(entry, loops, to_host).fetch(loops);
  } else {
    Staging(entry, loops, to_host).store(loops);
  }
}

// Device -> device, one command for each run.
void copy_runs(const CopyLoops& loops, const Queue& queue) {
  std::vector<Event> events;
  for_each(loops.axes.data(), loops.outer_ndim(), loops.to, loops.from,
           [&, run = loops.run()](std::byte* to, const std::byte* from) {
             if (events.size() == most_runs) wait_for_all(std::exchange(events, {}));
             events.push_back(queue.submit_copy(to, from, run));
           });
  queue.finish(events);
}

// Device -> device without the host.  False: the devices cannot, or the host is faster.
bool copy_directly(const CopyLoops& loops, const Entry& to, const Entry& from) {
  if (!copies_directly(from, to)) return false;
  if (copy_by_kernels(loops, to)) return true;
  if (!copies_run_by_run(loops)) return false;
  copy_runs(loops, to.commands());
  return true;
}

// Device -> device through the host, piece by piece.  If both devices copy to the blocks at full
// speed, a piece is stored while the next one is fetched.
void relay(const CopyLoops& loops, const Entry& to, const Entry& from) {
  const std::size_t most = std::min(staging_plan(loops.nbytes()).block_bytes, loops.nbytes());
  const bool is_pinned = same_context(to, from) && has_usm(from, UsmKind::host);
  const HostMemory host = is_pinned ? HostMemory::usm : HostMemory::pageable;
  const auto new_block = [&] {
    return is_pinned ? allocate(from, UsmKind::host, most) : allocate_host(most);
  };
  const Memory first = new_block(), second = loops.nbytes() > most ? new_block() : first;
  KeptWhileBusy kept(first, second);
  kept.add(from.commands());
  kept.add(to.commands());
  struct {
    std::byte* data;
    Event stored = {};
  } blocks[] = {{first->data}, {second->data}};
  int turn = 0;
  const auto fits = [most](const CopyLoops& piece) { return piece.nbytes() <= most; };
  for_each_piece(loops, &CopyAxis::to, fits, [&](const CopyLoops& piece) {
    turn = 1 - turn;
    auto& [data, stored] = blocks[turn];
    wait_for_all({std::exchange(stored, Event())});
    const ThroughBlock copy(piece, data);
    copy_with_host(copy.in, from, HostSide::target, host);
    if (is_pinned && copy.out.contiguous()) {
      stored = to.commands().submit_copy(copy.out.to, data, copy.out.nbytes());
    } else {
      copy_with_host(copy.out, to, HostSide::source, host);
    }
  });
  to.commands().finish({blocks[0].stored, blocks[1].stored});
  kept.done();
}

// Whether a tensor is USM, and not memory that the runtime does not know.
bool is_usm(const Tensor& tensor) {
  return tensor.memory->entry && tensor.memory->kind != UsmKind::system;
}

// Whether one element of the host goes to all places of the target, and a kernel of the device
// spreads it.  It may build the kernel.
bool is_spread_by_kernel(const CopyLoops& loops, const Entry& entry) {
  const WithoutGil released;
  return loops.ndim > 0 &&
         std::all_of(loops.axes.begin(), loops.axes.begin() + loops.ndim,
                     [](const CopyAxis& axis) { return axis.from == 0; }) &&
         takes_kernels(loops, entry);
}

// The same elements in memory of the device, which has one of them; empty: it has no room for that.
std::optional<Tensor> spread_on(const Entry& entry, const Tensor& from) {
  try {
    Tensor element = copy_to_entry(make_view(from, 0, Layout(0)), entry, UsmKind::device);
    const Layout& all = from.layout;
    const std::vector<std::int64_t> strides(all.ndim(), 0);
    element.layout =
        read_layout(all.ndim(), all.shape(), Order::c, from.dtype->itemsize(), strides.data());
    return element;
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::memory) throw;
    return std::nullopt;
  }
}

// Whether a device does a copy by one command: of the bytes, or by a kernel, which may be built
// here.
bool is_by_command(const Tensor& to, const Tensor& from, const CopyLoops& loops) {
  if (loops.contiguous() || !(is_devices(to) || is_devices(from))) return true;
  const WithoutGil released;
  return takes_kernels(loops, *(is_devices(to) ? to : from).memory->entry);
}

// Whether the host copies on a side: memory of its own, and also shared USM where the device would
// copy each run of elements by a command.
bool is_hosts(const Tensor& side, bool by_command) {
  return !is_devices(side) || (!by_command && side.host_accessible());
}

void copy_disjoint(const Tensor& to, const Tensor& from) {
  const CopyLoops loops = loops_of(to, from);
  const bool by_command = is_by_command(to, from, loops);
  const bool to_host = is_hosts(to, by_command), from_host = is_hosts(from, by_command);
  if (to_host && from_host) {
    const WithoutGil released(loops.nbytes() >= gil_threshold);
    copy_strided(loops);
    return;
  }
  if (from_host && is_spread_by_kernel(loops, *to.memory->entry)) {
    if (const auto spread = spread_on(*to.memory->entry, from)) {
      copy_disjoint(to, *spread);
      return;
    }
  }
  KeptWhileBusy kept(from.memory, to.memory);
  const WithoutGil released;
  const Entry& entry = *(to_host ? from : to).memory->entry;
  const Entry& source = *(from_host ? to : from).memory->entry;
  kept.add(entry.commands());
  kept.add(source.commands());
  kept.add_registered(byte_range(to));
  kept.add_registered(byte_range(from));
  if (to_host || from_host) {
    const Tensor& host = to_host ? to : from;
    // The driver copies from and to USM directly, shared USM included, wherever it is at present.
    const bool is_known = is_usm(host) && same_context(*host.memory->entry, entry);
    HostMemory memory = kept.host_memory(byte_range(host), entry);
    if (is_known) memory = HostMemory::usm;
    if (bug::never_ends(host.memory, entry)) memory = HostMemory::barred;
    copy_with_host(loops, entry, to_host ? HostSide::target : HostSide::source, memory);
  } else if (!copy_directly(loops, entry, source)) {
    if (to.host_accessible() && from.host_accessible()) {
      copy_strided(loops);
    } else {
      relay(loops, entry, source);
    }
  }
  kept.done();
}

// The entry whose queue copies with one command, ordered by events; nullptr: there is none.
// The caller does not hold the GIL, because this may ask the runtime.
const Entry* entry_of_copy(const Tensor& to, const Tensor& from, const CopyLoops& loops,
                           const KeptWhileBusy& kept) {
  if (overlap(to, from) || is_forked_child()) return nullptr;
  const bool is_strided = !loops.contiguous();
  if (is_strided && !is_devices(to) && !is_devices(from)) return nullptr;
  const Entry* const target = to.memory->entry;
  const Entry* const source = from.memory->entry;
  if (target && source && target != source &&
      !(same_context(*target, *source) && target->commands().can_follow(source->commands()))) {
    return nullptr;
  }
  if (!is_usm(to) && !is_usm(from)) return nullptr;
  if (!is_usm(to) || !is_usm(from)) {  // one side is pageable, or registered
    if (is_strided) return nullptr;
    const Entry* const device = is_usm(to) ? target : source;
    const ByteRange host = byte_range(is_usm(to) ? from : to);
    const bool is_barred = kept.host_memory(host, *device) == HostMemory::barred;
    return is_barred || device->blocks_on_pageable ? nullptr : device;
  }
  // Readers of the target ask the queue of the target's entry whether the copy has failed.
  const bool to_host = to.memory->kind == UsmKind::host;
  if (to_host && target != source) return nullptr;
  if (!to_host && bug::never_ends(from.memory, *target)) return nullptr;
  const bool is_on_devices =
      to.memory->kind == UsmKind::device && from.memory->kind == UsmKind::device;
  const bool needs_reach = is_on_devices || (is_strided && from.memory->kind != UsmKind::host);
  if (!to_host && needs_reach && !copies_directly(*source, *target)) return nullptr;
  return is_one_command(loops, *target) ? target : nullptr;
}

// Orders later work on the block after the copy, which a queue of `entry` carries out.  That is
// work on the queue of the block, if it is in order, and on the command queue of the block's entry.
void let_follow(const Event& copy, const Entry& entry, const Memory& memory) {
  if (memory->own_queue) memory->own_queue.order_after(copy);
  if (memory->entry && memory->entry != &entry) memory->entry->commands().order_after(copy);
}

}  // namespace

void order_after(const Queue& queue, const Memory& memory, bool only_copies) {
  if (is_forked_child()) {
    memory->wait_for_work();  // raises for a copy of its parent
    return;
  }
  if (!queue.in_order() && !only_copies && memory->work(How::ask) == Work::none) return;
  const std::uint64_t before = memory->use.before_question();
  const QueueSet producers =
      only_copies ? memory->busy_queues(/*of_others=*/false) : memory->queues_to_ask();
  for (const Queue* producer : producers) queue.order_after(*producer);
  if (!only_copies) memory->replace_named_queues(queue, before);
}

void require_target(const Tensor& to) {
  if (to.readonly) {
    fail(Error::Kind::buffer, "cannot copy into a read-only tensor; copy into a writable one");
  }
  if (may_share_elements(to.layout)) {
    std::ostringstream strides;
    for (int i = 0; i < to.layout.ndim(); ++i) strides << (i ? ", " : "") << to.layout.strides()[i];
    fail(Error::Kind::buffer,
         "elements of the target of the copy may overlap in memory (its strides are (",
         strides.str(), ")); copy into a tensor without overlap, such as its copy()");
  }
}

void copy_elements(const Tensor& to, const Tensor& from) {
  require_target(to);
  if (to.size() == 0) return;
  from.memory->wait_for_work();
  to.memory->wait_for_work();
  if (!overlap(to, from)) {
    copy_disjoint(to, from);
    return;
  }
  if (to.data == from.data &&
      std::equal(to.layout.strides(), to.layout.strides() + to.layout.ndim(),
                 from.layout.strides())) {
    return;
  }
  copy_disjoint(to, is_devices(from) ? copy_to_entry(from, *from.memory->entry, from.memory->kind)
                                     : copy_to_host(from));
}

Event begin_copy(const Tensor& to, const Tensor& from) {
  require_target(to);
  if (to.size() == 0) return Event();
  const CopyLoops loops = loops_of(to, from);
  KeptWhileBusy kept(to.memory, from.memory);
  std::optional<WithoutGil> released(std::in_place);
  kept.add_registered(byte_range(to));
  kept.add_registered(byte_range(from));
  const Entry* const entry = entry_of_copy(to, from, loops, kept);
  if (!entry) {
    released.reset();
    kept.done();
    copy_elements(to, from);
    return Event();
  }
  const Queue& queue = entry->commands();
  // Only the queue of the source's entry knows whether an earlier copy to the source has failed.
  const Entry* const source = from.memory->entry;
  const Queue* const copies = source && source != entry ? source->made_commands() : nullptr;
  if (copies && copies->work(How::counters) != Work::none) from.memory->wait_for_work();
  order_after(queue, to.memory);
  order_after(queue, from.memory);
  kept.add(queue);
  const Event copy = begin_command(loops, *entry);
  // Asked after the copy was submitted, so no failure is missed: one that becomes known from now on
  // counts as a failure of this copy as well.
  const std::string failure =
      entry->failure_of_copies(from.memory->data, from.memory->nbytes, /*mark_reported=*/true);
  if (!failure.empty()) {
    fail(Error::Kind::runtime,
         "an earlier copy into the source of this copy has failed: ", failure);
  }
  let_follow(copy, *entry, to.memory);
  let_follow(copy, *entry, from.memory);
  return copy;
}

std::vector<Event> pending(const Memory& memory) {
  std::vector<Event> events;
  for (const Queue* queue : memory->queues_to_ask()) {
    for (Event& event : queue->pending()) events.push_back(std::move(event));
  }
  return events;
}

std::pair<Tensor, Event> begin_copy_to_host(const Tensor& from) {
  const Layout layout = compact_layout_of(from);
  const Entry* const entry = from.memory->entry;
  std::optional<Tensor> to;
  if (is_usm(from) && has_usm(*entry, UsmKind::host) &&
      (is_contiguous(from.layout, Order::c) || entry->takes_spirv)) {
    try {
      to = make_tensor(*entry, UsmKind::host, *from.dtype, layout);
    } catch (const Error& error) {  // there may be little memory of this kind
      if (error.kind() != Error::Kind::memory) throw;
    }
  }
  if (!to) to = make_host_tensor(*from.dtype, layout);
  Event copy = begin_copy(*to, from);
  return {*std::move(to), std::move(copy)};
}

Tensor copy_to_host(const Tensor& from) {
  Tensor to = make_host_tensor(*from.dtype, compact_layout_of(from));
  copy_elements(to, from);
  return to;
}

Tensor copy_to_entry(const Tensor& from, const Entry& entry, UsmKind kind, Order order,
                     Queue queue) {
  Tensor to =
      make_tensor(entry, kind, *from.dtype, compact_layout_of(from, order), std::move(queue));
  copy_elements(to, from);
  return to;
}

void fill_zero(const Tensor& compact) {
  const std::size_t nbytes = compact.nbytes();
  if (nbytes == 0) return;
  const bool by_host = !is_devices(compact);
  const WithoutGil released(!by_host || nbytes >= gil_threshold);
  if (by_host) {
    std::memset(compact.data, 0, nbytes);
    return;
  }
  const Queue& queue = compact.memory->entry->commands();
  KeptWhileBusy kept(compact.memory, compact.memory);
  kept.add(queue);
  queue.fill_zero(compact.data, nbytes);
  kept.done();
}

}  // namespace sycl_ext
