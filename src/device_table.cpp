// SPDX-License-Identifier: Apache-2.0
#include "device_table.hpp"

#include <array>
#include <deque>
#include <map>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "sycl_handles.hpp"

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

class Table {
 public:
  Table() {
    sycl_call("listing the SYCL devices", [&] {
      std::map<std::string, int> ordinals;  // filter strings count per backend and type
      for (const sycl::device& device : sycl::device::get_devices()) {
        Row& row = append(device, default_context(device.get_platform()));
        row.root_id = row.id;
        row.parent = nullptr;
        row.kind = RowKind::root;
        row.default_context = true;
        const std::string prefix = row.backend + ":" + row.device_type;
        row.filter_string = prefix + ":" + std::to_string(ordinals[prefix]++);
      }
    });
    root_count_ = static_cast<int>(rows_.size());
  }

  int root_count() const noexcept { return root_count_; }

  int row_count() const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    return static_cast<int>(rows_.size());
  }

  const Row* find(int id) const noexcept {
    if (id >= 0 && id < root_count_) return &rows_[static_cast<std::size_t>(id)];  // never change
    std::shared_lock<std::shared_mutex> lock(mutex_);
    return id >= 0 && id < static_cast<int>(rows_.size()) ? &rows_[static_cast<std::size_t>(id)]
                                                          : nullptr;
  }

  const Row& of(const sycl::device& device, const sycl::context& context) {
    const PairKey key{device, context};
    {
      std::shared_lock<std::shared_mutex> lock(mutex_);
      if (const auto found = by_pair_.find(key); found != by_pair_.end()) return *found->second;
    }
    std::unique_lock<std::shared_mutex> lock(mutex_);
    if (const auto found = by_pair_.find(key); found != by_pair_.end()) return *found->second;
    const bool partitioned = is_sub_device(device);
    const Row& root = root_of(device);
    Row& row = append(device, context);
    row.root_id = root.id;
    row.parent = &root;
    row.kind = partitioned ? RowKind::sub_device : RowKind::context;
    row.default_context = context == root.sycl->context;
    return row;
  }

  const Row& root_of(sycl::device device) const {
    while (is_sub_device(device)) device = device.get_info<sycl::info::device::parent_device>();
    for (int id = 0; id < root_count_; ++id) {
      if (rows_[static_cast<std::size_t>(id)].sycl->device == device) {
        return rows_[static_cast<std::size_t>(id)];
      }
    }
    fail(Error::Kind::value, "the device '", device.get_info<sycl::info::device::name>(),
         "' is not among the ", root_count_,
         " root devices of this process (ONEAPI_DEVICE_SELECTOR may hide it)");
  }

  // Where a sub-device lives when nobody names a context.  Level Zero lets a tile use the default
  // context; OpenCL does not, so there it gets one of its own, made once.
  const Row& home_of(const sycl::device& device) {
    const Row& root = root_of(device);
    if (!is_sub_device(device)) return root;
    if (root.backend != "opencl") return of(device, root.sycl->context);
    {
      std::shared_lock<std::shared_mutex> lock(mutex_);
      if (const auto found = homes_.find(device); found != homes_.end()) return *found->second;
    }
    const Row& row = of(device, sycl::context(device));
    std::unique_lock<std::shared_mutex> lock(mutex_);
    return *homes_.emplace(device, &row).first->second;
  }

  static bool is_sub_device(const sycl::device& device) {
    return device.get_info<sycl::info::device::partition_type_property>() !=
           sycl::info::partition_property::no_partition;
  }

 private:
  // The caller holds the lock and fills in what makes the row a root, sub-device or context.
  Row& append(const sycl::device& device, const sycl::context& context) {
    Row& row = rows_.emplace_back();
    row.id = static_cast<int>(rows_.size()) - 1;
    row.name = device.get_info<sycl::info::device::name>();
    row.backend = backend_name(device.get_backend());
    row.device_type = type_name(device);
    row.driver_version = device.get_info<sycl::info::device::driver_version>();
    row.fp16 = device.has(sycl::aspect::fp16);
    row.fp64 = device.has(sycl::aspect::fp64);
    row.usm_device = device.has(sycl::aspect::usm_device_allocations);
    row.usm_shared = device.has(sycl::aspect::usm_shared_allocations);
    row.usm_host = device.has(sycl::aspect::usm_host_allocations);
    row.usm_system = device.has(sycl::aspect::usm_system_allocations);
    // is_cpu() alone would trust backends that nobody has tried.
    // On Level Zero a context also serves the tiles of its devices; on OpenCL it does not.
    row.single_device =
        device.get_backend() == sycl::backend::opencl && context.get_devices().size() == 1;
    row.host_memory = device.get_backend() == sycl::backend::opencl && device.is_cpu();
    row.sycl = std::make_shared<const RowHandles>(RowHandles{device, context});
    by_pair_.emplace(PairKey{device, context}, &row);
    return row;
  }

  int root_count_ = 0;
  mutable std::shared_mutex mutex_;
  std::deque<Row> rows_;  // a deque: rows never move
  std::unordered_map<PairKey, const Row*, PairHash> by_pair_;
  std::unordered_map<sycl::device, const Row*> homes_;  // OpenCL sub-devices
};

// Never destroyed: a deleter may run after the static destructors.
Table& table() {
  static Table* const instance = new Table;
  return *instance;
}

const sycl::device& device_at(const void* address) {
  return *static_cast<const sycl::device*>(address);
}

const sycl::context& context_at(const void* address) {
  return *static_cast<const sycl::context*>(address);
}

}  // namespace

const Queue& Row::queue() const {
  std::call_once(queue_made_, [this] { queue_ = Queue(make_queue(sycl->context, sycl->device)); });
  return queue_;
}

void* Row::new_context_reference() const { return new sycl::context(sycl->context); }

void Row::delete_context_reference(void* reference) noexcept {
  delete static_cast<sycl::context*>(reference);
}

const void* Row::device_address() const noexcept { return &sycl->device; }
const void* Row::context_address() const noexcept { return &sycl->context; }

int root_count() { return table().root_count(); }
int row_count() { return table().row_count(); }
const Row* find_row(int id) noexcept { return table().find(id); }

const Row& row_at(int id) {
  if (const Row* row = find_row(id)) return *row;
  if (row_count() == 0) {
    fail(Error::Kind::value, "there is no device ", id,
         ": SYCL found no device at all; `python -m sycl_ext devices` says why");
  }
  fail(Error::Kind::value, "there is no device ", id, "; the table has rows 0 to ",
       row_count() - 1);
}

const Row& default_row() {
  if (root_count() == 0) {
    fail(Error::Kind::runtime,
         "SYCL found no device; `python -m sycl_ext devices` says why (on a machine without a GPU "
         "install the CPU device: pip install \"sycl_ext[cpu]\")");
  }
  static const Row& row = sycl_call("choosing the default device", [&]() -> const Row& {
    const sycl::device device(sycl::default_selector_v);
    return table().root_of(device);
  });
  return row;
}

const Row& row_of(const void* device, const void* context) {
  return sycl_call("looking up a device", [&]() -> const Row& {
    return table().of(device_at(device), context_at(context));
  });
}

const Row& row_of(const Queue& queue) {
  return sycl_call("looking up the device of a queue", [&]() -> const Row& {
    const sycl::queue& handle = queue.state().queue;
    return table().of(handle.get_device(), handle.get_context());
  });
}

const Row& row_of_context(const void* context, const void* device) {
  return sycl_call("looking up the device of a context", [&]() -> const Row& {
    const sycl::context& wanted = context_at(context);
    const auto devices = wanted.get_devices();
    if (device) {
      for (const sycl::device& member : devices) {
        if (member == device_at(device)) return table().of(member, wanted);
      }
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

void require_context_at(const void* address) {
  if (!looks_alike(default_row().sycl->context, address)) {
    fail(Error::Kind::value, "there is no sycl::context of this process's SYCL runtime at address ",
         address);
  }
}

const Row& row_of_device(const void* device) {
  return sycl_call("looking up a device",
                   [&]() -> const Row& { return table().home_of(device_at(device)); });
}

bool same_context(const Row& a, const Row& b) noexcept {
  return a.sycl->context == b.sycl->context;
}

bool copies_directly(const Row& from, const Row& to) {
  if (from.root_id == to.root_id || from.host_memory || to.host_memory) return true;
  return sycl_call("asking for peer access", [&] {
    sycl::device source = row_at(from.root_id).sycl->device;
    const sycl::device& target = row_at(to.root_id).sycl->device;
    return source.get_platform() == target.get_platform() &&
           source.ext_oneapi_can_access_peer(target);
  });
}

void require_usm(const Row& row, bool aspect, const char* usm_type) {
  if (aspect) return;
  fail(Error::Kind::buffer, "device ", row.id, " ('", row.name, "', ", row.backend,
       ") has no USM of kind '", usm_type,
       "'; choose another device (`python -m sycl_ext devices` lists them)");
}

}  // namespace sycl_ext
