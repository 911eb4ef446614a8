// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/entry.hpp"

#include <algorithm>

#include "base/fork.hpp"
#include "base/host.hpp"
#include "runtime/devices/entry_handles.hpp"
#include "runtime/sycl/commands.hpp"

namespace sycl_ext {

const Queue& Entry::commands() const {
  return commands_.get([this] {
    require_not_forked([this] { return is_cpu(); });
    return new_queue();
  });
}

std::string Entry::failure_of_copies(const std::byte* data, std::size_t nbytes,
                                     bool mark_reported) const {
  std::string failure;
  for (auto* made = commands_.newest(); made && failure.empty(); made = made->before) {
    const Queue& queue = made->value;
    if (queue.work(How::counters) != Work::none)
      failure = queue.failure_of_copies(data, nbytes, mark_reported);
  }
  return failure;
}

void Entry::forget_copies_to(const std::byte* data, std::size_t nbytes) const {
  for (auto* made = commands_.newest(); made; made = made->before) {
    const Queue& queue = made->value;
    if (queue.work(How::counters) != Work::none) queue.forget_copies_to(data, nbytes);
  }
}

const Queue& Entry::extension_queue() const {
  return extension_queue_.get([this] { return new_queue(); });
}

const Queue& Entry::fetch_queue() const {
  const Host* const python = host;
  if (const Queue of_dpctl = python ? python->queue_of_dpctl(*this) : Queue()) {
    of_dpctl.share();
    return queue_of_dpctl_.get([&of_dpctl] { return of_dpctl; });
  }
  return queue_before_dpctl_.get([this] {
    Queue queue(make_queue(sycl->context, sycl->device, {}));
    queue.share();
    return queue;
  });
}

Queue Entry::new_queue() const { return Queue(make_queue(sycl->context, sycl->device)); }

const Module& Entry::copy_kernels(
    int size, const Spirv& spirv,
    const std::array<const char*, Module::kernel_count>& names) const {
  return copy_kernels_[size].get([&] {
    require_not_forked([this] { return is_cpu(); });
    return sycl_call("building kernels", [&] {
      return build_module(device_address(), context_address(), spirv, names);
    });
  });
}

const void* Entry::device_address() const noexcept { return &sycl->device; }
const void* Entry::context_address() const noexcept { return &sycl->context; }

bool Entry::reaches(const Entry& other) const noexcept {
  const auto is_component = [](const Entry& entry, const std::vector<int>& components) {
    return std::find(components.begin(), components.end(), entry.root_id) != components.end();
  };
  return root_id == other.root_id || is_component(other, components) ||
         is_component(*this, other.components);
}

bool same_context(const Entry& a, const Entry& b) noexcept {
  return a.sycl->context == b.sycl->context;
}

}  // namespace sycl_ext
