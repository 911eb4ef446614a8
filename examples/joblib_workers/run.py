# SPDX-License-Identifier: Apache-2.0
"""Send dpnp arrays to the processes of joblib, and get them back: ``python run.py``.

joblib pickles arguments and results. dpnp arrays have no pickles of their own, so each process
registers those of `sycl_ext`. Needs ``sycl_ext[cpu]``, dpnp and joblib.
"""

from typing import Any

import sycl_ext as sx  # isort: skip (before dpctl: it shows the SYCL runtime the CPU device)

import dpnp
from joblib import Parallel, delayed

PARTS, PART = 8, 1 << 20


def work(x: Any) -> Any:
    """Compute in a worker, on the device of that process."""
    return dpnp.sqrt(x)


def main() -> None:
    """Send each part to a worker."""
    sx.pickling.register("dpnp")  # here, for the arguments
    arrays = [dpnp.full(PART, i * i, dtype="float32") for i in range(PARTS)]
    # In the workers, for the results.
    with Parallel(n_jobs=2, initializer=sx.pickling.register, initargs=("dpnp",)) as parallel:
        results = parallel(delayed(work)(x) for x in arrays)
    assert [float(x[-1]) for x in results] == list(range(PARTS))
    print(f"{len(results)} arrays of {type(results[0]).__module__}, computed in 2 processes")


if __name__ == "__main__":
    main()
