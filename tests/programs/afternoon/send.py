# SPDX-License-Identifier: Apache-2.0
"""A pickled tensor is changed by another process, and comes back."""

import multiprocessing
import pickle

import numpy as np

import sycl_ext as sx


def doubled(data: bytes) -> bytes:
    """Run in the other process."""
    t = pickle.loads(data)
    assert isinstance(t, sx.Tensor)
    return pickle.dumps(t.copy_from(t.to_numpy() * 2), protocol=5)


if __name__ == "__main__":
    numbers = np.arange(6, dtype="int64").reshape(2, 3)
    sent = sx.empty((2, 3), "int64", usm_type="shared").copy_from(numbers)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        back = pickle.loads(pool.apply(doubled, (pickle.dumps(sent, protocol=5),)))
        pool.close()
        pool.join()
    assert back.to_numpy().tolist() == (numbers * 2).tolist()
    assert (back.usm_type, back.device) == (sent.usm_type, sent.device)
