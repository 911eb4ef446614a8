// SPDX-License-Identifier: Apache-2.0
#include "python/deleters.hpp"

#include <chrono>
#include <optional>

#include "base/until_end.hpp"
#include "python/gil.hpp"

namespace sycl_ext {

namespace {

UntilEnd deleters;

// Runs `release` with the GIL, if the interpreter is not ending.
template <class Release>
void run_code_of_others(const Release& release) {
  if (python_is_gone()) return;
  const UntilEnd::Visit visit(deleters);
  if (!visit) return;
  std::optional<TakenGil> taken;
  if (!is_current()) taken.emplace();
  const SavedException saved;
  hang_at_thread_end(release);
}

}  // namespace

void call_deleter_of_others(void (*deleter)(void*), void* object) {
  run_code_of_others([=] { deleter(object); });
}

void release_python_object(void* object) {
  run_code_of_others([=] { Py_XDECREF(static_cast<PyObject*>(object)); });
}

void end_deleters() { deleters.end(std::chrono::seconds(2)); }

}  // namespace sycl_ext
