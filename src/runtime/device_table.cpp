// SPDX-License-Identifier: Apache-2.0
#include "runtime/device_table.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <new>
#include <optional>
#include <shared_mutex>
#include <sycl/backend.hpp>
#include <sycl/detail/backend_traits_cuda.hpp>
#include <sycl/detail/backend_traits_hip.hpp>
#include <sycl/ext/oneapi/backend/hip.hpp>
#include <sycl/ext/oneapi/backend/level_zero.hpp>
#include <sycl/ext/oneapi/experimental/composite_device.hpp>
#include <unordered_map>
#include <utility>

#include "base/append_only.hpp"
#include "base/fork.hpp"
#include "runtime/sycl_handles.hpp"

namespace sycl_ext {

namespace {

sycl::context default_context(const sycl::platform& platform) {
#ifdef SYCL_KHR_DEFAULT_CONTEXT
  return platform.khr_get_default_context();
#else
  return platform.ext_oneapi_get_default_context();
#endif
}

// The words of dpctl's filter strings.
std::string backend_name(sycl::backend backend) {
  static const std::map<sycl::backend, const char*> names{
      {sycl::backend::opencl, "opencl"},
      {sycl::backend::ext_oneapi_level_zero, "level_zero"},
      {sycl::backend::ext_oneapi_cuda, "cuda"},
      {sycl::backend::ext_oneapi_hip, "hip"},
      {sycl::backend::ext_oneapi_native_cpu, "native_cpu"},
  };
  const auto found = names.find(backend);
  return found == names.end() ? "unknown" : found->second;
}

std::string type_name(const sycl::device& device) {
  static const std::map<sycl::info::device_type, const char*> names{
      {sycl::info::device_type::cpu, "cpu"},
      {sycl::info::device_type::gpu, "gpu"},
      {sycl::info::device_type::accelerator, "accelerator"},
  };
  const auto found = names.find(device.get_info<sycl::info::device::device_type>());
  return found == names.end() ? "unknown" : found->second;
}

sycl::info::partition_affinity_domain domain_named(const std::string& name) {
  using Domain = sycl::info::partition_affinity_domain;
  static const std::map<std::string, Domain> domains{
      {"numa", Domain::numa},         {"L4_cache", Domain::L4_cache},
      {"L3_cache", Domain::L3_cache}, {"L2_cache", Domain::L2_cache},
      {"L1_cache", Domain::L1_cache}, {"next_partitionable", Domain::next_partitionable},
  };
  if (const auto found = domains.find(name); found != domains.end()) return found->second;
  std::string known;
  for (const auto& [word, domain] : domains) known += "'" + word + "', ";
  fail(Error::Kind::value, "partition is '", name, "'; it must be one of ", known, "'cslice'");
}

struct PairKey {
  sycl::device device;
  sycl::context context;
  bool operator==(const PairKey& other) const {
    return device == other.device && context == other.context;
  }
};

struct PairHash {
  std::size_t operator()(const PairKey& key) const {
    return std::hash<sycl::device>()(key.device) * 31 + std::hash<sycl::context>()(key.context);
  }
};

// The device that a sub-device is a part of; nullopt: it is none.  On Level Zero a device tells how
// it was partitioned only if this process did it; its parent it knows in any case.
std::optional<sycl::device> parent_of(const sycl::device& device) {
  using Partition = sycl::info::partition_property;
  const bool partitioned =
      device.get_info<sycl::info::device::partition_type_property>() != Partition::no_partition;
  if (!partitioned && device.get_backend() == sycl::backend::opencl) return std::nullopt;
  try {
    return device.get_info<sycl::info::device::parent_device>();
  } catch (const sycl::exception&) {
    if (partitioned) throw;
    return std::nullopt;
  }
}

// The devices that a composite device is made of: the root devices of the tiles of a card, whose
// own device is not listed (ZE_FLAT_DEVICE_HIERARCHY=COMBINED).
std::vector<sycl::device> components_of(const sycl::device& device) {
  using Components = sycl::ext::oneapi::experimental::info::device::component_devices;
  if (!device.has(sycl::aspect::ext_oneapi_is_composite)) return {};
  return device.get_info<Components>();
}

// What two contexts have in common that a driver cannot tell apart; 0: each is its own.  The second
// Level Zero adapter gives every context of all devices the driver's default context.
std::uintptr_t native_context(const sycl::context& context) {
  constexpr auto level_zero = sycl::backend::ext_oneapi_level_zero;
  if (context.get_backend() != level_zero) return 0;
  try {
    return reinterpret_cast<std::uintptr_t>(sycl::get_native<level_zero>(context));
  } catch (const sycl::exception&) {  // an adapter without native handles
    return 0;
  }
}

// The number of a device in CUDA or HIP; -1: it is another library's.
int native_ordinal(const sycl::device& device) {
  constexpr auto cuda = sycl::backend::ext_oneapi_cuda, hip = sycl::backend::ext_oneapi_hip;
  try {
    if (device.get_backend() == cuda) return sycl::get_native<cuda>(device);
    if (device.get_backend() == hip) return sycl::get_native<hip>(device);
  } catch (const sycl::exception&) {  // an adapter without native handles
  }
  return -1;
}

// Whether a sub-device may use the default context of its root: OpenCL says no.
bool can_live_in(const sycl::context& context, const sycl::device& device) {
  try {
    make_queue(context, device);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Whether a context serves a device: it lists it, or (on Level Zero) the device that it is cut
// from.
bool is_served(const sycl::device& device, const sycl::context& context) {
  const auto devices = context.get_devices();
  const auto listed = [&](const sycl::device& one) {
    return std::find(devices.begin(), devices.end(), one) != devices.end();
  };
  if (listed(device)) return true;
  for (auto whole = parent_of(device); whole; whole = parent_of(*whole)) {
    if (listed(*whole)) return can_live_in(context, device);
  }
  return false;
}

// Everything about an entry that the runtime is asked for; no lock is held meanwhile.
std::unique_ptr<Entry> describe(const sycl::device& device, const sycl::context& context) {
  auto entry = std::make_unique<Entry>();
  entry->name = device.get_info<sycl::info::device::name>();
  entry->backend = backend_name(device.get_backend());
  entry->device_type = type_name(device);
  entry->driver_version = device.get_info<sycl::info::device::driver_version>();
  entry->fp16 = device.has(sycl::aspect::fp16);
  entry->fp64 = device.has(sycl::aspect::fp64);
  entry->usm_device = device.has(sycl::aspect::usm_device_allocations);
  entry->usm_shared = device.has(sycl::aspect::usm_shared_allocations);
  entry->usm_host = device.has(sycl::aspect::usm_host_allocations);
  entry->usm_system = device.has(sycl::aspect::usm_system_allocations);
  // On Level Zero a context also serves the tiles of its devices; on OpenCL it does not.
  entry->single_device =
      device.get_backend() == sycl::backend::opencl && context.get_devices().size() == 1;
  // is_cpu() alone would trust backends that nobody has tried.
  entry->host_memory = device.get_backend() == sycl::backend::opencl && device.is_cpu();
  entry->sycl =
      std::make_shared<const EntryHandles>(EntryHandles{device, context, native_context(context)});
  return entry;
}

// Whether a context knows a pointer that was allocated in another one.  Asked of the runtime: what
// drivers do differs, and may change.
bool knows_pointers_of(const sycl::context& allocating, const sycl::device& device,
                       const sycl::context& asked) {
  for (const sycl::usm::alloc kind :
       {sycl::usm::alloc::host, sycl::usm::alloc::shared, sycl::usm::alloc::device}) {
    try {
      void* const block = sycl::malloc(64, device, allocating, kind);
      if (!block) continue;
      bool known = false;
      try {
        known = sycl::get_pointer_type(block, asked) != sycl::usm::alloc::unknown;
      } catch (const sycl::exception&) {  // not known
      }
      sycl::free(block, allocating);
      return known;
    } catch (const sycl::exception&) {  // another kind, perhaps
    }
  }
  return false;
}

// For messages.
std::string ways_to_cut(const sycl::device& device) {
  using Property = sycl::info::partition_property;
  static const std::map<Property, const char*> names{
      {Property::partition_equally, "a number of compute units"},
      {Property::partition_by_counts, "a list of numbers of compute units"},
      {Property::partition_by_affinity_domain, "an affinity domain"},
      {Property::ext_intel_partition_by_cslice, "'cslice'"},
  };
  std::string ways;
  for (const Property property : device.get_info<sycl::info::device::partition_properties>()) {
    const auto found = names.find(property);
    if (found != names.end()) ways += (ways.empty() ? "" : ", ") + std::string(found->second);
  }
  return ways.empty() ? "nothing" : ways;
}

std::vector<sycl::device> make_parts(const sycl::device& device, const Partition& partition) {
  using Property = sycl::info::partition_property;
  switch (partition.kind) {
    case Partition::Kind::equally:
      return device.create_sub_devices<Property::partition_equally>(partition.counts.at(0));
    case Partition::Kind::counts:
      return device.create_sub_devices<Property::partition_by_counts>(partition.counts);
    case Partition::Kind::affinity_domain:
      return device.create_sub_devices<Property::partition_by_affinity_domain>(
          domain_named(partition.domain));
    case Partition::Kind::cslice:
      return device.create_sub_devices<Property::ext_intel_partition_by_cslice>();
  }
  return {};
}

// Runs `list`; a failure names the variable that decides which devices there are.
template <class List>
void list_devices(const List& list) {
  try {
    list();
  } catch (const sycl::exception& error) {
    const char* const name = "ONEAPI_DEVICE_SELECTOR";
    const char* const selector = std::getenv(name);
    const std::string found =
        selector ? std::string(name) + " is '" + selector +
                       "'; unset it, or write BACKEND:DEVICES, such as 'level_zero:gpu', "
                       "'opencl:cpu' or '*:*' for all devices"
                 : std::string(name) + " is not set; " + no_device_advice();
    fail(Error::Kind::runtime, "listing the SYCL devices failed: ", error.what(), " (sycl::errc ",
         error.code().value(), "); ", found);
  }
}

class Table final : ForkHandler {
 public:
  Table() {
    watch_for_forks();
    list_devices([&] {
      std::map<std::string, int> ordinals;  // filter strings count per backend and type
      for (const sycl::device& device : sycl::device::get_devices()) {
        const sycl::context context = default_context(device.get_platform());
        std::unique_ptr<Entry> entry = describe(device, context);
        entry->root_id = static_cast<int>(entries_.size());
        entry->default_context = true;
        entry->native_ordinal = native_ordinal(device);
        const std::string prefix = entry->backend + ":" + entry->device_type;
        entry->filter_string = prefix + ":" + std::to_string(ordinals[prefix]++);
        append(std::move(entry), true);
      }
    });
    root_count_ = static_cast<int>(entries_.size());
  }

  int root_count() const noexcept { return root_count_; }

  const AppendOnly<std::unique_ptr<Entry>>& entries() const noexcept { return entries_; }
  // The first entry of each default context.
  const AppendOnly<const Entry*>& default_contexts() const noexcept { return default_contexts_; }

  // The caller has a reference to the context.
  const Entry& of(const sycl::device& device, const sycl::context& asked) {
    const Entry& entry = find_or_add(device, asked);
    if (entry.use) entry.use->is_held();
    return entry;
  }

  const Entry& find_or_add(const sycl::device& device, const sycl::context& asked) {
    if (const Entry* entry = look_up(by_pair_, {device, asked})) return *entry;
    const sycl::context context = known_as(asked);
    if (const Entry* entry = look_up(by_pair_, {device, context})) return *entry;
    const Entry& root = root_of(device);
    // A driver knows memory of a card in contexts of its tiles, where no queue reaches it.
    if (!is_served(device, context)) return home_of(device);
    // Wherever it is met first, a sub-device that can live in the default context is at home there.
    const sycl::context& common = root.sycl->context;
    if (context != common && !look_up(homes_, device) && can_live_in(common, device)) {
      home_of(device);
    }
    return add(describe(device, context), root, Wanted::this_context);
  }

  // `partition` and `part` say how a sub-device was cut, when that is known.
  const Entry& home_of(const sycl::device& device, const std::string& partition = {},
                       int part = -1) {
    if (const Entry* entry = look_up(homes_, device)) return *entry;
    const Entry& root = root_of(device);
    const sycl::context& common = root.sycl->context;
    const sycl::context context = can_live_in(common, device) ? common : sycl::context(device);
    std::unique_ptr<Entry> entry = describe(device, context);
    entry->partition = partition;
    entry->part = part;
    return add(std::move(entry), root, Wanted::home);
  }

  // The root device that a device is, or is a part of; of a composite device the first that it is
  // made of.
  const Entry& root_of(const sycl::device& device) const {
    for (std::optional<sycl::device> whole = device; whole; whole = parent_of(*whole)) {
      if (const Entry* root = find_root(*whole)) return *root;
      for (const sycl::device& component : components_of(*whole)) {
        if (const Entry* root = find_root(component)) return *root;
      }
    }
    fail(Error::Kind::value, "the device '", device.get_info<sycl::info::device::name>(),
         "' is not among the ", root_count_,
         " root devices of this process (ONEAPI_DEVICE_SELECTOR may hide it)");
  }

  std::vector<const Entry*> cut(const Entry& whole, const Partition& partition) {
    const sycl::device& device = whole.sycl->device;
    const std::pair<int, std::string> key{home_of(device).id, partition.description()};
    // One cut at a time: the parts of a second cut would be other devices on OpenCL.
    std::lock_guard<std::mutex> cutting(cutting_);
    if (const auto found = cuts_.find(key); found != cuts_.end()) return found->second;
    // The list is made before its entries, so that none of them is in the table without it.
    decltype(cuts_) cut;
    std::vector<const Entry*>& parts = cut[key];
    const std::vector<sycl::device> made = make_parts(device, partition);
    parts.reserve(made.size());
    for (const sycl::device& part : made) {
      parts.push_back(&home_of(part, key.second, static_cast<int>(parts.size())));
    }
    cuts_.merge(cut);
    return parts;
  }

 private:
  enum class Wanted { this_context, home };

  void before_fork() noexcept override {
    cutting_.lock();
    asking_.lock();
    mutex_.lock();
  }
  void after_fork_in_parent() noexcept override {
    mutex_.unlock();
    asking_.unlock();
    cutting_.unlock();
  }
  void after_fork_in_child() noexcept override {
    new (&mutex_) std::shared_mutex;  // it would not know its owner, whose thread id has changed
    asking_.unlock();
    cutting_.unlock();
  }

  template <class Map>
  const Entry* look_up(const Map& map, const typename Map::key_type& key) const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto found = map.find(key);
    return found == map.end() ? nullptr : found->second;
  }

  const Entry* find_root(const sycl::device& device) const {
    for (int id = 0; id < root_count_; ++id) {
      const Entry& root = *entries_[static_cast<std::size_t>(id)];
      if (root.sycl->device == device) return &root;
    }
    return nullptr;
  }

  // The context of the table that the driver takes for the same one, or the context itself.
  sycl::context known_as(const sycl::context& context) const {
    const std::uintptr_t native = native_context(context);
    std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto found = native ? by_native_.find(native) : by_native_.end();
    return found == by_native_.end() ? context : found->second->sycl->context;
  }

  // Appends a described entry, unless another thread was faster.
  const Entry& add(std::unique_ptr<Entry> entry, const Entry& root, Wanted wanted) {
    const sycl::device& device = entry->sycl->device;
    const std::optional<sycl::device> parent =
        device == root.sycl->device ? std::nullopt : parent_of(device);
    const Entry* const whole = parent ? &home_of(*parent) : &root;
    for (const sycl::device& component : components_of(device)) {
      if (const Entry* tile = find_root(component)) entry->components.push_back(tile->id);
    }
    entry->driver_wide = entry->sycl->context != root.sycl->context && is_driver_wide(root, *entry);
    ContextUse::reserve();
    std::unique_lock<std::shared_mutex> lock(mutex_);
    const auto home = homes_.find(device);
    if (wanted == Wanted::home && home != homes_.end()) return *home->second;
    const auto found = by_pair_.find({device, entry->sycl->context});
    if (found != by_pair_.end()) return *found->second;
    const bool moves_in = home == homes_.end();
    entry->root_id = root.id;
    entry->kind = moves_in && parent ? EntryKind::sub_device : EntryKind::context;
    entry->parent = moves_in ? whole : home->second;
    entry->default_context = entry->sycl->context == root.sycl->context;
    return append(std::move(entry), moves_in);
  }

  // Asked once for each root device, when the first private context comes.
  bool is_driver_wide(const Entry& root, const Entry& entry) {
    const std::lock_guard<std::mutex> lock(asking_);
    const auto found = driver_wide_.find(root.id);
    if (found != driver_wide_.end()) return found->second;
    return driver_wide_[root.id] =
               knows_pointers_of(root.sycl->context, root.sycl->device, entry.sycl->context);
  }

  // Puts an entry into all the lists, or when memory runs out, into none.  The caller holds the
  // lock.
  const Entry& append(std::unique_ptr<Entry> owned, bool is_home) {
    Entry& entry = *owned;
    entry.id = static_cast<int>(entries_.size());
    entries_.reserve_next();
    default_contexts_.reserve_next();
    if (!entry.default_context) {
      const auto known = by_context_.find(entry.sycl->context);
      entry.use = known == by_context_.end() ? std::make_shared<ContextUse>(entry.sycl)
                                             : known->second->use;
      entry.previous_in_context = entry.use->last_entry();
    }
    NewEntry pair(&by_pair_, {entry.sycl->device, entry.sycl->context}, &entry);
    NewEntry context(&by_context_, entry.sycl->context, &entry);
    std::optional<NewEntry<decltype(homes_)>> home;
    if (is_home) home.emplace(&homes_, entry.sycl->device, &entry);
    std::optional<NewEntry<decltype(by_native_)>> native;
    if (entry.sycl->native_context) native.emplace(&by_native_, entry.sycl->native_context, &entry);
    // From here on nothing needs memory.
    entries_.push_back(std::move(owned));
    pair.commit();
    if (context.commit() && !entry.use) default_contexts_.push_back(&entry);
    if (native) native->commit();
    if (home) home->commit();
    if (entry.use) entry.use->add_entry(entry);
    return entry;
  }

  // An entry that is in memory, with room for it in its map, and not yet in the map.
  template <class Map>
  class NewEntry {
   public:
    NewEntry(Map* map, typename Map::key_type key, const Entry* entry) : map_(map) {
      map->reserve(map->size() + 1);
      alone_.emplace(std::move(key), entry);
    }
    // False: the map has an entry for that key.
    bool commit() noexcept {
      map_->merge(alone_);
      return alone_.empty();
    }

   private:
    Map* map_;
    Map alone_;
  };

  int root_count_ = 0;
  std::mutex cutting_;  // taken before mutex_
  std::map<std::pair<int, std::string>, std::vector<const Entry*>> cuts_;

  std::mutex asking_;  // nothing is taken after it
  std::map<int, bool> driver_wide_;

  mutable std::shared_mutex mutex_;  // for the maps, and for writing to the lists
  AppendOnly<std::unique_ptr<Entry>> entries_;
  AppendOnly<const Entry*> default_contexts_;
  std::unordered_map<PairKey, const Entry*, PairHash> by_pair_;
  std::unordered_map<sycl::device, const Entry*> homes_;
  std::unordered_map<sycl::context, const Entry*> by_context_;
  std::unordered_map<std::uintptr_t, const Entry*> by_native_;
};

std::atomic<const Table*> made_table{nullptr};

// Never destroyed: a deleter may run after the static destructors.  When the constructor throws,
// the next call tries again.
Table& table() {
  static Table* const instance = [] {
    auto* const made = new Table;
    made_table.store(made, std::memory_order_release);
    return made;
  }();
  return *instance;
}

const sycl::device& device_at(const void* address) {
  return *static_cast<const sycl::device*>(address);
}

const sycl::context& context_at(const void* address) {
  return *static_cast<const sycl::context*>(address);
}

}  // namespace

const Queue& Entry::first_queue(QueueUse use) const {
  LazyQueue& one = lazy(use);
  std::call_once(one.making, [&] {
    one.queue = Queue(make_queue(sycl->context, sycl->device));
    one.made.store(&one.queue, std::memory_order_release);
  });
  return one.queue;
}

EntryPools& Entry::pools() const {
  if (EntryPools* const made = made_pools()) return *made;
  auto fresh = std::make_unique<EntryPools>();
  EntryPools* faster = nullptr;
  return pools_.compare_exchange_strong(faster, fresh.get()) ? *fresh.release() : *faster;
}

std::optional<long> Entry::own_references() const noexcept {
  long references = 2;  // in `sycl`, and in the key of the table's map of devices and contexts
  for (const LazyQueue& one : queues_) {
    const Queue* const made = one.made.load(std::memory_order_acquire);
    if (!made) continue;
    if (made->has_other_users()) return std::nullopt;
    ++references;
  }
  return references;
}

Queue Entry::queue_for_others() const {
  Queue copy = queue();
  if (use) use->is_held();
  return copy;
}

void* Entry::new_queue_reference_to_lend() const {
  void* const reference = queue().new_reference_to_lend();
  if (use) use->is_held();
  return reference;
}

const void* Entry::queue_address() const {
  const void* const address = queue().share();
  if (use) use->address_is_known();
  return address;
}

Queue Entry::new_queue() const {
  Queue queue(make_queue(sycl->context, sycl->device));
  if (use) use->is_held();
  return queue;
}

void* Entry::new_context_reference() const {
  auto* const reference = new sycl::context(sycl->context);
  if (use) use->is_held();
  return reference;
}

void Entry::delete_context_reference(void* reference) noexcept {
  delete static_cast<sycl::context*>(reference);
}

const void* Entry::device_address() const noexcept { return &sycl->device; }
const void* Entry::context_address() const noexcept {
  if (use) use->address_is_known();
  return &sycl->context;
}

int root_count() { return table().root_count(); }
int entry_count() { return static_cast<int>(table().entries().size()); }

int entries_so_far() noexcept {
  const Table* const made = made_table.load(std::memory_order_acquire);
  return made ? static_cast<int>(made->entries().size()) : 0;
}

namespace {

struct NoDeviceAdvice {
  std::string text = "`python -m sycl_ext doctor` says why", driver;
};

NoDeviceAdvice& advice() {
  static auto* const only = new NoDeviceAdvice;
  return *only;
}

}  // namespace

void set_no_device_advice(std::string text, std::string driver) {
  advice() = {std::move(text), std::move(driver)};
}

std::string no_device_advice() {
  const std::string& driver = advice().driver;
  if (driver.empty()) return advice().text;
  if (void* const loaded = dlopen(driver.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
    dlclose(loaded);
    return advice().text;
  }
  const char* const reason = dlerror();
  return "the driver of the CPU device does not load into this process (" +
         std::string(reason ? reason : driver) +
         "); if a library that was imported before has loaded what it does not work with, call "
         "sycl_ext.devices() before that import; " +
         advice().text;
}

const Entry* find_entry(int id) {
  const auto& entries = table().entries();
  const auto index = static_cast<std::size_t>(id);
  return id >= 0 && index < entries.size() ? entries[index].get() : nullptr;
}

const Entry& entry_at(int id) {
  if (const Entry* entry = find_entry(id)) return *entry;
  if (entry_count() == 0) {
    fail(Error::Kind::value, "there is no device ", id, ": SYCL found no device at all; ",
         no_device_advice());
  }
  fail(Error::Kind::value, "there is no device ", id, "; the table has entries 0 to ",
       entry_count() - 1);
}

const Entry& default_entry() {
  if (root_count() == 0) {
    fail(Error::Kind::runtime, "SYCL found no device; ", no_device_advice());
  }
  static const Entry& entry = sycl_call("choosing the default device", [&]() -> const Entry& {
    const sycl::device device(sycl::default_selector_v);
    return table().root_of(device);
  });
  return entry;
}

const Entry& entry_of(const void* device, const void* context) {
  return sycl_call("looking up a device", [&]() -> const Entry& {
    return table().of(device_at(device), context_at(context));
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
    const sycl::context& wanted = context_at(context);
    const auto devices = wanted.get_devices();
    if (device) {
      if (is_served(device_at(device), wanted)) return table().of(device_at(device), wanted);
      fail(Error::Kind::value, "the device '",
           device_at(device).get_info<sycl::info::device::name>(),
           "' does not belong to the context, which has ", devices.size(), " device(s)");
    }
    if (devices.size() != 1) {
      fail(Error::Kind::value, "the context has ", devices.size(),
           " devices; say which one is meant with device=");
    }
    return table().of(devices.front(), wanted);
  });
}

const Entry& entry_of_device(const void* device) {
  return sycl_call("looking up a device",
                   [&]() -> const Entry& { return table().home_of(device_at(device)); });
}

bool Entry::reaches(const Entry& other) const noexcept {
  const auto is_part = [](const Entry& part, const std::vector<int>& components) {
    return std::find(components.begin(), components.end(), part.root_id) != components.end();
  };
  return root_id == other.root_id || is_part(other, components) || is_part(*this, other.components);
}

std::string Partition::description() const {
  switch (kind) {
    case Kind::affinity_domain:
      return domain;
    case Kind::cslice:
      return "cslice";
    default:
      std::string text = kind == Kind::equally ? "equally" : "counts";
      for (const std::size_t count : counts) text += " " + std::to_string(count);
      return text;
  }
}

std::vector<const Entry*> create_sub_devices(const Entry& entry, const Partition& partition) {
  try {
    return table().cut(entry, partition);
  } catch (const sycl::exception& error) {
    return sycl_call("asking how a device can be cut", [&]() -> std::vector<const Entry*> {
      fail(Error::Kind::runtime, "device ", entry.id, " ('", entry.name, "', ",
           entry.sycl->device.get_info<sycl::info::device::max_compute_units>(),
           " compute units) cannot be cut by partition '", partition.description(),
           "': ", error.what(), " (sycl::errc ", error.code().value(), "); it can be cut by ",
           ways_to_cut(entry.sycl->device));
    });
  }
}

void meet_unlisted_devices() noexcept {
  static std::once_flag met;
  std::call_once(met, [] {
    const auto meet = [](const auto& make) {
      try {
        make();
      } catch (...) {  // a device without parts, a driver without cards
      }
    };
    const Partition tiles{Partition::Kind::affinity_domain, {}, "next_partitionable"};
    for (int id = 0; id < root_count(); ++id) {
      const sycl::device& device = entry_at(id).sycl->device;
      if (device.get_backend() == sycl::backend::opencl) continue;
      meet([&] { make_parts(device, tiles); });
    }
    meet([] { sycl::ext::oneapi::experimental::get_composite_devices(); });
  });
}

std::size_t default_context_count() { return table().default_contexts().size(); }

const Entry& first_entry_of_default_context(std::size_t number) {
  return *table().default_contexts()[number];
}

bool same_context(const Entry& a, const Entry& b) noexcept {
  return a.sycl->context == b.sycl->context;
}

bool copies_directly(const Entry& from, const Entry& to) {
  if (from.host_memory || to.host_memory) return true;
  const bool one_device = from.root_id == to.root_id;
  if (one_device && same_context(from, to)) return true;
  return sycl_call("asking whether memory can be copied directly", [&] {
    sycl::device target = entry_at(to.root_id).sycl->device;
    const sycl::device& source = entry_at(from.root_id).sycl->device;
    if (target.get_platform() != source.get_platform()) return false;
    // On OpenCL each context has its own list of USM; elsewhere the driver has one for all.
    if (to.backend == "opencl" && !same_context(from, to)) return false;
    return one_device || target.ext_oneapi_can_access_peer(source);
  });
}

void require_usm(const Entry& entry, bool aspect, const char* usm_type) {
  if (aspect) return;
  fail(Error::Kind::buffer, "device ", entry.id, " ('", entry.name, "', ", entry.backend,
       ") has no USM of kind '", usm_type,
       "'; choose another device (`python -m sycl_ext devices` lists them)");
}

}  // namespace sycl_ext
