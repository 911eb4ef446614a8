# SPDX-License-Identifier: Apache-2.0
"""The registry of ways has a row for everything that is public, and loops select rows by facts."""

import json

import pytest

import environments
import ways
from ways import WAYS

ELSEWHERE = {name: path for names, path in ways.ELSEWHERE.items() for name in names.split()}


def test_public_functions_have_a_row():
    rows = {ways.public_name(name) for name in WAYS}
    assert set(ways.public()) - rows - ELSEWHERE.keys() == set()
    assert set(ELSEWHERE) & rows == set()


@pytest.mark.parametrize("name", ELSEWHERE)
def test_functions_without_a_row_are_in_the_named_file(name):
    assert name in set(ways.public())
    assert name.rpartition(".")[2] in (environments.TESTS / ELSEWHERE[name]).read_text()


def test_tags_are_all_used():
    assert {tag for way in WAYS.values() for tag in way.tags} == set(ways.Tag)


# ---- a renamed row stays in the loops that it was in ---------------------------------------------

#: Modules with loops over rows, below ``tests/``.
LOOPS = (
    "core/python/test_lifetime.py",
    "environments/out_of_memory/test_out_of_memory.py",
    "environments/stand_in_gpu/test_faults.py",
    "ordering/pending.py",
    "ordering/sync/test_waits.py",
    "ordering/sync/traced_routes.py",
    "package/test_roundtrips.py",
    "trust/test_readonly.py",
    "trust/test_reports.py",
    "trust/test_security.py",
)
#: Those in programs that a test runs.
PROGRAMS = (
    "core/python/test_collector.py",
    "core/python/test_faults_lifetime.py",
    "environments/stand_in_gpu/test_fork.py",
)
#: Prints the size of each table of the modules, and the number of cells of `pending`.
COUNT = """
import importlib, json, sys
from pathlib import Path
import ways

rows = list(ways.WAYS.items())
if RENAMED:
    ways.WAYS.clear()
    ways.WAYS.update({f"{ways.public_name(name)}; {n}": way for n, (name, way) in enumerate(rows)})
sizes = {}
for path in map(Path, PATHS):
    sys.path.insert(0, str(path.parent))
    module = importlib.import_module(path.stem)
    sizes[path.stem] = {
        name: len(value)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, (dict, list))
    }
import pending, traced_routes
for does, names in (("read", pending.reading()), ("write", pending.writing()),
                    ("drop", pending.holding())):
    cells = [cell for name in names for cell in pending.cells(does, name)]
    sizes["pending"][does] = len(cells)
sizes["traced_routes"]["routes"] = len(list(traced_routes.of_ways()))
print(json.dumps(sizes))
"""


def sizes_of_tables(renamed):
    paths = [str(environments.TESTS / path) for path in LOOPS]
    code = f"RENAMED, PATHS = {renamed}, {paths}\n{COUNT}"
    return json.loads(environments.python(code).splitlines()[-1])


def test_renamed_rows_stay_in_the_same_loops():
    """A loop that looks for words in names would leave a row out, and nobody would see it."""
    before, after = (sizes_of_tables(renamed) for renamed in (False, True))
    assert before == after
    assert before["test_roundtrips"]["ARRAYS"] > 100


def test_loops_over_rows_are_listed():
    calls = {
        path.relative_to(environments.TESTS).as_posix()
        for path in environments.TESTS.rglob("test_*.py")
        if "ways.select(" in path.read_text() and path.name != "test_ways.py"
    }
    assert calls <= {*LOOPS, *PROGRAMS}
