# SPDX-License-Identifier: Apache-2.0
"""The kinds of USM that Python names are those that the core allocates."""

from sycl_ext import _core
from sycl_ext._negotiation.usm_types import ALLOCATED, USM_TYPES


def test_kinds_are_those_of_the_core():
    assert _core.ALLOCATED_KINDS == ALLOCATED
    assert (*ALLOCATED, "system") == USM_TYPES
