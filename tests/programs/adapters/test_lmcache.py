# SPDX-License-Identifier: Apache-2.0
"""The adapter of LMCache with the modules of its wheel: ``make test-engines``."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import environments

HERE = Path(__file__).parent
WHEEL = os.environ["SYCL_EXT_LMCACHE"]

pytestmark = pytest.mark.timeout(300)


def test_server_opens_the_cache_of_an_engine(tmp_path):
    done = subprocess.run(
        [sys.executable, "-u", HERE / "share_with_lmcache.py", "level_zero:gpu:1"],
        env={
            **environments.clean_environment(),
            **environments.variables_of("level_zero_v2", tmp_path),
            "PYTHONPATH": os.pathsep.join(map(str, [WHEEL, HERE])),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    fives, written = [[5.0] * 4] * 2, [[7.0] * 4, [5.0] * 4]
    assert [line for line in done.stdout.splitlines() if "LMCache" not in line] == [
        "message below 1000 bytes: True",
        "arrived: SyclIPCWrapper torch.float16 (3, 2, 4) (8, 1, 2)",
        "device by its UUID: True",
        f"arrived: {fives} same: True",
        f"after close: {written}",
        "answer is the message: True",
        f"here: {[[[5.0, 5.0]] * 4, [[7.0, 5.0]] * 4, [[5.0, 5.0]] * 4]}",
        "closed by another thread: True",
        "equal: True False",
        "refused: the view exceeds the memory of the handle",
        "refused: 'host' memory has no inter-process handle, because only 'device' USM has one",
    ]
