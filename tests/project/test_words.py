# SPDX-License-Identifier: Apache-2.0
"""Words that were written here again and again, and that readers misunderstand.

Whether a text is clear is for a reader to judge: a word that can be right is not listed.
"""

import re
from fnmatch import fnmatch

from repository import ROOT, files

#: word -> what is said instead
WORDS = {
    "road": "protocol, route, way",
    "stranger": "third party, another library",
}
#: Each in the singular, in the plural, and as a part of a name with underscores or capitals.
WORD = re.compile(
    rf"(?i:(?<![a-z])({'|'.join(WORDS)})s?(?![a-z]))"
    rf"|(?<=[a-z])({'|'.join(map(str.title, WORDS))})s?(?![a-z])"
)
#: Pictures, bytes in hexadecimal digits, and this file.
OTHERS = ("*.png", "tests/fuzz/corpus/*", "tests/project/test_words.py")


def test_forbidden_words_are_absent():
    assert all(WORD.search(text) for text in ("ROADS = {}", "has_other_roads", "importStrangers"))
    assert not any(WORD.search(text) for text in ("broadcast", "abroad"))
    names = {path.relative_to(ROOT).as_posix(): path for path in files()}
    wrong = [
        f"{name}:{number}: {match[0]}"
        for name, path in names.items()
        if not any(fnmatch(name, pattern) for pattern in OTHERS)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        for match in WORD.finditer(line)
    ]
    assert not wrong, "\n".join(["see WORDS for what to say instead", *wrong])
