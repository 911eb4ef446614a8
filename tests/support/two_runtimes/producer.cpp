// SPDX-License-Identifier: Apache-2.0
// A library of another SYCL runtime: its queues, its memory, and work that takes a while.
#include <chrono>
#include <cstddef>
#include <cstring>
#include <sycl/context.hpp>
#include <sycl/device.hpp>
#include <sycl/device_selector.hpp>
#include <sycl/handler.hpp>
#include <sycl/queue.hpp>
#include <sycl/usm.hpp>
#include <sycl/version.hpp>
#include <thread>

extern "C" {

int libsycl_major() { return __LIBSYCL_MAJOR_VERSION; }

// NULL: there is no such device.
sycl::queue* make_queue(bool on_gpu) {
  try {
    return on_gpu ? new sycl::queue(sycl::gpu_selector_v) : new sycl::queue(sycl::cpu_selector_v);
  } catch (const sycl::exception&) {
    return nullptr;
  }
}
void delete_queue(sycl::queue* queue) { delete queue; }
sycl::context* make_context(sycl::queue* queue) { return new sycl::context(queue->get_context()); }

void* allocate(sycl::queue* queue, std::size_t nbytes) {
  return sycl::malloc_shared(nbytes, *queue);
}
void release(sycl::queue* queue, void* memory) {
  queue->wait();
  sycl::free(memory, *queue);
}

// Fills memory with a byte, after some milliseconds.
void fill_later(sycl::queue* queue, void* memory, int value, std::size_t nbytes, int milliseconds) {
  queue->submit([=](sycl::handler& handler) {
    handler.host_task([=] {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      std::memset(memory, value, nbytes);
    });
  });
}
void wait(sycl::queue* queue) { queue->wait(); }
}
