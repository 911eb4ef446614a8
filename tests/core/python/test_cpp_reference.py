# SPDX-License-Identifier: Apache-2.0
"""The C++ reference has the declarations of the public headers, and describes each name."""

import re
from pathlib import Path

import pytest

import sycl_ext as sx

PAGE = Path(__file__).parents[3] / "docs" / "cpp_reference.md"
HEADERS = sorted(Path(sx.get_include(), "sycl_ext").iterdir())

#: A section of the page is one header: heading, text with code.
SECTIONS = dict(
    re.findall(r"^## `<sycl_ext/([^`]*)>`\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S)
)
FENCE = re.compile(r"^```cpp\n(.*?)^```$", re.M | re.S)

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
DIRECTIVE = re.compile(r"^#(?:[^\n]*\\\n)*[^\n]*$", re.M)
#: The beginning of a block that a user does not see -> its replacement.
HIDDEN = {
    re.compile(r"namespace (?:\w+::)*detail \{"): "",
    re.compile(r"(\)(?: (?:const|noexcept|override))*)(?: : [^{;]*)? \{"): r"\1;",
}
PRIVATE = re.compile(r" private: .*? \};")
VALUE = re.compile(r"(static constexpr \w+ \w+)(?: =|\{)[^;]*;")
NAMESPACE = re.compile(r'(?:namespace sycl_ext|extern "C") \{')
#: Classes, enumerations, functions and pointers to functions.
NAME = re.compile(
    r"(?:class|struct|enum(?: class)?) (\w+)(?= (?:\{|:|final))|(operator\S+|\w+)\(|\(\*(\w+)\)"
)


def without_blocks(text, begin, instead):
    """Put `instead` where `begin` and the braces that it opens are."""
    while block := begin.search(text):
        end, depth = block.end(), 1
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[: block.start()] + block.expand(instead) + text[end:]
    return text


def declarations(text):
    """Return the public declarations, without comments, bodies and values."""
    text = " ".join(DIRECTIVE.sub("", COMMENT.sub("", text)).split())
    text = PRIVATE.sub(" };", text)
    for begin, instead in HIDDEN.items():
        text = without_blocks(text, begin, instead)
    return VALUE.sub(r"\1;", NAMESPACE.sub("", text)).rstrip("} ").split()


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
def test_page_and_header_declare_the_same(header):
    shown = declarations("\n".join(FENCE.findall(SECTIONS[header.name])))
    assert shown == declarations(header.read_text())


def test_sections_are_the_headers():
    assert sorted(SECTIONS) == [header.name for header in HEADERS]


@pytest.mark.parametrize("name", SECTIONS)
def test_declared_names_are_described(name):
    declared = " ".join(declarations("\n".join(FENCE.findall(SECTIONS[name]))))
    names = {
        declared_name
        for groups in NAME.findall(declared)
        for declared_name in groups
        if declared_name
    }
    text = FENCE.sub("", SECTIONS[name])
    described = set(re.findall(r"operator\S+|\w+", " ".join(re.findall(r"`([^`]*)`", text))))
    assert sorted(names - described) == []
