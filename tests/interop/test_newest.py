# SPDX-License-Identifier: Apache-2.0
"""The tables are about the releases in requirements.txt: this says which have a newer one.

A newer release does not fail a test; it shows its changes when requirements.txt is updated.
"""

import subprocess
import warnings

import pytest

from consumers import ROWS
from processes import HERE, python_in

DISTRIBUTIONS = {row.distribution for row in ROWS.values()}
PINNED = [line for line in (HERE / "requirements.txt").read_text().split("\n") if "==" in line]


def newest_of(name):
    """The newest release that pip would install."""
    command = [python_in(".venv-interop"), "-m", "pip", "index", "versions", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("(")[1].split(")")[0].partition("+")[0]  # name (version)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("pinned", PINNED)
def test_the_newest_release(pinned):
    requirement, version = pinned.split("==")
    name = requirement.partition("[")[0]
    if name in DISTRIBUTIONS and (newest := newest_of(name)) != version:
        warnings.warn(f"{name} {newest} is out, and the tables are about {version}", stacklevel=1)
