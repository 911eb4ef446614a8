// SPDX-License-Identifier: Apache-2.0
// The helpers of the C++ tests of the core: named tests, checks, a seeded random number.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace check {

struct Test {
  const char* name;
  std::function<void()> body;
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

struct Registration {
  Registration(const char* name, std::function<void()> body) {
    tests().push_back({name, std::move(body)});
  }
};

struct Failure {
  std::string text;
};

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
  throw Failure{std::string(file) + ":" + std::to_string(line) + ": " + what};
}

// splitmix64: the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // A number of [0, end).
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(end));
  }
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + below(last - first + 1);
  }

 private:
  std::uint64_t state_;
};

}  // namespace check

#define TEST(name)                                                   \
  static void name();                                                \
  static const check::Registration registration_##name(#name, name); \
  static void name()

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) check::fail(__FILE__, __LINE__, "not true: " #condition); \
  } while (false)

// The expression throws an Error of this kind, and its message has these words.
#define CHECK_FAILS(wanted, words, ...)                                                 \
  do {                                                                                  \
    bool thrown_ = false;                                                               \
    try {                                                                               \
      __VA_ARGS__;                                                                      \
    } catch (const sycl_ext::Error& error_) {                                           \
      thrown_ = true;                                                                   \
      if (error_.kind() != sycl_ext::Error::Kind::wanted)                               \
        check::fail(__FILE__, __LINE__, std::string("another kind: ") + error_.what()); \
      if (std::string(error_.what()).find(words) == std::string::npos)                  \
        check::fail(__FILE__, __LINE__, std::string("other words: ") + error_.what());  \
    }                                                                                   \
    if (!thrown_) check::fail(__FILE__, __LINE__, "no error: " #__VA_ARGS__);           \
  } while (false)
