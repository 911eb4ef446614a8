// SPDX-License-Identifier: Apache-2.0
// A list that only grows, and that readers need no lock for.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace sycl_ext {

// Elements never move.  Writers must not meet; readers may come at any time, and see the elements
// that size() counts.
template <class T>
class AppendOnly {
 public:
  std::size_t size() const noexcept { return size_.load(std::memory_order_acquire); }

  const T& operator[](std::size_t index) const noexcept {
    const Place place = place_of(index);
    return chunks_[place.chunk][place.offset];
  }

  // Makes room for the next element: push_back() needs no memory then.
  void reserve_next() {
    const Place place = place_of(size_.load(std::memory_order_relaxed));
    std::unique_ptr<T[]>& chunk = chunks_[place.chunk];
    if (!chunk) chunk = std::make_unique<T[]>(first_chunk << place.chunk);
  }

  void push_back(T value) {
    reserve_next();
    const std::size_t index = size_.load(std::memory_order_relaxed);
    const Place place = place_of(index);
    chunks_[place.chunk][place.offset] = std::move(value);
    size_.store(index + 1, std::memory_order_release);
  }

 private:
  // Each chunk is twice as large as the one before it.
  static constexpr std::size_t first_chunk = 16;
  struct Place {
    std::size_t chunk, offset;
  };
  static Place place_of(std::size_t index) noexcept {
    std::size_t chunk = 0;
    while (index >= first_chunk << chunk) index -= first_chunk << chunk++;
    return {chunk, index};
  }

  std::array<std::unique_ptr<T[]>, 32> chunks_;
  std::atomic<std::size_t> size_{0};
};

}  // namespace sycl_ext
