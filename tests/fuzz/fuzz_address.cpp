// SPDX-License-Identifier: Apache-2.0
// Addresses that are said to be those of queues and contexts: wild ones, and readable memory with
// anything in it, pointers to real objects of other classes included.  All are refused with an
// Error, and nothing is followed.
#include <array>
#include <cstdint>

#include "entries.hpp"
#include "input.hpp"
#include "runtime/untrusted.hpp"

using namespace sycl_ext;

namespace {

// Two words of a real object, or of nothing.
std::array<std::uintptr_t, 2> make_words(Input& input) {
  std::array<std::uintptr_t, 2> words{};
  const Entry& entry = entries()[0];
  const void* const objects[] = {entry.device_address(), entry.context_address(),
                                 entry.queue().share(), &words};
  for (std::uintptr_t& word : words) {
    const std::uint8_t how = input.take<std::uint8_t>();
    if (how % 4 == 0) {
      word = input.take<std::uint64_t>();
    } else if (how % 4 == 1) {
      word = reinterpret_cast<std::uintptr_t>(objects[(how >> 2) % 4]);
    } else {
      // The object or its control block, but never both of one queue or context.
      std::memcpy(&word, static_cast<const std::byte*>(objects[0]) + 8 * (how % 2), sizeof word);
    }
  }
  return words;
}

template <class Call>
bool refuses(const Call& call) {
  try {
    call();
    return false;
  } catch (const Error& error) {
    return error.kind() == Error::Kind::value;
  }
}

bool is_own_queue(const void* address) {
  const Entry& entry = entries()[0];
  const Queue queue = queue_at_untrusted(address);
  return queue == entry.queue() || queue == entry.commands();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t nbytes) {
  Input input(data, nbytes);
  const std::array<std::uintptr_t, 2> words = make_words(input);
  const std::uint8_t how = input.take<std::uint8_t>();
  const void* address = words.data();
  if (how % 4 == 1) address = reinterpret_cast<void*>(input.take<std::uint64_t>());
  if (how % 4 == 2) address = static_cast<const std::byte*>(address) + how % 16;
  if (how % 4 == 3) address = how & 16 ? entries()[0].get().device_address() : nullptr;
  // libFuzzer tries numbers that the core compares, and so finds the addresses of its own queues.
  REQUIRE(refuses([&] { queue_at_untrusted(address); }) || is_own_queue(address));
  REQUIRE(refuses([&] { require_context_at(address); }));
  REQUIRE(queue_at_untrusted(entries()[0].get().queue().share()));
  return 0;
}
