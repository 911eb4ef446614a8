// SPDX-License-Identifier: Apache-2.0
#include "runtime/sycl/untrusted.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "base/first_made.hpp"
#include "base/process_memory.hpp"
#include "runtime/sycl/handles.hpp"
#include "runtime/sycl/runtimes.hpp"

namespace sycl_ext {

namespace {

// A SYCL object is one shared_ptr of libstdc++.  A copy of its bytes does not change after the
// check.
struct Image {
  const void* object = nullptr;
  const std::byte* control_block = nullptr;

  bool operator==(const Image& other) const noexcept {
    return object == other.object && control_block == other.control_block;
  }
};

// The head of a control block of libstdc++.
struct Head {
  const void* vtable;  // one for all objects of a class of one libsycl
  std::int32_t uses;
  std::int32_t weak_uses;  // all uses together count as one
};

// A class of the runtime, as users know it, and where it keeps things, counted from the control
// block, which is one allocation with the object behind it.
struct Anatomy {
  const char *name, *in_dpctl;
  const void* vtable;
  std::uintptr_t object;
  std::size_t self = 0;  // the object's weak_ptr to itself; 0: it has none
};

std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// False: nothing of the kind can be there.
template <class Value>
bool read(const void* address, Value* to) {
  return number(address) % alignof(void*) == 0 && read_process_memory(address, to, sizeof *to);
}

// As seen on a live object.
template <class SyclObject>
Anatomy anatomy_of(const SyclObject& live, const char* name, const char* in_dpctl) {
  static_assert(sizeof(SyclObject) == sizeof(Image));
  constexpr std::size_t farthest = 256;  // it stands before any container
  const Image image = *reinterpret_cast<const Image*>(&live);
  Anatomy anatomy{name, in_dpctl, reinterpret_cast<const Head*>(image.control_block)->vtable,
                  number(image.object) - number(image.control_block)};
  Image self;
  for (std::size_t place = sizeof(Head); place < farthest && !anatomy.self;
       place += sizeof(void*)) {
    if (read(image.control_block + place, &self) && self == image) anatomy.self = place;
  }
  return anatomy;
}

// The classes of this process's libsycl, as a queue of our own shows them.
struct Classes {
  Anatomy queue, context;
};

FirstMade<const Classes> the_classes;

const Classes& classes() {
  return the_classes.get_once([] {
    return sycl_call("creating a queue", [] {
      const sycl::queue live(sycl::default_selector_v, [](sycl::exception_list) {});
      return Classes{anatomy_of(live, "sycl::queue", "dpctl.SyclQueue"),
                     anatomy_of(live.get_context(), "sycl::context", "dpctl.SyclContext")};
    });
  });
}

// Whether the object behind an image is alive; its head is that of an object of the class.
bool is_alive(const Anatomy& ours, const Image& image, const Head& head) {
  const auto plausible = [](std::int32_t count) {
    return count > 0 && count < std::numeric_limits<std::int32_t>::max() / 2;
  };
  Image self = image;
  return plausible(head.uses) && plausible(head.weak_uses) &&
         number(image.object) - number(image.control_block) == ours.object &&
         (!ours.self || (read(image.control_block + ours.self, &self) && self == image));
}

// Error(value) unless an object of the class is there.
Image examined(const void* address, const Anatomy& ours) {
  Image image;
  Head head{};
  const bool has_head = read(address, &image) && image.object && read(image.control_block, &head);
  const bool is_ours = has_head && head.vtable == ours.vtable;
  if (is_ours && is_alive(ours, image, head)) return image;
  const std::string theirs = has_head ? library_of(head.vtable) : "", own = library_of(ours.vtable);
  if (names_libsycl(theirs) && theirs != own) {
    fail(Error::Kind::value, "the object at address ", address, " belongs to ", file_name(theirs),
         " (", theirs, "), and this package uses ", file_name(own), " (", own,
         "); two SYCL runtimes share neither queues nor contexts: pass a ", ours.name, " of ",
         file_name(own), ", or stream=None, which waits for the data on the host");
  }
  fail(Error::Kind::value, "there is no ", ours.name, " of this process's SYCL runtime at address ",
       address, is_ours ? " (it was deleted, or the bytes are not such an object)" : "",
       "; pass a ", ours.in_dpctl, ", or the address of a live ", ours.name);
}

}  // namespace

Queue queue_at_untrusted(const void* address) {
  const Image image = examined(address, classes().queue);
  return Queue::from_address(&image);
}

void require_context_at(const void* address) { examined(address, classes().context); }

}  // namespace sycl_ext
