# SPDX-License-Identifier: Apache-2.0
"""LMCache's own modules, with the lines that ``examples/adapters/README.md`` adds to them."""

import importlib.util
import sys
from pathlib import Path

from lmcache.v1.platform.base import ipc_wire
from lmcache.v1.platform.base import ipc_wrapper as base

ADAPTER = Path(__file__).parents[3] / "examples" / "adapters" / "lmcache_wrapper.py"
NAME = "lmcache.v1.platform.devices.xpu.ipc_wrapper"


def load(path: Path, name: str):
    """Import a file as the module of that name."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


adapter = load(ADAPTER, NAME)
DeviceIPCWrapper = base.DeviceIPCWrapper

base.WireIPCData = ipc_wire.WireIPCData | adapter.SyclIPCData
ipc_wire.WRAPPER_TYPES[adapter.SyclIPCData] = ("xpu.ipc_wrapper", "SyclIPCWrapper")
