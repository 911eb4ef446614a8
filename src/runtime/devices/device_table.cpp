// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/device_table.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "base/first_made.hpp"
#include "base/fork.hpp"
#include "base/lock.hpp"
#include "runtime/devices/device_info.hpp"
#include "runtime/devices/entry_handles.hpp"
#include "runtime/sycl/commands.hpp"
#include "runtime/sycl/runtime_call.hpp"

namespace sycl_ext {

namespace {

// What set_no_device_advice() has set.
struct Advice {
  std::string text, driver;
};
Advice& advice = *new Advice{"`python -m sycl_ext doctor` explains why", ""};

class Table {
 public:
  Table() {
    if (first_user < 0) first_user = process_generation.load();
    entries_.reserve(most_entries);
    try {
      std::map<std::string, int> ordinals;  // filter strings count per backend and type
      int best = -1;
      for (const sycl::device& device : sycl::device::get_devices()) {
        const sycl::context context = device.get_platform().khr_get_default_context();
        std::unique_ptr<Entry> entry = describe(device, context);
        entry->root_id = static_cast<int>(entries_.size());
        entry->default_context = true;
        const std::string prefix = entry->backend + ":" + entry->device_type;
        entry->filter_string = prefix + ":" + std::to_string(ordinals[prefix]++);
        const Entry& root = append(std::move(entry));
        search(root);
        // Asking SYCL for its default device would list the devices anew, and OpenCL would make
        // other sub-devices for the new list.
        const int score = sycl::default_selector_v(device);
        if (score > best) chosen = &root;
        best = std::max(best, score);
      }
      root_count = size();
    } catch (const sycl::exception& error) {
      const char* const selector = std::getenv("ONEAPI_DEVICE_SELECTOR");
      fail(Error::Kind::runtime, "listing the SYCL devices failed: ", error.what(), " (sycl::errc ",
           error.code().value(), "); ONEAPI_DEVICE_SELECTOR is ",
           selector ? "'" + std::string(selector) +
                          "'; unset it, or set it to BACKEND:DEVICES, such as 'level_zero:gpu', "
                          "'opencl:cpu' or '*:*' for all devices"
                    : "not set; " + no_device_advice());
    }
  }

  int root_count = 0;
  const Entry* chosen = nullptr;  // the best for SYCL's default selector; nullptr: no devices

  int size() const noexcept { return size_.load(std::memory_order_acquire); }
  const Entry& operator[](int id) const noexcept {
    return *entries_.data()[static_cast<std::size_t>(id)];
  }

  const Entry& of(const sycl::device& device, const sycl::context& asked) {
    if (const Entry* entry = find_pair(device, asked)) return *entry;
    const sycl::context context = known_as(asked);
    if (const Entry* entry = find_pair(device, context)) return *entry;
    const std::lock_guard<Mutex> lock(locks.making);
    if (const Entry* entry = find_pair(device, context)) return *entry;
    // A driver also reports memory of a card for contexts of the card's tiles, but queues of these
    // contexts cannot access it.
    const bool is_usable = is_served(device, context);
    const Entry& home = find_or_add_home(device, is_usable ? &context : nullptr);
    const bool is_at_home = !is_usable || home.sycl->context == context;
    return is_at_home ? home : add(describe(device, context));
  }

  const Entry& home_of(const sycl::device& device) {
    if (const Entry* entry = find_home(device)) return *entry;
    const std::lock_guard<Mutex> lock(locks.making);
    return find_or_add_home(device);
  }

  // The root device of a device.  Of a composite device, the first root device that it consists of.
  const Entry& root_of(const sycl::device& device) const {
    for (std::optional<sycl::device> whole = device; whole; whole = parent_of(*whole)) {
      if (const Entry* root = find_root(*whole)) return *root;
      for (const sycl::device& component : components_of(*whole)) {
        if (const Entry* root = find_root(component)) return *root;
      }
    }
    fail(Error::Kind::value, "the device '", device.get_info<sycl::info::device::name>(),
         "' is not among the ", root_count,
         " root devices of this process (ONEAPI_DEVICE_SELECTOR may hide it)");
  }

  std::vector<const Entry*> partitioned(const Entry& whole, const Partition& partition) {
    const sycl::device& device = whole.sycl->device;
    // Under the lock: a second listing by OpenCL would make other devices.
    const std::lock_guard<Mutex> lock(locks.making);
    const std::tuple key{find_or_add_home(device).id, partition.way, partition.counts};
    auto made = sub_devices_.find(key);
    if (made == sub_devices_.end()) {
      made = sub_devices_.emplace(key, make_sub_devices(device, partition)).first;
    }
    std::vector<const Entry*> sub_devices;
    for (const sycl::device& sub_device : made->second) {
      const int index = static_cast<int>(sub_devices.size());
      sub_devices.push_back(&find_or_add_home(sub_device, nullptr, partition.description(), index));
      search(*sub_devices.back());
    }
    return sub_devices;
  }

  // Adds the context to those that pointers are looked up in.  The caller holds the lock.  If a
  // driver knows every pointer in its default context, which is searched already, nothing is added.
  void search(const Entry& entry) noexcept {
    const Entry& first = *find([&](const Entry& other) { return same_context(other, entry); });
    if (first.driver_wide() || first.next_searched || &first == last_searched_) return;
    if (last_searched_) last_searched_->next_searched.store(&first, std::memory_order_release);
    last_searched_ = &first;
  }

 private:
  // The first entry for which `is_it` returns true; nullptr: no entry.
  template <class IsIt>
  const Entry* find(const IsIt& is_it) const {
    for (int id = 0; id < size(); ++id) {
      if (is_it((*this)[id])) return &(*this)[id];
    }
    return nullptr;
  }

  // The entry that a device was first seen with.
  const Entry* find_home(const sycl::device& device) const {
    return find([&](const Entry& entry) { return entry.sycl->device == device; });
  }

  const Entry* find_pair(const sycl::device& device, const sycl::context& context) const {
    return find([&](const Entry& entry) {
      return entry.sycl->context == context && entry.sycl->device == device;
    });
  }

  const Entry* find_root(const sycl::device& device) const {
    const Entry* const home = find_home(device);
    const bool is_root = home && home->kind == EntryKind::root;
    return is_root ? home : nullptr;
  }

  // A context in the table that the driver cannot tell apart from this one; otherwise this context.
  sycl::context known_as(const sycl::context& context) const {
    const std::uintptr_t native = native_context(context);
    const Entry* const known =
        find([&](const Entry& entry) { return native && entry.sycl->native_context == native; });
    return known ? known->sycl->context : context;
  }

  // The caller of these functions holds the lock.

  // `seen_in`: the context of the entry, if the device cannot be in the default context; nullptr: a
  // new context.  `partition` and `partition_index`: how the sub-device was made, if that is known.
  const Entry& find_or_add_home(const sycl::device& device, const sycl::context* seen_in = nullptr,
                                const std::string& partition = {}, int partition_index = -1) {
    if (const Entry* entry = find_home(device)) return *entry;
    const sycl::context& common = root_of(device).sycl->context;
    if (can_live_in(common, device)) seen_in = &common;
    std::unique_ptr<Entry> entry = describe(device, seen_in ? *seen_in : sycl::context(device));
    entry->partition = partition;
    entry->partition_index = partition_index;
    return add(std::move(entry));
  }

  const Entry& add(std::unique_ptr<Entry> entry) {
    const sycl::device& device = entry->sycl->device;
    const Entry& root = root_of(device);
    entry->root_id = root.id;
    entry->kind = EntryKind::context;
    entry->parent = find_home(device);
    if (!entry->parent) {
      const std::optional<sycl::device> whole = parent_of(device);
      entry->parent = whole ? &find_or_add_home(*whole) : &root;
      if (whole) entry->kind = EntryKind::sub_device;
    }
    for (const sycl::device& component : components_of(device)) {
      if (const Entry* tile = find_root(component)) entry->components.push_back(tile->id);
    }
    entry->default_context = entry->sycl->context == root.sycl->context;
    return append(std::move(entry));
  }

  const Entry& append(std::unique_ptr<Entry> entry) {
    entry->id = size_;
    if (size_ == most_entries) {
      fail(Error::Kind::runtime, "the device table is full: it has ", most_entries,
           " entries, one for each device and context used so far, and keeps them until the "
           "process ends; reuse contexts instead of making new ones");
    }
    entries_.push_back(std::move(entry));  // there is room
    size_.store(size_ + 1, std::memory_order_release);
    return *entries_.back();
  }

  // The sub-devices that each partition of an entry has made.
  std::map<std::tuple<int, std::string, std::vector<std::size_t>>, std::vector<sycl::device>>
      sub_devices_;

  // Written under the lock.  The vector never reallocates, so the first `size_` entries are read
  // without the lock.
  std::vector<std::unique_ptr<Entry>> entries_;
  std::atomic<int> size_{0};
  const Entry* last_searched_ = nullptr;
};

FirstMade<Table> the_table;

Table& table() {
  Table* const made = the_table.made();  // inlined, unlike the rest
  return made ? *made : the_table.get_once([] { return Table(); });
}

template <class Object>
const Object& at(const void* address) {
  return *static_cast<const Object*>(address);
}

// Whether commands of this package may be pending on any entry.
bool may_have_commands() noexcept {
  for (int id = 0; id < entries_so_far(); ++id) {
    const Entry& entry = *find_entry(id);
    const Queue* const commands = entry.made_commands();
    if (commands && commands->work(How::counters) != Work::none) return true;
  }
  return false;
}

struct TellPendingCommands {
  TellPendingCommands() noexcept { pending_work.may_have_commands = may_have_commands; }
};
[[maybe_unused]] const TellPendingCommands tell_pending_commands;

}  // namespace

void set_no_device_advice(std::string text, std::string driver) {
  advice = {std::move(text), std::move(driver)};
}

std::string no_device_advice() {
  const auto& [text, driver] = advice;
  if (driver.empty() || dlopen(driver.c_str(), RTLD_LAZY)) return text;  // it may stay loaded
  return "the driver of the CPU device cannot be loaded into this process (" +
         std::string(dlerror()) +
         "); if it conflicts with a library that was imported earlier, call sycl_ext.devices() "
         "before that import; " +
         text;
}

int root_count() { return table().root_count; }
int entry_count() { return table().size(); }

int entries_so_far() noexcept {
  const Table* const made = the_table.made();
  return made ? made->size() : 0;
}

int added_entries() noexcept {
  const Table* const made = the_table.made();
  return made ? made->size() - made->root_count : 0;
}

const Entry* find_entry(int id) {
  const Table& entries = table();
  return id >= 0 && id < entries.size() ? &entries[id] : nullptr;
}

const Entry& entry_at(int id) {
  if (const Entry* entry = find_entry(id)) return *entry;
  const int count = entry_count();
  fail(Error::Kind::value, "there is no device ", id,
       count ? "; the device table has entries 0 to " + std::to_string(count - 1)
             : ": SYCL found no device at all; " + no_device_advice());
}

const Entry& default_entry() {
  if (const Entry* const chosen = table().chosen) return *chosen;
  fail(Error::Kind::runtime, "SYCL found no device; ", no_device_advice());
}

const Entry& entry_of(const void* device, const void* context) {
  return sycl_call("looking up a device", [&]() -> const Entry& {
    return table().of(at<sycl::device>(device), at<sycl::context>(context));
  });
}

const Entry& entry_of(const Queue& queue) {
  return sycl_call("looking up the device of a queue", [&]() -> const Entry& {
    const sycl::queue& handle = queue.state().queue;
    return table().of(handle.get_device(), handle.get_context());
  });
}

const Entry& entry_of_context(const void* context, const void* device) {
  return sycl_call("looking up the device of a context", [&]() -> const Entry& {
    const sycl::context& wanted = at<sycl::context>(context);
    const auto devices = wanted.get_devices();
    if (!device && devices.size() != 1) {
      fail(Error::Kind::value, "the context has ", devices.size(),
           " devices; select one of them with device=");
    }
    const sycl::device& meant = device ? at<sycl::device>(device) : devices.front();
    if (is_served(meant, wanted)) return table().of(meant, wanted);
    fail(Error::Kind::value, "the device '", meant.get_info<sycl::info::device::name>(),
         "' does not belong to the context, which has ", devices.size(), " device(s)");
  });
}

const Entry& entry_of_device(const void* device) {
  return sycl_call("looking up a device",
                   [&]() -> const Entry& { return table().home_of(at<sycl::device>(device)); });
}

std::optional<const Entry*> composite_entry_of(const Entry& entry) {
  return sycl_call("looking up a composite device", [&]() -> std::optional<const Entry*> {
    const std::optional<sycl::device> composite = composite_of(entry.sycl->device);
    if (!composite) return std::nullopt;
    return &table().home_of(*composite);
  });
}

std::vector<const Entry*> create_sub_devices(const Entry& entry, const Partition& partition) {
  try {
    return table().partitioned(entry, partition);
  } catch (const sycl::exception& error) {
    return sycl_call("querying the partitions of a device", [&]() -> std::vector<const Entry*> {
      fail(Error::Kind::runtime, "device ", entry.id, " ('", entry.name, "', ",
           entry.sycl->device.get_info<sycl::info::device::max_compute_units>(),
           " compute units) cannot be partitioned by '", partition.description(),
           "': ", error.what(), " (sycl::errc ", error.code().value(),
           "); it can be partitioned by ", possible_partitions(entry.sycl->device));
    });
  }
}

void register_context_of(const Entry& entry) {
  const std::lock_guard<Mutex> lock(locks.making);
  table().search(entry);
}

bool copies_directly(const Entry& from, const Entry& to) {
  if (from.host_memory || to.host_memory) return true;
  // An OpenCL context knows only its own USM, while a context of another driver knows all USM of
  // that driver.  For two devices of OpenCL the question below must not be asked: the adapter
  // answers it by ending the process.
  if (to.backend == "opencl") return same_context(from, to) && from.root_id == to.root_id;
  if (from.root_id == to.root_id) return true;
  return sycl_call("querying whether memory can be copied directly", [&] {
    sycl::device target = entry_at(to.root_id).sycl->device;
    const sycl::device& source = entry_at(from.root_id).sycl->device;
    return target.get_platform() == source.get_platform() &&
           target.ext_oneapi_can_access_peer(source);
  });
}

}  // namespace sycl_ext
