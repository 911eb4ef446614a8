# SPDX-License-Identifier: Apache-2.0
"""dpnp in a thread pool: ``python run.py [threads [rounds]]``.

One lock is around the calls of dpnp, which may deadlock in several threads.  Imports, exports and
waits of ``sycl_ext`` stay outside.  Needs dpnp and a SYCL device.
"""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import sycl_ext as sx  # isort: skip (before dpctl: it shows the SYCL runtime the CPU device)

import dpnp
import numpy as np

THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else 8
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 15

arithmetic = threading.Lock()  # one for the process


def normalize(image: np.ndarray) -> np.ndarray:
    """Return the image with its mean at 0, computed by dpnp."""
    t = sx.as_tensor(image, device=0, copy=True)
    with arithmetic:
        d = dpnp.from_dlpack(t)
        d = (d - 128) / 64
        d = d - d.mean()
    return sx.exchange(d, np)  # waits for dpnp, without the lock


def work(seed: int) -> float:
    """Return the largest mean of some images."""
    random = np.random.default_rng(seed)
    images = (random.integers(0, 256, (40, 50)).astype("float32") for _ in range(ROUNDS))
    return max(abs(float(normalize(image).mean())) for image in images)


if __name__ == "__main__":
    with ThreadPoolExecutor(THREADS) as pool:
        worst = max(pool.map(work, range(THREADS)))
    print(f"{THREADS} threads, {ROUNDS} images each: the largest mean is {worst:.0e}")
    assert worst < 1e-5
