# SPDX-License-Identifier: Apache-2.0
"""Shared code of the adapters of this folder: a module that stands in for another one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


class StandIn(ModuleType):
    """A module like another one, with some names of its own."""

    def __init__(self, other: ModuleType, **names: Any) -> None:
        super().__init__(other.__name__)
        self.__dict__.update(names, _other=other)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._other, name)


def converted(convert: Callable[[Any], Any], module: ModuleType, *names: str) -> dict[str, Any]:
    """Functions of a module, with what they return converted."""

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *values, **named: convert(function(*values, **named))

    return {name: wrap(getattr(module, name)) for name in names}


def import_tests(tests: Any, *modules: StandIn) -> ModuleType:
    """Import a module of tests that pytest has found, while these stand in for those they name."""
    before = {module.__name__: sys.modules[module.__name__] for module in modules}
    sys.modules.update({module.__name__: module for module in modules})
    try:
        test_module: ModuleType = tests.obj
        return test_module
    finally:
        sys.modules.update(before)
