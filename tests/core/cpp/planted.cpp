// SPDX-License-Identifier: Apache-2.0
// One bug for each tool, to see that the tool finds it: core_planted heap|undefined|race|leak
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>

namespace {

volatile int sink;
int counter;

int read_freed_memory(int zero) {
  int* const block = static_cast<int*>(std::malloc(4 * sizeof(int)));
  block[0] = zero;
  std::free(block);
  return *const_cast<volatile int*>(block);  // NOLINT
}

int overflow(int zero) { return std::numeric_limits<int>::max() + (zero + 1); }

int race(int) {
  std::thread other([] {
    for (int i = 0; i < 1000; ++i) ++counter;
  });
  for (int i = 0; i < 1000; ++i) ++counter;
  other.join();
  return counter;
}

int leak(int) {
  sink = static_cast<int>(std::strlen(static_cast<char*>(std::calloc(100, 1))));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const struct {
    const char* name;
    int (*plant)(int);
  } plants[] = {
      {"heap", read_freed_memory}, {"undefined", overflow}, {"race", race}, {"leak", leak}};
  for (const auto& [name, plant] : plants) {
    if (argc == 2 && std::strcmp(argv[1], name) == 0) sink = plant(argc - 2);
  }
}
