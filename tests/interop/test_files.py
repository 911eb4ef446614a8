# SPDX-License-Identifier: Apache-2.0
"""Files are written from USM, and read into it, without another array in between.

docs/consumer_matrix.md has the results; these are the requirements.
"""

import pytest

import seen

LIBRARIES = ("h5py", "zarr", "safetensors")
TENSORS = ("host", "shared", "GPU device", "read-only", "negative strides", "zero size")
DONE = ("no copy", "one copy")


@pytest.mark.parametrize("tensor", TENSORS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_written_is_right(library, tensor):
    found = seen.files()[library]["write"][tensor]
    assert found["outcome"] in DONE, found
    assert found["right"]
    if tensor not in ("GPU device", "negative strides"):
        assert found["outcome"] == "no copy", found


@pytest.mark.parametrize("tensor", TENSORS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_read_is_right_or_refused(library, tensor):
    found = seen.files()[library]["read"][tensor]
    if tensor in ("GPU device", "read-only"):
        assert found["outcome"] not in DONE, found
    elif tensor != "negative strides" or found["outcome"] in DONE:
        assert found["outcome"] == "no copy", found
        assert found["right"]


def test_every_case_is_looked_at():
    found = seen.files()
    assert tuple(found) == LIBRARIES
    assert {tuple(cases[way]) for cases in found.values() for way in ("read", "write")} == {TENSORS}
