# SPDX-License-Identifier: Apache-2.0
"""The registry of ways has a row for everything that is public."""

import pytest

import environments
import ways
from ways import WAYS

ELSEWHERE = {name: path for names, path in ways.ELSEWHERE.items() for name in names.split()}


def test_public_functions_have_a_row():
    rows = {ways.named(name) for name in WAYS}
    assert set(ways.public()) - rows - ELSEWHERE.keys() == set()
    assert set(ELSEWHERE) & rows == set()


@pytest.mark.parametrize("name", ELSEWHERE)
def test_functions_without_a_row_are_in_the_named_file(name):
    assert name in set(ways.public())
    assert name.rpartition(".")[2] in (environments.TESTS / ELSEWHERE[name]).read_text()
