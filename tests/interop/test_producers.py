# SPDX-License-Identifier: Apache-2.0
"""The arrays of real libraries, taken by each way: as a view where that is possible."""

import pytest

import seen
from producers_worker import CASES, LIBRARIES

KIND = "producer"

#: The kind of memory of a host array; the CPU device reads host memory.
HOST = {
    "from_dlpack(x, device=cpu)": "view",
    "from_dlpack(x, device=gpu)": "copy",
    "from_dlpack(x, copy=True)": "copy",
    "from_dlpack(x, copy=False)": "view",
    "as_tensor(x, device=cpu)": "view",
    "host_view(x)": "view",
    "host_view(x, copy=True)": "copy",
    "exchange(x, numpy)": "view",
    "exchange(x, gpu)": "copy",
    "copy_from(x)": "copy",
}
GPU = {
    **dict.fromkeys(HOST, "copy"),
    "from_dlpack(x, device=gpu)": "view",
    "exchange(x, gpu)": "view",
    "from_dlpack(x, copy=False)": "CopyRefusedError",
}
BUFFER = {name: "TypeError" if "from_dlpack" in name else what for name, what in HOST.items()}


@pytest.mark.parametrize("way", CASES)
@pytest.mark.parametrize("name", LIBRARIES)
def test_array_of_a_library(name, way):
    expected = {"dpnp, GPU": GPU, "memoryview": BUFFER}.get(name, HOST)[way]
    outcome = seen.producer(name)[way]
    assert outcome["outcome"] == expected, outcome.get("text")
    if expected in ("view", "copy"):
        assert outcome["right"]
        assert not outcome["writes_to_readonly"]
