// SPDX-License-Identifier: Apache-2.0
#include "runtime/sycl/untrusted.hpp"

#include <cstdint>
#include <string>

#include "base/first_made.hpp"
#include "base/process_memory.hpp"
#include "runtime/sycl/handles.hpp"
#include "runtime/sycl/runtimes.hpp"

namespace sycl_ext {

namespace {

// A copy of the bytes of a SYCL object, which is one shared_ptr of libstdc++. The copy cannot
// change after it was checked.
struct Image {
  const void* object = nullptr;
  const void* control_block = nullptr;
};

// The head of a control block of libstdc++.
struct Head {
  const void* vtable;      // one for all objects of a class of one libsycl
  std::int32_t uses;       // 0: the object was destroyed
  std::int32_t observers;  // of a live object at least 1: all its uses together are one
  // In freed memory, the size of another block of malloc may take the place of `uses`.
  bool is_live() const noexcept { return uses > 0 && observers > 0; }
};

// A class of the runtime: its name for users, the vtable of its control blocks, and the distance
// from a control block to its object, which are one allocation.  (The allocator may overwrite only
// the first of the two pointers of a freed handle.)
struct Class {
  const char *name, *in_dpctl;
  const void* vtable;
  std::uintptr_t object_offset;
};

std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

std::uintptr_t offset_in(const Image& image) {
  return number(image.object) - number(image.control_block);
}

// Reads a value at an address.  False: the address is not readable or not aligned.
template <class Value>
bool read(const void* address, Value* to) {
  return number(address) % alignof(void*) == 0 && read_process_memory(address, to, sizeof *to);
}

// The properties of a class, read from a live object.
template <class SyclObject>
Class class_of(const SyclObject& live, const char* name, const char* in_dpctl) {
  static_assert(sizeof(SyclObject) == sizeof(Image));
  const auto& image = reinterpret_cast<const Image&>(live);
  return {name, in_dpctl, static_cast<const Head*>(image.control_block)->vtable, offset_in(image)};
}

// The classes of this process's libsycl, read from a queue that this package makes.
struct Classes {
  Class queue, context;
};

FirstMade<const Classes> the_classes;

const Classes& classes() {
  return the_classes.get_once([] {
    return sycl_call("creating a queue", [] {
      const sycl::queue live(sycl::default_selector_v, [](sycl::exception_list) {});
      return Classes{class_of(live, "sycl::queue", "dpctl.SyclQueue"),
                     class_of(live.get_context(), "sycl::context", "dpctl.SyclContext")};
    });
  });
}

// A copy of the object at an address.  Error(value): no object of the class is there.
Image examined(const void* address, const Class& ours) {
  Image image;
  Head head{};
  const bool has_head = read(address, &image) && image.object && read(image.control_block, &head);
  const bool is_ours = has_head && head.vtable == ours.vtable;
  if (is_ours && head.is_live() && offset_in(image) == ours.object_offset) return image;
  const std::string theirs = has_head ? library_of(head.vtable) : "", own = library_of(ours.vtable);
  if (names_libsycl(theirs) && theirs != own) {
    fail(Error::Kind::value, "the object at address ", address, " belongs to ", file_name(theirs),
         " (", theirs, "), but sycl_ext uses ", file_name(own), " (", own,
         "); two SYCL runtimes cannot share queues or contexts: pass a ", ours.name, " of ",
         file_name(own), ", or stream=None, which waits on the host");
  }
  fail(Error::Kind::value, "there is no ", ours.name, " of this process's SYCL runtime at address ",
       address, is_ours ? " (it was destroyed, or another object is there)" : "", "; pass a ",
       ours.in_dpctl, ", or the address of a live ", ours.name);
}

}  // namespace

Queue queue_at_untrusted(const void* address) {
  const Image image = examined(address, classes().queue);
  return Queue::from_address(&image);
}

void require_context_at(const void* address) { examined(address, classes().context); }

}  // namespace sycl_ext
