# SPDX-License-Identifier: Apache-2.0
"""Gives way to the installed package when Python imports an unbuilt checkout."""

import os.path
import sys


def give_way(name: str, folder: str) -> None:
    """Put the installed package into `sys.modules`, if `folder` has sources without a core.

    The import of the package then returns the installed one. Where there is none, nothing changes.
    """
    if not os.path.exists(os.path.join(os.path.dirname(folder), "pyproject.toml")):
        return
    from importlib.machinery import PathFinder
    from importlib.util import find_spec, module_from_spec

    if find_spec(f"{name}._core") is not None:  # built here, or an editable installation
        return
    here = os.path.realpath(folder)
    others = [at for at in sys.path if os.path.realpath(os.path.join(at, name)) != here]
    spec = PathFinder.find_spec(name, others)
    if spec is None or spec.loader is None or spec.origin is None:
        return
    for module in [loaded for loaded in sys.modules if loaded.partition(".")[0] == name]:
        del sys.modules[module]
    installed = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(installed)
