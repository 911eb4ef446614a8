# SPDX-License-Identifier: Apache-2.0
"""The adapter of PyTorch, between two processes, with a fake of PyTorch, which has no XPU here."""

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
