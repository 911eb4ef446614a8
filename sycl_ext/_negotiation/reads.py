# SPDX-License-Identifier: Apache-2.0
"""The reads of a kept answer, which show whether the answer still holds. Pure Python."""

import sys
from typing import Any


class Reads:
    """The reads of a decision, in their order; the core repeats them before it uses the decision.

    A read is a triple: a namespace, a name in it, and the value; or a function without arguments,
    None, and its result. The namespace is ``sys.modules`` or any object with attributes. A name
    that is missing has the value None.
    """

    def __init__(self) -> None:
        self._reads: dict[tuple[int, str | None], tuple[Any, str | None, Any]] = {}

    def module(self, name: str) -> Any:
        """Return a module, if it is loaded."""
        return self._note(sys.modules, name, sys.modules.get(name))

    def attribute(self, of: Any, name: str) -> Any:
        """Return an attribute, if there is one."""
        return self._note(of, name, getattr(of, name, None))

    def answer(self, value: Any) -> Any:
        """Return a constant, or the result of a function that looks at a configuration."""
        return self._note(value, None, value()) if callable(value) else value

    def all(self) -> tuple[tuple[Any, str | None, Any], ...]:
        """Return the reads."""
        return tuple(self._reads.values())

    def _note(self, of: Any, name: str | None, value: Any) -> Any:
        self._reads[id(of), name] = (of, name, value)
        return value
