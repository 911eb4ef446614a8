# SPDX-License-Identifier: Apache-2.0
"""The program that ``make lint`` hands to the type checkers uses everything, and it runs."""

import ast
from pathlib import Path

import environments
import sycl_ext as sx

PROGRAM = Path(__file__).parent / "typing" / "user_program.py"
CLASSES = (sx.Tensor, sx.HostView, sx.Device, sx.Plan)


def used():
    """The names that the program uses of any object."""
    tree = ast.parse(PROGRAM.read_text())
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def public(names):
    return {name for name in names if not name.startswith("_")}


def test_every_public_name_is_used():
    assert len(sx.__all__) > 20
    assert set(sx.__all__) <= used()


def test_every_public_attribute_is_used():
    attributes = public(name for kind in CLASSES for name in dir(kind) if hasattr(kind, name))
    attributes -= set(dir(tuple))  # some are tuples
    assert len(attributes) > 40
    assert attributes <= used()


def test_it_runs():
    program = f"import runpy; runpy.run_path({str(PROGRAM)!r}, run_name='__main__')"
    assert "no managed tensor at address 0" in environments.python(program)


def test_the_package_says_that_it_is_typed():
    assert (Path(sx.__file__).parent / "py.typed").exists()
