# SPDX-License-Identifier: Apache-2.0
"""The facts about this machine: those of ``sycl-ext doctor --json``, which tries what can crash."""

import json
import subprocess
from typing import Any

from sycl_ext_hardware.processes import last_line, python

#: The command line of sycl_ext, in a process that finds it where this one does.
DOCTOR = (
    "sys.argv[1:] = ['doctor', '--json', '--quick']; "
    "import runpy; runpy.run_module('sycl_ext', run_name='__main__', alter_sys=True)"
)

#: The facts of the report, without names of users.
FACTS = ("python", "platform", "in_container", "packages", "environment", "gpus")

Facts = dict[str, Any]


def examine() -> Facts:
    """Return the facts of the doctor; docs/doctor.md describes them."""
    done = subprocess.run(python(DOCTOR), capture_output=True, text=True, check=False)
    try:
        facts: Facts = json.loads(done.stdout)["facts"]
    except ValueError:
        raise ValueError(f"python -m sycl_ext doctor failed: {last_line(done.stderr)}") from None
    return facts
