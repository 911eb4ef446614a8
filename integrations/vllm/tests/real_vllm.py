# SPDX-License-Identifier: Apache-2.0
"""vLLM's modules for weight transfer, out of its wheel, without what vLLM requires.

The ``__init__`` of `PACKAGES` does not run: it imports all of vLLM, with transformers, aiohttp and
more. For the same reason two modules are stubs: ``vllm.config.parallel``, of which the others only
name a class, and ``vllm.model_executor.model_loader.reload``, whose functions here note that they
were called. ``test_names.py`` reads the names of both in the wheel.
"""

import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import torch

#: The folder of the unzipped wheel.
ROOT = Path(os.environ["SYCL_EXT_VLLM"])
PACKAGES = (
    "vllm",
    "vllm.config",
    "vllm.distributed",
    "vllm.distributed.weight_transfer",
    "vllm.model_executor",
    "vllm.model_executor.model_loader",
)
notes: list[str] = []


def provide(name, **contents):
    """Make a module of that name, also an attribute of its package."""
    module = sys.modules[name] = ModuleType(name)
    vars(module).update(contents)
    package, _, last = name.rpartition(".")
    if package:
        setattr(sys.modules[package], last, module)


for package in PACKAGES:
    provide(package, __path__=[str(ROOT.joinpath(*package.split(".")))])
provide("vllm.config.parallel", ParallelConfig=object)
provide(
    "vllm.model_executor.model_loader.reload",
    initialize_layerwise_reload=lambda model: notes.append("start"),
    finalize_layerwise_reload=lambda model, model_config: notes.append("finish"),
)
#: There is no XPU for torch here: what waits for one notes that it would.
torch.accelerator = SimpleNamespace(
    is_available=lambda: True, synchronize=lambda: notes.append("complete")
)
