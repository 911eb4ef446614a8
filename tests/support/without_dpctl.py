# SPDX-License-Identifier: Apache-2.0
"""An environment of Python without dpctl and dpnp, and the tests that can run there.

It has links to everything else in the environment of this process, so nothing is downloaded.  A new
Python has it from the beginning: there are no wheels of them for it yet, and none of PyTorch.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: What is not installed there.
NOT_LINKED = re.compile(r"dpctl|dpnp", re.IGNORECASE)
#: What is not installed here, which tests and scripts in them call by these names.
MISSING = re.compile(
    "|".join(name for name in ("dpctl", "dpnp", "torch") if not importlib.util.find_spec(name)),
    re.IGNORECASE,
)


def python() -> str:
    """Make the environment, and return the path of its Python; this one if it lacks them."""
    if not importlib.util.find_spec("dpctl"):
        return sys.executable
    folder = ROOT / "build" / "without_dpctl"
    venv.create(folder, clear=True, symlinks=True, with_pip=False)
    packages = Path(sysconfig.get_path("purelib"))
    link_all(packages, folder / packages.relative_to(sys.prefix))
    for name in ("bin", "include", "lib"):
        link_all(Path(sys.prefix) / name, folder / name)
    return str(folder / "bin" / "python")


def link_all(source: Path, target: Path) -> None:
    for file in source.iterdir():
        link = target / file.name
        if not NOT_LINKED.match(file.name) and not link.exists():
            link.symlink_to(file)


def is_import_of_it(error: BaseException) -> bool:
    """Whether a module was not collected because it imports what is missing, or asks for it."""
    of_importorskip = re.match(r"could not import '(\w+)", str(error))
    cause = error.__cause__
    name = of_importorskip[1] if of_importorskip else getattr(cause, "name", None)
    return bool(MISSING.match(name or ""))


def why_left_out(item) -> str | None:
    """Why a collected test cannot run without dpctl: what names it."""
    case = item.callspec.id if hasattr(item, "callspec") else ""
    if MISSING.search(case):
        return f"its case is {case}"
    given = item.callspec.params if hasattr(item, "callspec") else {}
    named = item._fixtureinfo.name2fixturedefs.items()  # also fixtures that a parameter replaces
    fixtures = [known for name, defs in named if name not in given for known in defs]
    functions = [item.function, *(fixture.func for fixture in fixtures)]
    return next((f"{name} names it" for name in named_in(functions)), None)


def named_in(functions: list) -> Iterator[str]:
    """The functions that name what is missing, and those and the texts of their modules in them."""
    seen = set()
    while functions:
        function = inspect.unwrap(functions.pop())
        if function in seen:
            continue
        seen.add(function)
        words = list(words_in(function.__code__))
        if any(map(MISSING.search, words)):
            yield function.__name__
        for name in words:
            value = function.__globals__.get(name)
            if isinstance(value, str) and MISSING.search(value):
                yield name
            is_near = getattr(value, "__module__", None) == function.__module__
            if inspect.isfunction(value) and is_near:
                functions.append(value)


def words_in(code) -> Iterator[str]:
    """The names and the texts in a function, without its comments."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, tuple):
            yield from (word for word in constant if isinstance(word, str))
        elif inspect.iscode(constant):
            yield from words_in(constant)
