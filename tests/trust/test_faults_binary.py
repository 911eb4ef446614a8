# SPDX-License-Identifier: Apache-2.0
"""The statements of SECURITY.md about the built module and about the environment."""

from __future__ import annotations

import subprocess

import environments
from sycl_ext import _core

MODULE = _core.__file__


def tool(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_module_is_hardened():
    dynamic = tool("readelf", "--dynamic", "--wide", MODULE)
    assert "BIND_NOW" in dynamic
    assert "TEXTREL" not in dynamic
    segments = tool("readelf", "--program-headers", "--wide", MODULE)
    assert "GNU_RELRO" in segments
    stack = next(line for line in segments.splitlines() if "GNU_STACK" in line)
    assert "RWE" not in stack.replace(" ", "")
    assert "__stack_chk_fail" in tool("nm", "--dynamic", MODULE)


def test_module_exports_only_its_entry_point():
    """No symbol of ours, or of a template that we use, can take the place of somebody else's."""
    exported = tool("nm", "--dynamic", "--defined-only", MODULE).split()
    assert exported[2::3] == ["PyInit__core"]


def test_module_finds_its_libraries_in_its_own_environment():
    dynamic = tool("readelf", "--dynamic", "--wide", MODULE)
    paths = [line for line in dynamic.splitlines() if "RPATH" in line or "RUNPATH" in line]
    assert len(paths) == 1
    assert "[$ORIGIN/../../..]" in paths[0]


def test_package_opens_no_file_for_writing():
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
