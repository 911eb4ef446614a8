// SPDX-License-Identifier: Apache-2.0
// For each operation of the core: every allocation, and every call into the SYCL runtime, fails in
// turn.  The result is std::bad_alloc or an Error of the kind that the table of rule R4 names,
// the live counts balance, earlier objects are unchanged, and the same operation then works.
#include <dlpack/dlpack.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "check.hpp"
#include "dlpack/export.hpp"
#include "dlpack/import.hpp"
#include "gate.hpp"
#include "runtime/devices/entry_handles.hpp"
#include "runtime/memory/host_registration.hpp"
#include "runtime/memory/ipc.hpp"
#include "runtime/sycl/commands.hpp"
#include "runtime/sycl/handles.hpp"
#include "runtime/sycl/untrusted.hpp"
#include "settled.hpp"
#include "tensor/copy.hpp"

using namespace sycl_ext;

namespace {

const char* running = "";  // the operation that runs

using Kind = Error::Kind;

Tensor numbers(UsmKind kind, const std::vector<std::int64_t>& shape) {
  const DType& dtype = dtype_named("int16");
  const Tensor host = make_host_tensor(
      dtype, read_layout(static_cast<int>(shape.size()), shape.data(), Order::c, 2));
  for (std::size_t i = 0; i < host.nbytes(); ++i) host.data[i] = static_cast<std::byte>(i * 37);
  return kind == UsmKind::system ? host : copy_to_entry(host, default_entry(), kind);
}

// Every second element of the last axis but one, and the last axis reversed.
Tensor sliced(const Tensor& tensor) {
  Layout layout = tensor.layout;
  const int rows = layout.ndim() - 2, columns = layout.ndim() - 1;
  const std::int64_t last = layout.shape()[columns] - 1;
  layout.shape()[rows] /= 2;
  layout.strides()[rows] *= 2;
  layout.strides()[columns] *= -1;
  return make_view(tensor, last, layout);
}

// A private context of the entry's device.  The tests' own call does not fail.
sycl::context new_context(const Entry& entry) {
  const Gate before = runtime;
  runtime = {};
  sycl::context context(*static_cast<const sycl::device*>(entry.device_address()));
  runtime = before;
  return context;
}

// Nothing fails as long as it lives: for the questions of a test after a failure.
class Undisturbed {
 public:
  Undisturbed() : allocators_(allocators), runtime_(runtime) { allocators = runtime = {}; }
  ~Undisturbed() {
    allocators = allocators_;
    runtime = runtime_;
  }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  const Gate allocators_, runtime_;
};

// The state before a call failed.
struct World {
  const Entry& entry = default_entry();
  sycl::context context = new_context(entry);
  const Entry& elsewhere = entry_of_context(&context, nullptr);
  Tensor device = numbers(UsmKind::device, {30, 40});
  Tensor large = numbers(UsmKind::device, {3, 8, 150000});
  Tensor shared = numbers(UsmKind::shared, {2, 3, 2, 4, 5});
  Tensor host = numbers(UsmKind::system, {30, 40});
  Tensor abroad = copy_to_entry(host, elsewhere, UsmKind::device);
  Queue queue = Queue::from_address(elsewhere.queue().share());

  std::vector<std::byte> bytes() const {
    std::vector<std::byte> all;
    for (const Tensor& tensor : {device, large, shared, host, abroad}) {
      const Tensor copy = copy_to_host(tensor);
      all.insert(all.end(), copy.data, copy.data + copy.nbytes());
    }
    return all;
  }
};

const World& world() {
  static const World* const made = new World;
  return *made;
}

void require_equal(const Tensor& actual, const Tensor& wanted) {
  const Tensor a = copy_to_host(actual), b = copy_to_host(wanted);
  CHECK(a.nbytes() == b.nbytes() && std::equal(a.data, a.data + a.nbytes(), b.data));
}

int handed_over, deleted;

// A third-party struct over a tensor of ours.
template <class Managed>
Imported import_third_party(const Tensor& tensor, DLDevice device, bool find_usm) {
  static Managed managed;
  static std::vector<std::int64_t> dims;
  const int ndim = tensor.layout.ndim();
  dims.assign(tensor.layout.shape(), tensor.layout.shape() + 2 * ndim);
  managed = {};
  write_dl_tensor(tensor, device, &managed.dl_tensor);
  managed.dl_tensor.shape = dims.data();
  managed.dl_tensor.strides = dims.data() + ndim;
  managed.deleter = [](Managed*) { ++deleted; };
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) managed.version = {1, 3};
  ++handed_over;
  const Entry* const reader =
      find_usm && has_usm(default_entry(), UsmKind::system) ? &default_entry() : nullptr;
  return import_managed(&managed, {nullptr, find_usm, reader});
}

void import_and_drop(const Tensor& tensor, DLDevice device, bool find_usm) {
  handed_over = deleted = 0;
  const auto all_are_deleted = [] {
    wait_for_deferred_frees();
    return deleted == handed_over;
  };
  try {
    import_third_party<DLManagedTensorVersioned>(tensor, device, find_usm);
    import_third_party<DLManagedTensor>(tensor, device, find_usm);
  } catch (...) {
    CHECK(all_are_deleted());
    throw;
  }
  CHECK(handed_over == 2 && all_are_deleted());
}

template <class Managed>
void round_trip(const Tensor& tensor) {
  auto* managed = export_managed<Managed>(tensor, {tensor.dl_device()});
  CHECK(import_managed(managed, {}).tensor.data == tensor.data);
}

struct Operation {
  const char* name;
  std::function<void(const World&)> run;
};

// The kinds that may come out: see the table of rule R4.
bool is_allowed(const Error& error) {
  return error.kind() == Kind::memory || error.kind() == Kind::runtime ||
         // Where the runtime does not know a pointer, it is nobody's.
         error.kind() == Kind::buffer;
}

// A block that a copy which goes on keeps; by this name the leak sanitizer knows those that are
// given up.
[[gnu::noinline]] Tensor block_of_copy(const World& w) {
  return make_tensor(w.entry, UsmKind::device, *w.device.dtype, w.device.layout);
}

const std::vector<Operation>& operations() {
  static const auto* const all = new std::vector<Operation>{
      {"allocate",
       [](const World& w) {
         for (const UsmKind kind : {UsmKind::device, UsmKind::shared, UsmKind::host}) {
           for (const std::size_t nbytes : {0, 100, 100000}) {
             CHECK(allocate(w.entry, kind, nbytes)->nbytes == nbytes);
           }
         }
       }},
      {"allocate with a queue",
       [](const World& w) { allocate(w.elsewhere, UsmKind::device, 64, w.queue); }},
      {"allocate on the host",
       [](const World&) {
         for (const std::size_t nbytes : {0, 100, 100000, 5000000}) allocate_host(nbytes);
       }},
      {"fill with zeros",
       [](const World& w) {
         for (const UsmKind kind : {UsmKind::device, UsmKind::shared}) {
           const Tensor tensor = make_tensor(w.entry, kind, *w.host.dtype, w.host.layout);
           fill_zero(tensor);
           const Tensor copy = copy_to_host(tensor);
           for (std::size_t i = 0; i < copy.nbytes(); ++i) CHECK(copy.data[i] == std::byte{0});
         }
       }},
      {"to the host", [](const World& w) { require_equal(copy_to_host(w.device), w.host); }},
      {"to host USM, in columns",
       [](const World& w) { copy_to_entry(sliced(w.device), w.entry, UsmKind::host, Order::f); }},
      {"to the host, staged", [](const World& w) { copy_to_host(sliced(w.large)); }},
      {"from the host",
       [](const World& w) {
         require_equal(copy_to_entry(w.host, w.entry, UsmKind::device), w.host);
         require_equal(copy_to_entry(sliced(w.host), w.entry, UsmKind::host), sliced(w.host));
       }},
      {"from the host, staged",
       [](const World& w) {
         const Tensor to = make_tensor(w.entry, UsmKind::device, *w.large.dtype, w.large.layout);
         const Tensor from = copy_to_host(w.large);
         copy_elements(sliced(to), sliced(from));
         copy_elements(to, from);
         require_equal(to, from);
       }},
      {"device to device",
       [](const World& w) {
         require_equal(copy_to_entry(w.device, w.entry, UsmKind::device, Order::f), w.host);
         require_equal(copy_to_entry(w.device, w.elsewhere, UsmKind::device), w.host);
         require_equal(copy_to_entry(w.abroad, w.entry, UsmKind::shared), w.host);
         copy_to_entry(sliced(w.large), w.elsewhere, UsmKind::device);
       }},
      {"onto itself",
       [](const World& w) {
         const Tensor tensor = copy_to_entry(w.device, w.entry, UsmKind::device);
         Layout turned = tensor.layout;
         for (int axis : {0, 1}) turned.strides()[axis] *= -1;
         copy_elements(tensor, make_view(tensor, tensor.size() - 1, turned));
       }},
      {"views",
       [](const World& w) {
         const std::int64_t shape[] = {6, 40};
         Layout flat = read_layout(2, shape, Order::c, 2);
         CHECK(reshape_layout(w.shared.layout, &flat));
         require_equal(make_view(w.shared, 0, flat), w.shared);
         CHECK(as_host_view(w.shared).on_host);
       }},
      {"exports",
       [](const World& w) {
         round_trip<DLManagedTensor>(w.device);
         round_trip<DLManagedTensorVersioned>(w.shared);
         round_trip<DLManagedTensor>(as_host_view(w.shared));
       }},
      {"imports of USM",
       [](const World& w) { import_and_drop(w.device, {kDLOneAPI, w.entry.id}, false); }},
      {"imports of USM of another context",
       [](const World& w) { import_and_drop(w.abroad, {kDLOneAPI, w.elsewhere.id}, false); }},
      {"imports of host memory",
       [](const World& w) {
         import_and_drop(w.host, {kDLCPU, 0}, false);
         import_and_drop(w.host, {kDLCPU, 0}, true);
         import_and_drop(w.shared, {kDLCPU, 0}, true);
       }},
      {"relabel",
       [](const World& w) { relabel(as_host_view(w.shared), w.entry, UsmKind::shared); }},
      {"owners",
       [](const World& w) {
         UsmKind kind;
         find_owner(w.device.data, &kind);
         find_owner(w.abroad.data, &kind);
         find_owner(w.host.data, &kind);
         find_owner(w.abroad.data, &kind, true);
         entry_in_context(w.abroad.data, w.elsewhere.context_address());
       }},
      {"look up entries",
       [](const World& w) {
         CHECK(&entry_of(w.queue) == &w.elsewhere);
         CHECK(&entry_of(w.entry.device_address(), w.entry.context_address()) == &w.entry);
         CHECK(&entry_of_device(w.entry.device_address()) == &w.entry);
         CHECK(&entry_of_context(w.elsewhere.context_address(), w.entry.device_address()) ==
               &w.elsewhere);
         copies_directly(w.entry, w.elsewhere);
       }},
      {"register a context",
       [](const World& w) {
         const sycl::context context = new_context(w.entry);
         const Entry& entry = entry_of_context(&context, nullptr);
         CHECK(entry.kind == EntryKind::context && entry.parent == &w.entry &&
               !entry.default_context);
         CHECK(&entry_of(entry.queue()) == &entry);
       }},
      {"register a context, and again after a failure",
       [](const World& w) {
         const sycl::context context = new_context(w.entry);
         const int before = entry_count();
         const auto is_there_once = [&] {
           const Entry& entry = entry_of_context(&context, nullptr);
           CHECK(entry.id == before && entry_count() == before + 1);
           CHECK(&entry_of_context(&context, w.entry.device_address()) == &entry);
         };
         try {
           entry_of_context(&context, nullptr);
         } catch (...) {
           const Undisturbed undisturbed;
           CHECK(entry_count() == before);
           is_there_once();
           throw;
         }
         is_there_once();
       }},
      {"cut a device",
       [](const World& w) {
         for (const Partition& partition :
              {Partition{"equally", {1}}, Partition{"next_partitionable", {}}}) {
           try {
             const auto sub_devices = create_sub_devices(w.entry, partition);
             CHECK(sub_devices.size() > 1 && sub_devices == create_sub_devices(w.entry, partition));
             for (const Entry* sub_device : sub_devices)
               CHECK(sub_device->parent == &w.entry && sub_device->queue());
           } catch (const Error& error) {  // the device cannot be cut in this way
             if (std::string(error.what()).find("planned") != std::string::npos) throw;
           }
         }
       }},
      {"inter-process handles",
       [](const World& w) {
         if (!has_ipc(w.entry)) return;
         const Memory block = allocate(w.entry, UsmKind::device, 64, {}, true);
         CHECK(!export_ipc(block, block->data, block->nbytes).bytes.empty());
       }},
      {"registered host memory",
       [](const World& w) {
         const Memory host = allocate_host(1 << 20);
         const Registration whole = register_host(host, host->data, host->nbytes);
         CHECK(register_host(host, host->data + 100, 10) == whole);
         CHECK(whole->contains(host->data, 1 << 20) && !whole->contains(host->data, (1 << 20) + 1));
         CHECK(registrations_of(host->data, 10).size() == 1);
       }},
      {"copies that go on",
       [](const World& w) {
         const Tensor source = block_of_copy(w), target = block_of_copy(w);
         wait_for_all({begin_copy(target, source)});
         const auto [to, copy] = begin_copy_to_host(target);
         wait_for_all({copy});
         CHECK(std::memcmp(to.data, copy_to_host(source).data, to.nbytes()) == 0);
       }},
      {"queues",
       [](const World& w) {
         const Queue queue = queue_at_untrusted(w.entry.queue().share());
         CHECK(queue == w.entry.queue());
         require_context_at(w.entry.context_address());
         CHECK(queue.new_reference());
         const std::vector<std::byte> from(64);
         wait_for_all({queue.submit_copy(w.device.data, w.host.data, 64)});
         w.entry.queue().submit_copy(w.device.data, w.host.data, 64);
         w.queue.order_after(w.entry.queue());
         w.entry.queue().order_after(w.queue);
         w.queue.wait();
         w.entry.queue().wait();
       }},
  };
  return *all;
}

struct Live {
  long allocations = settled_allocations(), exports = live_exports();
  bool operator==(const Live& other) const {
    return allocations == other.allocations && exports == other.exports;
  }
};

// Nothing is in flight, and nothing is kept that a second run would find.
void end_all_work() {
  world().entry.queue().wait();
  world().queue.wait();
  release_cached_memory();
}

long errors, problems;

// The defect in the result of one run in which a call failed; nullptr: nothing.
const char* run_once(const Operation& operation, const Gate& gate) {
  try {
    operation.run(world());
    return nullptr;
  } catch (const std::bad_alloc&) {
    ++errors;
    return &gate == &allocators ? nullptr : "std::bad_alloc comes from the runtime's failure";
  } catch (const Error& error) {
    ++errors;
    return is_allowed(error) ? nullptr : "an error of another kind comes out";
  } catch (const check::Failure&) {
    return "a wrong result comes out";
  } catch (...) {
    return "the exception is not an Error";
  }
}

// Before the process ends because an exception left a function that promises not to throw.
void say_what_failed() {
  std::fprintf(stderr, "%s, call %ld (%s) ends the process\n", running, runtime.fail_at, failed);
  std::abort();
}

// Calls number 1, 2, ... of the operation fail, until one run needs fewer calls than that.
void fail_in_turn(const Operation& operation, Gate& gate) {
  std::set_terminate(say_what_failed);
  running = operation.name;
  const std::vector<std::byte> before = world().bytes();
  end_all_work();
  const Live live;
  for (long number = 1;; ++number) {
    gate = {0, number};
    const char* problem = run_once(operation, gate);
    gate.fail_at = 0;
    if (!(Live() == live)) problem = "the live counts do not balance";
    if (problem) {
      ++problems;
      std::fprintf(stderr, "%s, call %ld (%s): %s\n", operation.name, number, failed, problem);
    }
    if (gate.calls < number) break;
    end_all_work();
  }
  CHECK(world().bytes() == before);
  operation.run(world());
}

}  // namespace

TEST(faults_of_every_allocation) {
  errors = problems = 0;
  failed = "an allocation";
  for (const Operation& operation : operations()) fail_in_turn(operation, allocators);
  std::printf("%ld errors came out, %ld of them wrong\n", errors, problems);
  CHECK(problems == 0 && errors > 50);
}

TEST(faults_of_every_call_of_the_runtime) {
  errors = problems = 0;
  for (const Operation& operation : operations()) fail_in_turn(operation, runtime);
  std::printf("%ld errors came out, %ld of them wrong\n", errors, problems);
  CHECK(problems == 0 && errors > 50);
}
