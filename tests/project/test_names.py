# SPDX-License-Identifier: Apache-2.0
"""The name of a test says its subject, the condition and the result.

`test_null_strides_are_compact` is found by whoever looks for strides; a name that begins with an
article or a pronoun, such as "the", "it" or "what", hides its subject.
"""

import ast

from repository import ROOT, files

#: Articles, pronouns and determiners.
FIRST_WORDS = {
    "a", "all", "an", "another", "any", "anybody", "anyone", "anything", "both", "each",
    "either", "every", "everybody", "everyone", "everything", "few", "he", "her", "his", "i",
    "it", "its", "many", "most", "my", "neither", "no", "nobody", "none", "nothing", "one",
    "other", "others", "our", "ours", "several", "she", "some", "somebody", "someone",
    "something", "such", "that", "the", "their", "theirs", "them", "there", "these", "they",
    "this", "those", "us", "we", "what", "whatever", "which", "who", "whoever", "whom", "whose",
    "you", "your",
}  # fmt: skip
#: The largest share of such names.
LIMIT = 0.1


def begins_with_pronoun(name):
    return name.removeprefix("test_").partition("_")[0] in FIRST_WORDS


def names_of_tests():
    for path in files():
        if path.suffix == ".py" and path.name.startswith("test_"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                    yield f"{path.relative_to(ROOT).as_posix()}::{node.name}", node.name


def test_names_of_tests_begin_with_their_subject():
    assert begins_with_pronoun("test_what_is_read_is_new")
    assert not begins_with_pronoun("test_null_strides_are_compact")
    names = dict(names_of_tests())
    assert len(names) > 1000
    wrong = sorted(place for place, name in names.items() if begins_with_pronoun(name))
    assert len(wrong) <= LIMIT * len(names), "\n".join(wrong)
