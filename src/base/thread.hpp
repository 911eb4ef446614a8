// SPDX-License-Identifier: Apache-2.0
// Starts a thread that lives as long as the process.
#pragma once

#include <pthread.h>
#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <thread>
#include <utility>

namespace sycl_ext {

// Throws if there is no memory for a new thread.  A thread that gets a stack but no memory for its
// thread-local data ends the process, so there has to be room for both.
template <class Body>
void start_thread(Body body) {
  constexpr std::size_t thread_local_data = 4 << 20;  // far more than all libraries have
  pthread_attr_t defaults;
  std::size_t stack = 0;
  if (pthread_attr_init(&defaults) != 0) throw std::bad_alloc();
  pthread_attr_getstacksize(&defaults, &stack);
  pthread_attr_destroy(&defaults);
  const std::size_t needed = stack + thread_local_data;
  void* const room =
      mmap(nullptr, needed, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) throw std::bad_alloc();
  munmap(room, needed);
  std::thread(std::move(body)).detach();
}

}  // namespace sycl_ext
