# SPDX-License-Identifier: Apache-2.0
"""The facts of an array: decisions are kept by them, so each must tell two arrays apart."""

import re

import pytest

from sycl_ext import _core

#: Follow from the entry.
DERIVED = {"root", "default_context"}
#: A value of each fact that is not the default one.
OTHER = {"entry": 1, "usm_type": "device", "dtype": "float64", "ndim": 2, "alignment": 32}
NAMES = re.findall(r"(\w+): [^,]* = ", _core.ArrayFacts.__init__.__doc__ or "")


def test_all_facts_are_tried():
    attributes = {name for name in vars(_core.ArrayFacts) if not name.startswith("_")}
    assert set(NAMES) == attributes


@pytest.mark.parametrize("name", [name for name in NAMES if name not in DERIVED])
def test_every_fact_tells_arrays_apart(name):
    plain = _core.ArrayFacts()
    other = _core.ArrayFacts(**{name: OTHER.get(name, not getattr(plain, name))})
    assert plain == _core.ArrayFacts() != other
    assert hash(plain) == hash(_core.ArrayFacts()) != hash(other)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("entry", [None, *range(5), 65_535]),
        ("usm_type", ["device", "shared", "host", "system"]),
        ("ndim", range(65)),
        ("alignment", [1, 2, 4, 8, 16, 32, 64]),
    ],
)
def test_every_value_tells_arrays_apart(name, values):
    assert len({_core.ArrayFacts(**{name: value}) for value in values}) == len(values)
