# SPDX-License-Identifier: Apache-2.0
"""Every row of ``sycl_ext/_negotiation/consumers.py`` is needed, and none is missing.

Each library is given every dtype and layout, bare and through `exchange`.
"""

import pytest

import seen
from quirks import CASES, DTYPES, LAYOUTS, NAMES
from sycl_ext._negotiation.consumer_row import NARROW
from sycl_ext._negotiation.consumers import CONSUMERS, consumer_for

KIND = "consumer"

TAKEN = ("view", "copy")
#: Libraries whose rows other tests are about: test_matrix.py, suites/suite_open3d.py.
ELSEWHERE = {"dpctl", "open3d", "sycl_ext"}


def outcome_of(name, *case):
    return seen.consumer(name)[case]


def entry_of(name):
    package = {"numpy 1.26": "numpy", "array_api_compat.torch": "torch"}.get(name, name)
    return consumer_for(package, seen.consumer(name)["version"])


def narrows(name):
    return entry_of(name).narrows  # of jax as it is without settings


dtypes = pytest.mark.parametrize("dtype", DTYPES)
layouts = pytest.mark.parametrize("layout", LAYOUTS)
names = pytest.mark.parametrize("name", NAMES)


@names
@dtypes
def test_dtypes_of_the_table(name, dtype):
    entry, result = entry_of(name), outcome_of(name, "bare", "dtype", dtype)
    if dtype in entry.lacks or (
        entry.narrow_importer and dtype in NARROW
    ):  # another function has it
        assert result["outcome"] not in TAKEN, f"{name} has {dtype}"
    else:
        assert result["outcome"] in TAKEN, f"{name} has no {dtype}: {result['text']}"
        assert bool(result.get("narrower")) == (dtype in narrows(name))


@names
@dtypes
def test_dtypes_through_exchange(name, dtype):
    """No dtype is converted without a word: what cannot go says so."""
    entry, result = entry_of(name), outcome_of(name, "exchange", "dtype", dtype)
    if dtype in (*entry.lacks, *narrows(name)):
        assert result["outcome"] == "BufferError"
        assert entry.package in result["text"]
        assert dtype in result["text"]
    else:
        assert result["outcome"] in TAKEN, result["text"]
        assert result.get("right") is not False


@names
@layouts
def test_layouts_of_the_table(name, layout):
    entry, result = entry_of(name), outcome_of(name, "bare", "layout", layout)
    survived = {
        "0-d": 0 in entry.ndims,
        "empty": entry.null_data,
        "reversed": entry.strides == "any",
        "reversed columns": entry.strides == "any",
        "sliced": entry.strides != "compact",
        "broadcast": entry.strides != "compact",
        "F": None if entry.strides == "compact" else True,  # some take it, by a copy of their own
    }.get(layout, True)
    if survived is not None:
        assert (result["outcome"] in TAKEN) == survived, result.get("text")


@names
@layouts
def test_layouts_through_exchange(name, layout):
    entry, result = entry_of(name), outcome_of(name, "exchange", "layout", layout)
    if layout == "0-d" and 0 not in entry.ndims:
        assert result["outcome"] == "BufferError"
        assert "reshape" in result["text"]
    else:
        assert result["outcome"] in TAKEN, result["text"]
        assert result.get("right") is not False


@names
def test_library_leaks_no_export(name):
    if name == "onedal":  # 2026.2 never calls the deleter of an empty array
        assert outcome_of(name, *CASES[-1])["leaked"] == sum(case[2] == "empty" for case in CASES)
    else:
        assert {outcome_of(name, *case).get("leaked", 0) for case in CASES} == {0}


def test_exchange_avoids_the_crash_of_torch():
    """torch 2.13 ends the process on negative strides; nobody who uses `exchange` sees it."""
    assert outcome_of("torch", "bare", "layout", "reversed")["outcome"] == "crash"
    assert outcome_of("torch", "exchange", "layout", "reversed")["outcome"] == "copy"


def test_each_row_with_an_importing_function_is_tried():
    tried = {name.split()[0] for name in NAMES}
    assert {row.package for row in CONSUMERS if row.importer} - tried == ELSEWHERE
