// SPDX-License-Identifier: Apache-2.0
#include "tensor/kernel_copy.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "tensor/pieces.hpp"
#include "tensor/strided_spirv.hpp"

namespace sycl_ext {

namespace {

constexpr std::size_t widest_unit = 16;
// `struct axis` and `struct loops` of strided.cl.
constexpr int kernel_axes = 8;
struct KernelAxis {
  std::int32_t count = 1, to = 0, from = 0;
};
struct KernelLoops {
  KernelAxis axes[kernel_axes];
};
static_assert(sizeof(KernelLoops) == sizeof(Launch::loops));

// The kernels of a module, by their index.
enum Kernel : int { copy_lines, copy_tiles };
constexpr std::array<const char*, Module::kernel_count> kernel_names{"copy_lines", "copy_tiles"};
constexpr std::uint32_t group_items = 256;

std::atomic<bool> is_broken{false};

int log_of(std::size_t unit) noexcept { return __builtin_ctzl(unit); }

const Module& module_of(std::size_t unit, const Entry& entry) {
  static_assert(std::size(strided_spirv) == Entry::kernel_sizes);
  Spirv spirv = strided_spirv[log_of(unit)].spirv;
  if (is_broken) spirv.size = 20;
  return entry.copy_kernels(log_of(unit), spirv, kernel_names);
}

// The axes in the order of the kernel: the fast one of the target first.
struct Ordered {
  Kernel kernel = copy_lines;
  std::array<CopyAxis, kernel_axes> axes;
};

std::int64_t steps_of_items(const CopyAxis& axis) noexcept { return std::abs(axis.from); }

// Chooses the kernel, and which axis is its second one.  If the source is faster along another axis
// than the target, the copy goes through tiles along both.
Ordered order_axes(const CopyLoops& loops) noexcept {
  Ordered ordered;
  ordered.axes.fill({1, 0, 0});
  std::reverse_copy(loops.axes.begin(), loops.axes.begin() + loops.ndim, ordered.axes.begin());
  auto* const fast = ordered.axes.data();
  auto* const end = fast + std::max(loops.ndim, 2);
  const std::int64_t side = strided_spirv[log_of(loops.itemsize)].side;
  auto* second = fast + 1;
  for (auto* axis = fast + 1; axis != end; ++axis) {
    if (axis->from == 0) continue;
    if (second->from == 0 || steps_of_items(*axis) < steps_of_items(*second)) second = axis;
  }
  const bool is_transposed = second->from != 0 && fast->from != 0 &&
                             steps_of_items(*second) < steps_of_items(*fast) &&
                             std::min(fast->count, second->count) >= side / 4;
  if (is_transposed) {
    ordered.kernel = copy_tiles;
  } else {
    // Both axes of a work-group should be long enough for it.
    second = fast + 1;
    if (fast->count * second->count < group_items) {
      second = std::max_element(
          fast + 1, end, [](const CopyAxis& a, const CopyAxis& b) { return a.count < b.count; });
    }
  }
  std::rotate(fast + 1, second, second + 1);
  return ordered;
}

std::size_t rounded_up(std::size_t count, std::size_t to) { return (count + to - 1) / to * to; }

// The smallest power of two that is not less, up to `most`.
std::size_t power_of_two(std::int64_t count, std::size_t most) noexcept {
  std::size_t power = 1;
  while (power < most && static_cast<std::int64_t>(power) < count) power *= 2;
  return power;
}

// The launch of a copy that fits, in its widest units.
Launch launch_of(const CopyLoops& loops, const Entry& entry) {
  const Ordered ordered = order_axes(loops);
  const auto unit = static_cast<std::int64_t>(loops.itemsize);
  KernelLoops arguments;
  std::size_t outer = 1, nbytes = loops.itemsize;
  for (int k = 0; k < kernel_axes; ++k) {
    const CopyAxis& axis = ordered.axes[k];
    arguments.axes[k] = {static_cast<std::int32_t>(axis.count),
                         static_cast<std::int32_t>(axis.to / unit),
                         static_cast<std::int32_t>(axis.from / unit)};
    if (k >= 2) outer *= static_cast<std::size_t>(axis.count);
    nbytes += static_cast<std::size_t>((axis.count - 1) * axis.to);
  }
  Launch launch{module_of(loops.itemsize, entry).kernels[ordered.kernel],
                loops.to,
                loops.from,
                {},
                {},
                {},
                nbytes};
  std::memcpy(launch.loops.data(), &arguments, sizeof arguments);
  const std::int64_t a = ordered.axes[0].count, b = ordered.axes[1].count;
  if (ordered.kernel == copy_tiles) {
    const std::size_t side = strided_spirv[log_of(loops.itemsize)].side;
    launch.group = {side, group_items / side, 1};
    const std::size_t tiles = rounded_up(b, side) / side;
    launch.items = {rounded_up(a, side), tiles * launch.group[1], outer};
  } else {
    const std::size_t x = power_of_two(a, group_items), y = power_of_two(b, group_items / x);
    launch.group = {x, y, 1};
    launch.items = {rounded_up(a, x), rounded_up(b, y), outer};
  }
  return launch;
}

}  // namespace

CopyLoops in_widest_units(const CopyLoops& loops) noexcept {
  const std::size_t run = loops.run();
  const int outer = loops.outer_ndim();
  // The lowest bit of any address, distance or length is the widest unit that fits them all.
  std::size_t bits = widest_unit | run | reinterpret_cast<std::size_t>(loops.to) |
                     reinterpret_cast<std::size_t>(loops.from);
  for (int i = 0; i < outer; ++i) {
    bits |=
        static_cast<std::size_t>(loops.axes[i].to) | static_cast<std::size_t>(loops.axes[i].from);
  }
  CopyLoops units = loops;
  units.itemsize = bits & -bits;
  units.ndim = outer;
  if (run > units.itemsize) {
    const auto step = static_cast<std::int64_t>(units.itemsize);
    units.axes[units.ndim++] = {static_cast<std::int64_t>(run / units.itemsize), step, step};
  }
  return units;
}

namespace {

// Numbers of 32 bits count the elements from the first to the last one on this side.
bool fits_32_bits(const CopyLoops& loops, std::int64_t CopyAxis::* side) noexcept {
  std::int64_t elements = 0;
  for (int i = 0; i < loops.ndim; ++i) {
    const CopyAxis& axis = loops.axes[i];
    elements += (axis.count - 1) * std::abs(axis.*side) / static_cast<std::int64_t>(loops.itemsize);
  }
  return elements < std::numeric_limits<std::int32_t>::max();
}

// Divides a copy of few axes into pieces for one launch each.
template <class Body>
void for_each_launch(const CopyLoops& loops, const Body& body) {
  const auto fits = [](std::int64_t CopyAxis::* side) {
    return [side](const CopyLoops& piece) { return fits_32_bits(piece, side); };
  };
  for_each_piece(loops, &CopyAxis::from, fits(&CopyAxis::from), [&](const CopyLoops& piece) {
    for_each_piece(piece, &CopyAxis::to, fits(&CopyAxis::to), body);
  });
}

}  // namespace

bool fits_one_launch(const CopyLoops& loops) noexcept {
  // Fewer elements than fit in 32 bits on the target's side, which has one place for each, are
  // fewer groups as well.
  return loops.ndim <= kernel_axes && fits_32_bits(loops, &CopyAxis::to) &&
         fits_32_bits(loops, &CopyAxis::from);
}

bool takes_kernels(const CopyLoops& loops, const Entry& entry) {
  return entry.takes_spirv && module_of(in_widest_units(loops).itemsize, entry);
}

bool is_one_command(const CopyLoops& loops, const Entry& entry) {
  return loops.contiguous() ||
         (fits_one_launch(in_widest_units(loops)) && takes_kernels(loops, entry));
}

Event begin_command(const CopyLoops& loops, const Entry& entry) {
  const Queue& queue = entry.commands();
  if (loops.contiguous()) return queue.begin_copy(loops.to, loops.from, loops.nbytes());
  return queue.begin_copy(launch_of(in_widest_units(loops), entry));
}

bool submit_elements(const CopyLoops& loops, const Entry& entry, std::vector<Event>* events) {
  const Queue& queue = entry.commands();
  if (loops.contiguous()) {
    events->push_back(queue.submit_copy(loops.to, loops.from, loops.nbytes()));
    return true;
  }
  if (!takes_kernels(loops, entry)) return false;
  const CopyLoops units = in_widest_units(loops);
  const int outer = std::max(0, units.ndim - kernel_axes);
  CopyLoops inner = units;
  inner.ndim -= outer;
  std::copy_n(units.axes.begin() + outer, inner.ndim, inner.axes.begin());
  for_each(units.axes.data(), outer, units.to, units.from,
           [&](std::byte* to, const std::byte* from) {
             inner.to = to;
             inner.from = from;
             for_each_launch(inner, [&](const CopyLoops& piece) {
               if (events->size() == most_runs) wait_for_all(std::exchange(*events, {}));
               events->push_back(queue.submit_copy(launch_of(piece, entry)));
             });
           });
  return true;
}

std::string reason_against_kernels(const Entry& entry) {
  if (entry.takes_spirv) return module_of(widest_unit, entry).failure;
  return entry.is_cpu() ? "the host copies on a CPU device" : "the runtime takes no SPIR-V for it";
}

void break_kernels() noexcept { is_broken = true; }

}  // namespace sycl_ext
