// SPDX-License-Identifier: Apache-2.0
#include "runtime/untrusted.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "base/lock.hpp"
#include "base/process_memory.hpp"
#include "runtime/runtimes.hpp"
#include "runtime/sycl_handles.hpp"

namespace sycl_ext {

namespace {

// A SYCL object is one shared_ptr of libstdc++.  A copy of its bytes does not change after the
// check.
struct Image {
  const void* object = nullptr;
  const void* control_block = nullptr;

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

// Where the runtime keeps things of one class, counted from the control block, which is one
// allocation with the object behind it.
struct Anatomy {
  const void* vtable = nullptr;
  std::uintptr_t object = 0;
  std::size_t self = 0;  // the object's weak_ptr to itself; 0: it has none
};

// What is wrong with an address.
enum class Fault { none, nothing, dead, other_class, denied };

struct Finding {
  Fault fault = Fault::none;
  const void* vtable = nullptr;  // Fault::other_class
};

std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

template <class Value>
Fault read(const void* address, Value* to) {
  if (!address || number(address) % alignof(void*) != 0) return Fault::nothing;
  switch (copy_from_process(address, to, sizeof *to)) {
    case Touch::done:
      return Fault::none;
    case Touch::denied:
      return Fault::denied;
    default:
      return Fault::nothing;
  }
}

const std::byte* bytes_of(const Image& image) {
  return static_cast<const std::byte*>(image.control_block);
}

// As seen on a live object.
template <class SyclObject>
Anatomy anatomy_of(const SyclObject& live) {
  static_assert(sizeof(SyclObject) == sizeof(Image));
  constexpr std::size_t farthest = 256;  // it stands before any container
  const Image image = *reinterpret_cast<const Image*>(&live);
  Anatomy found{static_cast<const Head*>(image.control_block)->vtable,
                number(image.object) - number(image.control_block)};
  Image self;
  for (std::size_t place = sizeof(Head); place < farthest; place += sizeof(void*)) {
    if (read(bytes_of(image) + place, &self) != Fault::none) break;
    if (!(self == image)) continue;
    found.self = place;
    break;
  }
  return found;
}

// The classes of this process's libsycl, as a queue of our own shows them.
struct Classes {
  Anatomy queue, context;
};

MadeOnce<const Classes> the_classes{Rank::reference_queue};

const Classes& classes() {
  return the_classes.get([] {
    return sycl_call("creating a queue", [] {
      const sycl::queue live(sycl::default_selector_v, [](sycl::exception_list) {});
      return new const Classes{anatomy_of(live), anatomy_of(live.get_context())};
    });
  });
}

// Whether the object behind an image is alive, and of the class that `ours` describes.
Finding examine(const Anatomy& ours, const Image& image) {
  if (!image.object) return {Fault::nothing};
  Head head;
  if (const Fault fault = read(image.control_block, &head); fault != Fault::none) return {fault};
  if (head.vtable != ours.vtable) return {Fault::other_class, head.vtable};
  const auto plausible = [](std::int32_t count) {
    return count > 0 && count < std::numeric_limits<std::int32_t>::max() / 2;
  };
  Image self = image;
  if (ours.self && read(bytes_of(image) + ours.self, &self) == Fault::denied) {
    return {Fault::denied};
  }
  const bool alive = plausible(head.uses) && plausible(head.weak_uses) && self == image &&
                     number(image.object) - number(image.control_block) == ours.object;
  return {alive ? Fault::none : Fault::dead};
}

// A class, as users know it.
struct Words {
  const char *name, *in_dpctl;
};

[[noreturn]] void refuse(const Words& what, const void* address, const Finding& found,
                         const Anatomy& ours) {
  if (found.fault == Fault::denied) {
    fail(Error::Kind::value, "the address ", address, " of a ", what.name,
         " cannot be checked: this process may neither call process_vm_readv nor open a pipe "
         "(a sandbox, or no file descriptor is left); pass a ",
         what.in_dpctl, " instead");
  }
  const std::string theirs = library_of(found.vtable), own = library_of(ours.vtable);
  if (names_libsycl(file_name(theirs)) && theirs != own) {
    fail(Error::Kind::value, "at address ", address, " is an object of ", file_name(theirs), " (",
         theirs, "), and this package uses ", file_name(own), " (", own,
         "); two SYCL runtimes share neither queues nor contexts: pass a ", what.name, " of ",
         file_name(own), ", or stream=None, which waits for the data on the host");
  }
  fail(Error::Kind::value, "there is no ", what.name, " of this process's SYCL runtime at address ",
       address,
       found.fault == Fault::dead ? " (one was, and is gone, or the bytes are no object)" : "",
       "; pass a ", what.in_dpctl, ", or the address of a live ", what.name);
}

Image examined(const Words& what, const void* address, const Anatomy& ours) {
  Image image;
  Finding found{read(address, &image)};
  if (found.fault == Fault::none) found = examine(ours, image);
  if (found.fault != Fault::none) refuse(what, address, found, ours);
  return image;
}

}  // namespace

Queue queue_at_untrusted(const void* address) {
  const Image image = examined({"sycl::queue", "dpctl.SyclQueue"}, address, classes().queue);
  return Queue::from_address(&image);
}

void require_context_at(const void* address) {
  examined({"sycl::context", "dpctl.SyclContext"}, address, classes().context);
}

}  // namespace sycl_ext
