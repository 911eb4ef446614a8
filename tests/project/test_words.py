# SPDX-License-Identifier: Apache-2.0
"""Plain words: no text and no name has what engineers of SYCL and arrays do not know."""

import ast
import io
import re
import tokenize
from fnmatch import fnmatch

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
#: Each in the singular, in the plural, and as a part of a name with underscores or capitals.
WORD = re.compile(
    rf"(?i:(?<![a-z])(?!besides)({'|'.join(WORDS)})s?(?![a-z]))"
    rf"|(?<=[a-z])({'|'.join(map(str.title, WORDS))})s?(?![a-z])"
)
#: Pictures, bytes in hexadecimal digits, and this file.
OTHERS = ("*.png", "tests/fuzz/corpus/*", "tests/project/test_words.py")


def test_every_word_is_plain():
    assert all(WORD.search(text) for text in ("ROADS = {}", "has_other_roads", "importStrangers"))
    assert not any(WORD.search(text) for text in ("broadcast", "embedded", "besides", "abroad"))
    names = {path.relative_to(ROOT).as_posix(): path for path in files()}
    wrong = [
        f"{name}:{number}: {found[0]}"
        for name, path in names.items()
        if not any(fnmatch(name, pattern) for pattern in OTHERS)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        for found in WORD.finditer(line)
    ]
    assert not wrong, "\n".join(["see WORDS for what to say instead", *wrong])


# ---- phrases of prose ----------------------------------------------------------------------------

#: Phrase -> what is said instead.
PHRASES = {
    re.compile(
        r"(?:^|[.:;(] +)(?:What|Whatever|Who|Whoever|Whose)\b(?!.*\?)"
    ): "a noun as the subject",
    re.compile(r"(?<!\w)[Ww]hat (?:is|was|has)\b(?!.*\?)"): "a noun",
    re.compile(r"\b(?:[Ww]ho has|[Ww]hoever)\b"): "a noun",
    re.compile(r"(?<!here )\b(?:is|are|was|were) no\b(?! longer| more)"): "is not a",
    re.compile(r"\balone\b(?! :)"): "only",
    re.compile(r", too(?=[.,;:)]|$)"): "also",
    re.compile(r"\bmend(?:s|ed|ing)?\b"): "fix, repair",
}
#: The files without such phrases, and the form of their text.
PLAIN = {
    "*.md": "markdown",
    "*.rst": "markdown",
    "*.py": "python",
    "*.pyi": "python",
    "*.cpp": "c",
    "*.hpp": "c",
    "*.h": "c",
    "*.c": "c",
    "*.css": "c",
    "*.js": "c",
    "*.toml": "hash",
    "*.yml": "hash",
    "*.yaml": "hash",
    "*.cmake": "hash",
    "*.sh": "hash",
    "*CMakeLists.txt": "hash",
    "*Makefile": "hash",
}
#: Older entries, words of others, the phrases themselves.
NOT_PLAIN = ("CHANGELOG.md", "CODE_OF_CONDUCT.md", "tests/project/test_words.py")
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
OF_C = re.compile(r'R"doc\((.*?)\)doc"|"((?:\\.|[^"\\\n])*)"|//([^\n]*)|/\*(.*?)\*/', re.DOTALL)
OF_HASH = re.compile(r"(?:^|(?<=\s))#([^\n]*)")


def of_markdown(text):
    return [(1, CODE.sub(lambda code: "\n" * code[0].count("\n"), text))]


def of_python(text):
    constants = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
    texts = (node for node in constants if isinstance(node.value, str))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [
        *((node.lineno, node.value) for node in texts if not node.value.isidentifier()),
        *(
            (token.start[0], token.string.lstrip("#: "))
            for token in tokens
            if token.type == tokenize.COMMENT
        ),
    ]


def found_by(pattern, text):
    return [
        (text.count("\n", 0, found.start()) + 1, next(filter(None, found.groups()), ""))
        for found in pattern.finditer(text)
    ]


FORMS = {
    "markdown": of_markdown,
    "python": of_python,
    "c": lambda text: found_by(OF_C, text),
    "hash": lambda text: found_by(OF_HASH, text),
}


def form_of(name):
    return next((form for pattern, form in PLAIN.items() if fnmatch(name, pattern)), None)


def prose(name, text):
    """Return (line, text) of Markdown without code, and of strings and comments of programs."""
    for first, piece in FORMS[form_of(name)](text):
        yield from enumerate((line.strip(" *") for line in piece.split("\n")), first)


def phrases_in(line):
    return [found[0] for phrase in PHRASES if (found := phrase.search(line))]


def test_prose_is_plain():
    names = {path.relative_to(ROOT).as_posix(): path for path in files()}
    forms = {name: form for name in names if (form := form_of(name))}
    assert set(forms.values()) == set(FORMS)
    wrong = [
        f"{name}:{number}: {phrase!r} in: {line}"
        for name in forms
        if not any(fnmatch(name, pattern) for pattern in NOT_PLAIN)
        for number, line in prose(name, names[name].read_text())
        for phrase in phrases_in(line)
    ]
    assert not wrong, "\n".join(["see PHRASES for what to say instead", *wrong])
