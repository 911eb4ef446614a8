# SPDX-License-Identifier: Apache-2.0
"""Each case of the kit notices a library that is broken on purpose, and passes on one that is not.

`broken.py` has the faults.  A fault that ends the process runs in a worker, as in the kit itself.
"""

import ast
import enum
import os
import re
from dataclasses import replace
from pathlib import Path

import broken
import pytest

from dlpack_conformance import bench
from dlpack_conformance.cases import CASES
from dlpack_conformance.runner import Library
from dlpack_conformance.worker import memories, run

#: Faults that run in a worker, because they disturb the process of pytest: it would end, or collect
#: garbage of other tests at the limit of recursion, where destructors fail.
IN_A_WORKER = (
    *("deleter that aborts", "double free", "aborts_at_the_exit", "a child reads something else"),
    "answers_each_error_with_a_call",
)


def noticed_by(case):
    """The faults that a case is to notice."""
    return [
        fault
        for fault, (_, cases) in broken.FAULTS.items()
        if any(case.id.endswith(name) for name in cases)
    ]


@pytest.fixture(scope="module")
def near():
    """Workers find the module of the faults, and what that imports."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__file__).parent), *filter(None, [before])]
    )
    yield
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


def outcome_of(case, fault):
    adapter = broken.FAULTS[fault][0]
    if fault not in IN_A_WORKER:
        return run(case, bench.Bench(adapter, memories(bench.Bench(adapter))[0]))["outcome"]
    library = Library(f"broken:fault: {fault}")
    try:
        return library.run(case, "host").what
    finally:
        library.close()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_broken_library_is_noticed(case, near, monkeypatch):
    monkeypatch.setattr(bench, "PATIENCE", 0)  # a broken library does not repair itself
    faults = noticed_by(case)
    assert faults, "no library is broken in this way"
    for fault in faults:
        assert outcome_of(case, fault) in ("failed", "died"), fault


@pytest.mark.parametrize(
    ("case", "fault", "text"),
    [
        ("elements_are_described", "strides in bytes", "strides .16, 4. count bytes"),
        ("deleter_releases", "double free", "SIGABRT free.*double free"),
    ],
)
def test_frequent_mistake_is_named(case, fault, text, near):
    library = Library(f"broken:fault: {fault}")
    try:
        assert re.search(text, library.run(CASES[f"must-producer-{case}"], "host").text)
    finally:
        library.close()


#: The first word of each reason why a case is not run, after the name of the library.
VERBS = ("has", "makes", "takes", "exports", "copies", "computes", "refuses", "runs", "does", "is")


def test_reasons_of_skipped_cases_are_sentences_about_the_library():
    """The name of the library stands before them: "numpy has no read-only arrays"."""
    reasons = {}
    for path in Path(bench.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "NotOfferedError":
                text = ast.unparse(node.args[0]).removeprefix("f").strip("'\"")
                reasons[f"{path.name}:{node.lineno}"] = text
    assert len(reasons) > 40
    wrong = {at: text for at, text in reasons.items() if text.split()[0] not in VERBS}
    alone = {at: text for at, text in reasons.items() if len(text.split()) == 1}
    assert not wrong | alone


def test_faults_are_noticed_by_a_case():
    for fault, (_, cases) in broken.FAULTS.items():
        for name in cases:
            assert any(id_.endswith(name) for id_ in CASES), (fault, name)


class Enumerated:
    """An array with a device type that is not an int, as the array API allows."""

    def __init__(self, array):
        self.__dlpack__ = array.__dlpack__

    def __dlpack_device__(self):
        return (enum.Enum("DLDeviceType", {"kDLCPU": 1}).kDLCPU, 0)


@pytest.mark.parametrize("case", ["says_its_device", "same_device_in_the_struct"])
def test_device_type_may_be_an_enum(case):
    adapter = replace(broken.NUMPY, producer=Enumerated)
    result = run(CASES[f"must-producer-{case}"], bench.Bench(adapter, "host"))
    assert result["outcome"] == "passed", result
