# SPDX-License-Identifier: Apache-2.0
"""The adapters of ``examples/adapters``, between two processes, with fakes of the other side."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import environments

HERE = Path(__file__).parent
ADAPTERS = environments.ROOT / "examples" / "adapters"
DEVICES = {"cpu": "cpu", "level_zero_v2": "level_zero:gpu:1"}

pytestmark = pytest.mark.timeout(120)


def run(program, where, tmp_path):
    """The lines that a program writes, on the device of a test environment."""
    done = subprocess.run(
        [sys.executable, "-u", HERE / program, DEVICES[where]],
        env={
            **environments.clean_environment(),
            **environments.variables_of(where, tmp_path),
            "PYTHONPATH": os.pathsep.join(map(str, [ADAPTERS, HERE])),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("cpu", [[5, 5, 5], [5, 5, 5]]),  # such memory cannot be shared, and arrives as a copy
        ("level_zero_v2", [[5, 7, 7], [5, 7, 7]]),
    ],
)
def test_tensor_of_torch_is_rebuilt_in_another_process(where, left, tmp_path):
    assert run("send_by_torch.py", where, tmp_path) == [
        "arrived: [[5, 5], [5, 5]] Tensor False",
        "arrived: [5, 5, 5] Parameter True",
        f"here: {left}",
        "Cannot pickle xpu storage; try pickling a tensor",
    ]


@pytest.mark.parametrize(
    ("where", "dtype", "refusal"),
    [
        ("cpu", "float16", "is not in memory that processes can share"),
        ("level_zero_v2", "torch.float16", "'host' memory has no inter-process handle"),
    ],
)
def test_server_of_lmcache_opens_the_cache_of_an_engine(where, dtype, refusal, tmp_path):
    *lines, refused = run("share_with_lmcache.py", where, tmp_path)
    fives, sevens = [[5.0, 5.0]] * 2, [[7.0, 7.0]] * 2
    assert lines == [
        "message below 1000 bytes: True",
        f"arrived: SyclIPCWrapper {dtype} (3, 2, 2) (4, 2, 1)",
        "device by its UUID: True",
        f"arrived: {fives} same: True",
        f"after close: {sevens}",
        "answer as small: True",
        f"here: {[fives, sevens, fives]}",
        "closed by another thread: True",
        "equal: True False",
    ]
    assert refusal in refused
