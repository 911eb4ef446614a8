# SPDX-License-Identifier: Apache-2.0
"""The plug-in in an environment without vLLM: nothing is imported before vLLM calls it."""

import subprocess
import sys
from importlib.metadata import entry_points

import sycl_ext_vllm


def test_entry_point():
    (point,) = entry_points(group="vllm.general_plugins", name="sycl")
    assert point.load() is sycl_ext_vllm.register


def test_plug_in_loads_nothing():
    code = "import sycl_ext_vllm, sys; print({'vllm', 'torch', 'sycl_ext'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr
