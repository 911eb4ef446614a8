// What dpctl cannot ask for: two-dimensional copies and fills, peer access, host tasks, errors that
// come after a command was accepted. Ends at the first check that fails.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <sycl/ext/oneapi/memcpy2d.hpp>
#include <sycl/platform.hpp>
#include <sycl/properties/all_properties.hpp>
#include <sycl/queue.hpp>
#include <sycl/usm.hpp>
#include <vector>

namespace {

void check(bool holds, const char* what) {
  std::printf("%s: %s\n", holds ? "ok" : "FAILED", what);
  if (!holds) std::exit(1);
}

template <class F>
bool throws(F f) {
  try {
    f();
  } catch (const sycl::exception&) {
    return true;
  }
  return false;
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && std::atoi(value) != 0;
}

void* loaded_adapter() {
  const std::string path = std::getenv("UR_ADAPTERS_SEARCH_PATH");
  return dlopen((path + "/libur_adapter_native_cpu.so.0").c_str(), RTLD_NOW | RTLD_NOLOAD);
}

}  // namespace

int main() {
  auto gpus = sycl::device::get_devices(sycl::info::device_type::gpu);
  const auto context = gpus[0].get_platform().khr_get_default_context();
  const auto ignore = [](sycl::exception_list) {};
  sycl::queue queue(context, gpus[0], ignore);

  // Four rows of 50 bytes, 100 apart, out of and into device memory.
  std::vector<unsigned char> host(400), back(400, 0);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<unsigned char>(i);
  auto* device = sycl::malloc_device<unsigned char>(400, queue);
  queue.memset(device, 7, 400).wait();
  queue.ext_oneapi_memcpy2d(device, 100, host.data(), 100, 50, 4).wait();
  queue.memcpy(back.data(), device, 400).wait();
  check(back[149] == host[149] && back[150] == 7, "memcpy2d copies its rows and no more");
  queue.ext_oneapi_memset2d(device, 100, 9, 50, 4).wait();
  queue.memcpy(back.data(), device, 400).wait();
  check(back[349] == 9 && back[350] == 7, "memset2d fills its rows and no more");
  check(throws([&] { queue.memcpy(device, host.data(), 401).wait(); }), "bounds are checked");

  const bool peers = is_set("FAKEGPU_P2P");
  check(gpus[0].ext_oneapi_can_access_peer(gpus[1]) == peers, "can_access_peer is FAKEGPU_P2P");
  check(throws([&] { gpus[0].ext_oneapi_enable_peer_access(gpus[1]); }) == !peers,
        "peer access is enabled where there is any");

  // Who owns what a tile has allocated, in a context that has both the tile and its GPU.
  using sycl::info::partition_property;
  const auto tile = gpus[0].create_sub_devices<partition_property::partition_by_affinity_domain>(
      sycl::info::partition_affinity_domain::next_partitionable)[0];
  const sycl::context both({gpus[0], tile});
  void* on_tile = sycl::malloc_device(1, tile, both);
  check(sycl::get_pointer_device(on_tile, both) == (is_set("FAKEGPU_STRICT_CTX") ? gpus[0] : tile),
        "the tile owns its allocation, or its GPU does if contexts are strict");
  sycl::free(on_tile, both);

  // A command of an out-of-order queue that waits for a host task and for another queue.
  sycl::queue other(context, gpus[1], ignore, sycl::property::queue::in_order{});
  auto* shared = sycl::malloc_shared<unsigned char>(1, queue);
  *shared = 0;
  const auto task = other.submit([&](sycl::handler& h) { h.host_task([=] { *shared = 1; }); });
  const auto add = other.memcpy(device, shared, 1, task);
  queue.memcpy(shared, device, 1, add).wait();
  check(*shared == 1, "events of another queue and of a host task are waited for");

  // An asynchronous error is found by who waits first, for the event or for the queue; not by who
  // submits, and not by who comes after.
  const auto fail_next =
      reinterpret_cast<void (*)()>(dlsym(loaded_adapter(), "fakegpu_async_error_next"));
  *shared = 5;
  for (sycl::queue* q : {&queue, &other}) {
    fail_next();
    const sycl::event failed = q->memcpy(shared, device, 1);
    check(throws([&] { sycl::event(failed).wait(); }), "the event reports an asynchronous error");
    check(!throws([&] { q->wait(); }), "the queue does not report it again");
    fail_next();
    q->memcpy(shared, device, 1);
    check(throws([&] { q->wait(); }), "the queue reports what nobody was told of");
    check(!throws([&] { q->wait(); }), "the queue reports it once");
    check(*shared == 5, "the failed command did nothing");
    fail_next();
    const auto first = q->memcpy(shared, device, 1);
    auto second = other.memcpy(shared, device, 1, first);
    check(throws([&] { second.wait(); }), "what depends on a failed command fails");
    throws([&] { q->wait(); });
    throws([&] { other.wait(); });
    check(!throws([&] { q->memcpy(device, shared, 1).wait(); }), "the queue lives on");
  }

  sycl::free(shared, queue);
  sycl::free(device, queue);
}
