// SPDX-License-Identifier: Apache-2.0
#include "runtime/untrusted.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "base/lock.hpp"
#include "base/process_memory.hpp"
#include "runtime/runtimes.hpp"
#include "runtime/sycl_handles.hpp"

namespace sycl_ext {

namespace {

// The bytes of a SYCL object: a copy of them does not change after the check.
struct ObjectImage {
  const void* object = nullptr;
  const void* control_block = nullptr;

  bool operator==(const ObjectImage& other) const noexcept {
    return object == other.object && control_block == other.control_block;
  }
};

// The head of a control block of libstdc++.
struct ControlBlock {
  const void* vtable;  // one for all objects of a class of one libsycl
  std::int32_t uses;
  std::int32_t weak_uses;  // all uses together count as one
};

// Where something stands behind an address, in bytes; none: it was not found in our own object.
using Place = std::optional<std::size_t>;

// The first bytes behind an address; the members of interest stand before any container.
struct Head {
  std::array<std::byte, 256> bytes{};

  template <class Value>
  Value at(std::size_t place) const {
    Value value;
    std::memcpy(&value, bytes.data() + place, sizeof value);
    return value;
  }
};

// What is wrong with an address.
enum class Fault { none, nothing, dead, other_class, denied };

struct Finding {
  Fault fault = Fault::none;
  const void* vtable = nullptr;  // Fault::other_class
};

std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

Fault read(const void* address, void* to, std::size_t nbytes) {
  if (!address || number(address) % alignof(void*) != 0) return Fault::nothing;
  switch (copy_from_process(address, to, nbytes)) {
    case Touch::done:
      return Fault::none;
    case Touch::denied:
      return Fault::denied;
    default:
      return Fault::nothing;
  }
}

// ---- our own objects ----------------------------------------------------------------------------

template <class SyclObject>
ObjectImage image_of(const SyclObject& object) {
  static_assert(sizeof(SyclObject) == sizeof(ObjectImage));
  return *reinterpret_cast<const ObjectImage*>(&object);
}

// A device or platform is a pointer, with or without a control block.
template <class SyclObject>
const void* implementation_of(const SyclObject& object) {
  return *reinterpret_cast<const void* const*>(&object);
}

// As much as there is to read behind an address.
Head head_of(const void* address) {
  Head head;
  const auto* const from = static_cast<const std::byte*>(address);
  for (std::size_t place = 0; place < head.bytes.size(); place += sizeof(void*)) {
    if (read(from + place, head.bytes.data() + place, sizeof(void*)) != Fault::none) break;
  }
  return head;
}

// The first place where a value stands; `span` grows to hold it.
template <class Value>
Place find(const Head& head, const Value& value, std::size_t* span) {
  for (std::size_t place = 0; place + sizeof value <= head.bytes.size(); place += sizeof(void*)) {
    if (head.at<Value>(place) == value) {
      *span = std::max(*span, place + sizeof value);
      return place;
    }
  }
  return std::nullopt;
}

// How the runtime keeps objects of one class, as seen on a live one.  The control block and the
// object behind it are one allocation; places count from its beginning.
struct Anatomy {
  const void* vtable;
  std::uintptr_t object;
  std::size_t span = sizeof(ControlBlock);  // how much of an allocation is looked at
  Place self;                               // the object's weak_ptr to itself
  Place context;                            // a shared_ptr; these three where the class has them
  Place device, platform;                   // pointers

  Anatomy(const ObjectImage& live, const Head& head, const void* the_platform)
      : vtable(head.at<ControlBlock>(0).vtable),
        object(number(live.object) - number(live.control_block)),
        self(find(head, live, &span)),
        platform(find(head, the_platform, &span)) {}
};

// A queue of our own to compare with; it never runs anything.
class Reference {
 public:
  Reference() : Reference(sycl::queue(sycl::default_selector_v, [](sycl::exception_list) {})) {}

  const sycl::queue live;
  Anatomy queue, context;
  Place platform_of_device;

 private:
  explicit Reference(const sycl::queue& made)
      : Reference(made, made.get_context(), made.get_device(),
                  implementation_of(made.get_device().get_platform())) {}
  Reference(const sycl::queue& made, const sycl::context& its_context, const sycl::device& device,
            const void* platform)
      : live(made),
        queue(image_of(made), head_of(image_of(made).control_block), platform),
        context(image_of(its_context), head_of(image_of(its_context).control_block), platform) {
    const Head head = head_of(image_of(made).control_block);
    queue.context = find(head, image_of(its_context), &queue.span);
    queue.device = find(head, implementation_of(device), &queue.span);
    std::size_t unused = 0;
    platform_of_device = find(head_of(implementation_of(device)), platform, &unused);
  }
};

MadeOnce<const Reference> the_reference{Rank::reference_queue};

const Reference& reference() {
  return the_reference.get(
      [] { return sycl_call("creating a queue", [] { return new const Reference; }); });
}

// ---- the checks ---------------------------------------------------------------------------------

// Whether the object behind an image is alive, and of the class that `ours` describes.
Finding examine(const Anatomy& ours, const ObjectImage& image, Head* head) {
  if (!image.object) return {Fault::nothing};
  Fault fault = read(image.control_block, head->bytes.data(), ours.span);
  const bool is_short = fault == Fault::nothing;
  if (is_short) fault = read(image.control_block, head->bytes.data(), sizeof(ControlBlock));
  if (fault != Fault::none) return {fault};
  const auto block = head->at<ControlBlock>(0);
  if (block.vtable != ours.vtable) return {Fault::other_class, block.vtable};
  const auto plausible = [](std::int32_t count) {
    return count > 0 && count < std::numeric_limits<std::int32_t>::max() / 2;
  };
  const bool alive = !is_short && plausible(block.uses) && plausible(block.weak_uses) &&
                     number(image.object) - number(image.control_block) == ours.object &&
                     (!ours.self || head->at<ObjectImage>(*ours.self) == image);
  return {alive ? Fault::none : Fault::dead};
}

// A copy of a SYCL object counts itself in the control block.  The vtable pointer is the same as
// long as the object lives, so writing it again changes nothing.
bool can_be_copied(const Anatomy& ours, const ObjectImage& image) {
  void* const head = const_cast<void*>(image.control_block);
  return copy_to_process(head, &ours.vtable, sizeof ours.vtable) == Touch::done;
}

Finding examine_context(const ObjectImage& image) {
  Head head;
  const Anatomy& ours = reference().context;
  const Finding found = examine(ours, image, &head);
  return found.fault == Fault::none && !can_be_copied(ours, image) ? Finding{Fault::dead} : found;
}

// A queue belongs to a live context, and to a device of that context's platform.
Finding examine_queue(const ObjectImage& image) {
  const Reference& known = reference();
  const Anatomy& ours = known.queue;
  Head head, of_context;
  if (const Finding found = examine(ours, image, &head); found.fault != Fault::none) return found;
  const Finding dead{Fault::dead};
  if (ours.context) {
    const auto context = head.at<ObjectImage>(*ours.context);
    if (examine(known.context, context, &of_context).fault != Fault::none) return dead;
  }
  if (ours.device && known.platform_of_device) {
    const void* platform = nullptr;
    const auto* const device = head.at<const std::byte*>(*ours.device);
    if (!device ||
        read(device + *known.platform_of_device, &platform, sizeof platform) != Fault::none) {
      return dead;
    }
    const Place& same = known.context.platform;
    if (ours.context && same && of_context.at<const void*>(*same) != platform) return dead;
  }
  return can_be_copied(ours, image) ? Finding{} : dead;
}

// ---- what is said of it -------------------------------------------------------------------------

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

template <class Examine>
ObjectImage examined(const Words& what, const void* address, const Anatomy& ours,
                     const Examine& examine_image) {
  ObjectImage image;
  Finding found{read(address, &image, sizeof image)};
  if (found.fault == Fault::none) found = examine_image(image);
  if (found.fault != Fault::none) refuse(what, address, found, ours);
  return image;
}

}  // namespace

Queue queue_at_untrusted(const void* address) {
  const ObjectImage image =
      examined({"sycl::queue", "dpctl.SyclQueue"}, address, reference().queue, examine_queue);
  return Queue::from_address(&image);
}

void require_context_at(const void* address) {
  examined({"sycl::context", "dpctl.SyclContext"}, address, reference().context, examine_context);
}

}  // namespace sycl_ext
