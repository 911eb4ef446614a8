# SPDX-License-Identifier: Apache-2.0
"""What SECURITY.md says about the built module and about the environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import environments
from sycl_ext import _native

MODULE = _native.__file__


def tool(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_module_is_hardened():
    dynamic = tool("readelf", "--dynamic", "--wide", MODULE)
    assert "BIND_NOW" in dynamic
    assert "TEXTREL" not in dynamic
    segments = tool("readelf", "--program-headers", "--wide", MODULE)
    assert "GNU_RELRO" in segments
    stack = next(line for line in segments.splitlines() if "GNU_STACK" in line)
    assert "RWE" not in stack.replace(" ", "")
    assert "__stack_chk_fail" in tool("nm", "--dynamic", MODULE)


def test_the_module_exports_its_entry_point_alone():
    """No symbol of ours, or of a template that we use, can take the place of somebody else's."""
    exported = tool("nm", "--dynamic", "--defined-only", MODULE).split()
    assert exported[2::3] == ["PyInit__native"]


def test_the_module_is_looked_up_in_its_own_environment():
    dynamic = tool("readelf", "--dynamic", "--wide", MODULE)
    paths = [line for line in dynamic.splitlines() if "RPATH" in line or "RUNPATH" in line]
    assert len(paths) == 1
    assert "[$ORIGIN/../../..]" in paths[0]


IMPORT = """
import os
before = dict(os.environ)
import sycl_ext
print({name: value for name, value in os.environ.items() if before.get(name) != value})
"""


def changed_by_the_import(**variables: str) -> dict[str, str]:
    environment = {**environments.clean_environment(), **variables}
    for name in ("OCL_ICD_FILENAMES", "OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-c", IMPORT], env=environment, capture_output=True, text=True, check=True
    )
    return eval(done.stdout)


def test_one_variable_is_set_at_import():
    changed = changed_by_the_import()
    assert set(changed) == {"OCL_ICD_FILENAMES"}
    assert Path(changed["OCL_ICD_FILENAMES"]).is_relative_to(Path(sys.prefix).resolve())


def test_it_can_be_switched_off():
    assert changed_by_the_import(SYCL_EXT_NO_ICD="1") == {}


def test_nothing_is_written_outside_the_process():
    """Importing and using the package opens no file for writing."""
    environments.python("""
import sys
written = []
def hook(event, args):
    if event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        written.append(args[0])
sys.addaudithook(hook)
sys.dont_write_bytecode = True
import numpy as np
import sycl_ext as sx
np.from_dlpack(sx.host_view(sx.zeros(3)))
assert not written, written
""")
