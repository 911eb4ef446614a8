# SPDX-License-Identifier: Apache-2.0
"""mpi4py takes tensors as buffers and by DLPack with ``stream=-1``: two ranks."""

import subprocess
import sys
from pathlib import Path

import pytest

from processes import HERE, variables


@pytest.mark.parametrize("ranks", [2])
def test_ranks_exchange_tensors(ranks):
    mpiexec = Path(sys.executable).with_name("mpiexec")
    done = subprocess.run(
        [str(mpiexec), "-n", str(ranks), sys.executable, "mpi_ranks.py"],
        env=variables(),
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("all is well") == ranks
