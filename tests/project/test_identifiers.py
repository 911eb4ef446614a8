# SPDX-License-Identifier: Apache-2.0
"""Identifiers say what they name: none of the words that stood for anything.

The glossary of the field has a noun for each thing and a verb for each act. Reads text; needs no
build and no device.
"""

import ast
import re

import pytest

from repository import ROOT, files

#: Identifiers that say nothing, or that the field has another word for -> what is written instead.
FORBIDDEN = {
    ("settle", "settled"): "the act: wait, flush, place, ask",
    ("came_back", "let_go", "was_not_used"): "the act: expose, free, give back",
    ("heard", "one", "its", "those"): "the noun: plan, device, entry",
    ("wish", "wishes"): "request",
    ("cut", "cuts", "ways_to_cut"): "partition, sub_device",
}
WORDS = {word: instead for words, instead in FORBIDDEN.items() for word in words}


def python_names(text):
    """The identifiers that a Python file defines, with their lines."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


CPP_OTHERS = re.compile(
    r"//[^\n]*|/\*.*?\*/|R\"doc\(.*?\)doc\"|\"(?:\\.|[^\"\\\n])*\"|#include[^\n]*", re.DOTALL
)


def cpp_names(text):
    """The words of a C++ file outside of comments and strings, with their lines."""
    code = CPP_OTHERS.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    for number, line in enumerate(code.splitlines(), 1):
        yield from ((word, number) for word in re.findall(r"[A-Za-z_]\w*", line))


READERS = {
    **dict.fromkeys((".py", ".pyi"), python_names),
    **dict.fromkeys((".c", ".cpp", ".h", ".hpp"), cpp_names),
}


def complaints(name, text):
    """The forbidden identifiers of a file."""
    for word, line in READERS[name[name.rindex(".") :]](text):
        bare = word.strip("_")
        if bare in WORDS:
            yield f"{name}:{line}: {word} (write: {WORDS[bare]})"


TREES = (
    *("sycl_ext", "sycl_ext_pytest", "src", "tests", "hardware", "integrations", "conformance"),
    *("examples", "tools", "benchmarks", "docs"),
)


@pytest.mark.parametrize("tree", TREES)
def test_identifiers_say_what_they_name(tree):
    names = {path.relative_to(ROOT).as_posix(): path for path in files(tree)}
    wrong = [
        complaint
        for name, path in names.items()
        if path.suffix in READERS
        for complaint in complaints(name, path.read_text())
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "heard = 1"),
        ("a.py", "def _settle(): ..."),
        ("a.py", "def f(wishes): ..."),
        ("a.cpp", "auto heard = f(); // its"),
        ("a.hpp", 'void let_go();  const char* text = "cut";'),
    ],
)
def test_forbidden_identifiers_are_found(name, text):
    assert len(list(complaints(name, text))) == 1
    assert not list(complaints("b.py", "plan = '''heard''' # cut"))
