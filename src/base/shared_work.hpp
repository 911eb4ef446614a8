// SPDX-License-Identifier: Apache-2.0
// Work on the host that several threads do at once, such as a large copy.
//
// The helper threads are started when first needed, and stay.  A forked child starts its own.
#pragma once

#include <cstddef>
#include <functional>

namespace sycl_ext {

// The processors that this process may use.
int processors() noexcept;

// Calls `piece(i)` once for each i in [0, pieces), on at most `threads` threads of which the
// calling thread is one, and returns when all pieces are done.  The calling thread does all of them
// while the helpers are busy with another call, and where no thread can be started.  `piece` must
// not throw, and uses neither Python nor the SYCL runtime.
void share_work(int threads, std::size_t pieces, const std::function<void(std::size_t)>& piece);

}  // namespace sycl_ext
