# SPDX-License-Identifier: Apache-2.0
"""Functions and their calls can be read: none is long, and no bare constant goes to the core.

``import_capsule(x, capsule, device, False, False, None, None)`` says nothing to a reader, and a
change in the order of parameters that have the same type is not found by any tool. Reads text;
needs no build and no device.
"""

import ast
import re

import pytest

from repository import ROOT

#: The packages, and what belongs to them.
PACKAGES = ("sycl_ext", "sycl_ext_pytest", "hardware", "integrations", "conformance")
#: All that a reader of the repository may open; a test is as long as its story.
READ = (*PACKAGES, "tools", "benchmarks", "examples", "docs")
#: The longest function, without its docstring: what a reader sees at once.
LONGEST = 40


def trees(*folders):
    """The syntax trees of the Python files below the folders, by name."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT), ast.parse(path.read_text())


def length_of(function):
    """The lines of a function without its docstring."""
    first = function.body[0]
    docstring = first.end_lineno - first.lineno + 1 if ast.get_docstring(function) else 0
    return function.end_lineno - function.lineno + 1 - docstring


def test_functions_are_short():
    lengths = {
        f"{name}:{node.lineno}: {node.name}": length_of(node)
        for name, tree in trees(*READ)
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    assert len(lengths) > 1000
    too_long = {place: length for place, length in lengths.items() if length > LONGEST}
    assert not too_long


def test_docstrings_do_not_count_as_length():
    code = 'def f():\n    """One.\n\n    Three.\n    """\n    return 1\n'
    assert length_of(ast.parse(code).body[0]) == 2


def is_of_core(function, imported):
    """Whether the function that is called is one of the core's: `_core.view`, or an import."""
    if isinstance(function, ast.Name):
        return function.id in imported
    while isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and function.id == "_core"


def bare_constants(tree):
    """The calls of the core to which True, False or None goes without a name."""
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "sycl_ext._core"
        for alias in node.names
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not is_of_core(node.func, imported):
            continue
        values = [getattr(argument, "value", ...) for argument in node.args]
        if any(value is constant for value in values for constant in (True, False, None)):
            yield node


def test_constants_for_the_core_have_names():
    calls = [
        f"{name}:{call.lineno}: {ast.unparse(call)}"
        for name, tree in trees(*READ, "tests")
        for call in bare_constants(tree)
    ]
    assert not calls, "\n".join(calls)


@pytest.mark.parametrize(
    "call", ["_core.view(t, None)", "_core._test.check(True)", "from_dlpack(x, False)"]
)
def test_bare_constants_are_found(call):
    tree = ast.parse(f"from sycl_ext._core import from_dlpack\n{call}")
    assert [ast.unparse(call_found) for call_found in bare_constants(tree)] == [call]
    assert not list(bare_constants(ast.parse("_core.view(t, readonly=None)\nview(t, None)")))


def test_constants_in_the_core_have_names():
    """Two in a row, such as `settle(x, true, false)`; rows of tables are not calls."""
    constant = "(?:true|false|nullptr)"
    in_call = re.compile(rf"\w\((?:[^()]*[^\w()] ?)?{constant}, {constant}[,)]")
    allowed = "Owner(nullptr, nullptr)"  # a unique_ptr that has nothing, and no deleter
    calls = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in sorted((ROOT / "src").rglob("*.?pp"))
        for match in in_call.finditer(path.read_text())
        if match.group() not in allowed
    ]
    assert not calls, "\n".join(calls)
