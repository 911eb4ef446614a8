// SPDX-License-Identifier: Apache-2.0
// Runs the tests of the core: all of them, or those whose name contains an argument.
#include <cstring>

#include "check.hpp"

int main(int argc, char** argv) {
  int failed = 0, run = 0;
  for (const check::Test& test : check::tests()) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i) wanted = wanted || std::strstr(test.name, argv[i]);
    if (!wanted) continue;
    ++run;
    try {
      test.body();
      continue;
    } catch (const check::Failure& failure) {
      std::fprintf(stderr, "%s: %s\n", test.name, failure.text.c_str());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: unexpected error: %s\n", test.name, error.what());
    }
    ++failed;
  }
  std::printf("%d tests of the core, %d failed\n", run, failed);
  return failed != 0;
}
