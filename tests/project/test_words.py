# SPDX-License-Identifier: Apache-2.0
"""Plain words: no text and no name has what engineers of SYCL and arrays do not know."""

import re
from fnmatch import fnmatch

import pytest

from repository import ROOT, files

#: word -> what is said instead
WORDS = {
    "aside": "apart from, detached",
    "bed": "test environment",
    "beside": "next to, besides, together with",
    "floor": "folder, layer; lower bound",
    "heir": "owner",
    "house": "package",
    "mood": "variant of a test environment",
    "road": "protocol, route, way",
    "stranger": "third party, another library",
}
#: Each alone, in the plural, and as a part of a name with underscores or capitals.
WORD = re.compile(rf"(?<![a-z])(?!besides)({'|'.join(WORDS)})s?(?![a-z])", re.IGNORECASE)
CAPITALS = re.compile(rf"(?<=[a-z])({'|'.join(map(str.title, WORDS))})s?(?![a-z])")
#: "Row" is a word of tables; an entry of the device table is none.
ROW = re.compile(
    r"\brows? of (?:the )?device|\bdevice[ _]rows?\b|\bfrom row \d|\brow_(?:id|of)\b|\brow_of_\w+",
    re.IGNORECASE,
)
#: Pictures, bytes in hexadecimal digits, and this file.
OTHERS = ("*.png", "tests/fuzz/corpus/*", "tests/project/test_words.py")


def texts():
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        if not any(fnmatch(name, pattern) for pattern in OTHERS):
            yield name, path.read_text()


def found_in(text):
    for number, line in enumerate(text.splitlines(), 1):
        for pattern in (WORD, CAPITALS, ROW):
            yield from ((number, match[0]) for match in pattern.finditer(line))


def test_every_word_is_plain():
    wrong = [
        f"{name}:{number}: {word}" for name, text in texts() for number, word in found_in(text)
    ]
    assert not wrong, "\n".join(["see WORDS for what to say instead", *wrong])


@pytest.mark.parametrize(
    "line",
    [
        "the best road",
        "ROADS = {}",
        "def test_every_road(x):",
        "has_other_roads",
        "struct Stranger {",
        "importStrangers(x)",
        "a stranger's queue",
        "from row 0 ('device' USM)",
        "device_row",
        "api.row_of_pointer(x)",
    ],
)
def test_a_word_is_found(line):
    assert list(found_in(line))


@pytest.mark.parametrize("line", ["broadcast", "embedded", "besides", "abroad", "a row of a table"])
def test_other_words_are_not(line):
    assert not list(found_in(line))
