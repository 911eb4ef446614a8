// SPDX-License-Identifier: Apache-2.0
// The bytes of a fuzzer as numbers; zeros when they are used up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t nbytes) : at_(data), end_(data + nbytes) {}

  template <class Number>
  Number take() {
    Number number{};
    const std::size_t n = std::min<std::size_t>(sizeof number, end_ - at_);
    std::memcpy(&number, at_, n);
    at_ += n;
    return number;
  }
  // A number of [first, last].
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + take<std::uint16_t>() % (last - first + 1);
  }
  bool flip() { return take<std::uint8_t>() & 1; }
  // Mostly small, sometimes near a limit of 64 bits, sometimes anything.
  std::int64_t dimension() {
    const std::uint8_t how = take<std::uint8_t>();
    switch (how >> 5) {
      case 7:
        return take<std::int64_t>();
      case 6:
        return std::numeric_limits<std::int64_t>::max() / ((how & 31) + 1);
      case 5:
        return std::numeric_limits<std::int64_t>::min() / ((how & 31) + 1);
      case 4:
        return std::int64_t{1} << (2 * (how & 31));
      default:
        return (how & 127) - 24;
    }
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

// A finding of the fuzzer.
#define REQUIRE(condition)                                                           \
  do {                                                                               \
    if (!(condition)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                  \
    }                                                                                \
  } while (false)
