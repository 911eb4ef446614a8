// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/process_memory.hpp"
#include "check.hpp"
#include "runtime/memory/block_pool.hpp"

using namespace sycl_ext;

namespace {

// The blocks to be released when a block of `nbytes` is kept.
std::vector<void*> gone_for(BlockPool& pool, void* block, std::size_t nbytes) {
  std::vector<void*> gone;
  pool.keep({block, nbytes}, [&](void* data) { gone.push_back(data); });
  return gone;
}

constexpr auto none = [] { return KeptBlock(); };

}  // namespace

TEST(pool_sizes) {
  CHECK(BlockPool::rounded(1) == 64 && BlockPool::rounded(64) == 64);
  CHECK(BlockPool::rounded(65) == 128 && BlockPool::rounded(64 << 10) == 64 << 10);
  CHECK(BlockPool::rounded((64 << 10) + 1) == (64 << 10) + 1);
}

TEST(pool_gives_back_what_fits) {
  BlockPool pool(4096, 1024);
  char blocks[2];
  CHECK(pool.take(100, none).data == nullptr);
  CHECK(gone_for(pool, &blocks[0], 128).empty());
  CHECK(pool.take(129, none).data == nullptr &&
        pool.take(64, none).data == nullptr);  // half would be wasted
  const KeptBlock kept = pool.take(100, none);
  CHECK(kept.data == &blocks[0] && kept.nbytes == 128);
  CHECK(pool.take(128, none).data == nullptr && pool.use().kept == 0);
  CHECK(gone_for(pool, &blocks[1], 1025) == std::vector<void*>{&blocks[1]});  // too large to keep
}

TEST(pool_keeps_the_newest) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  BlockPool pool(64 * mib, 32 * mib);
  char blocks[4];
  CHECK(gone_for(pool, &blocks[0], 20 * mib).empty());
  CHECK(pool.take(9 * mib, none).data == nullptr);  // more than half would be wasted
  CHECK(gone_for(pool, &blocks[1], 30 * mib).empty());
  CHECK(gone_for(pool, &blocks[2], 25 * mib) == std::vector<void*>{&blocks[0]});
  CHECK(pool.use().kept == 55 * mib);
  CHECK(pool.take(30 * mib + 1, none).data == nullptr &&
        pool.take(30 * mib + 4096, none).data == nullptr);
  const KeptBlock kept = pool.take(24 * mib, none);
  CHECK(kept.data == &blocks[2] && kept.nbytes == 25 * mib);  // its true size
  const std::size_t more = BlockPool::most_blocks - 1;
  for (std::size_t i = 0; i < more; ++i) CHECK(gone_for(pool, &blocks[3], 64).empty());
  CHECK(gone_for(pool, &blocks[3], 64) == std::vector<void*>{&blocks[1]});
  CHECK(pool.use().kept == 64 * BlockPool::most_blocks);
  std::size_t drained = 0;
  pool.drain([&](void* block) { drained += block == &blocks[3]; });
  CHECK(drained == BlockPool::most_blocks && pool.use().kept == 0);
}

TEST(pool_keeps_as_much_as_it_may) {
  BlockPool pool(2048, 1024);
  char blocks[3];
  CHECK(gone_for(pool, &blocks[0], 1024).empty() && gone_for(pool, &blocks[1], 1024).empty());
  CHECK(gone_for(pool, &blocks[2], 64) == std::vector<void*>{&blocks[0]});
}

TEST(pool_threads) {
  BlockPool pool(std::size_t{1} << 20, BlockPool::largest_small);
  std::vector<std::thread> threads;
  for (int number = 0; number < 8; ++number) {
    threads.emplace_back([&pool, number] {
      check::Random random(static_cast<std::uint64_t>(number));
      for (int i = 0; i < 5000; ++i) {
        const auto nbytes = static_cast<std::size_t>(random.between(1, 5000));
        const KeptBlock block = pool.take(nbytes, [size = BlockPool::rounded(nbytes)] {
          return KeptBlock{std::malloc(size), size};
        });
        *static_cast<char*>(block.data) = 1;
        pool.keep(block, std::free);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(pool.use().live == 0 && pool.use().bytes == 0 && pool.use().total == 40000);
  pool.drain(std::free);
}

TEST(wild_addresses_are_read_safely) {
  int value = 5, copy = 0;
  CHECK(read_process_memory(&value, &copy, sizeof copy) && copy == 5);
  CHECK(!read_process_memory(nullptr, &copy, sizeof copy));
  CHECK(!read_process_memory(reinterpret_cast<void*>(8), &copy, sizeof copy));
  CHECK(!read_process_memory(reinterpret_cast<void*>(~std::uintptr_t{7}), &copy, sizeof copy));
}
