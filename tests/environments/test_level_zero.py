# SPDX-License-Identifier: Apache-2.0
"""The stand-in Level Zero driver does what it promises, under each of the real adapters."""

import pytest

import level_zero.build as level_zero
from level_zero import probe


@pytest.mark.timeout(200)
@pytest.mark.parametrize(("name", "adapter"), probe.all_checks())
def test_the_driver(name, adapter):
    level_zero.build(probe.BUILD)
    failure = probe.failure_of(name, adapter)
    assert not failure, failure
