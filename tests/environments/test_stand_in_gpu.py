# SPDX-License-Identifier: Apache-2.0
"""The stand-in GPU, an adapter of ours, does what it promises."""

import pytest

from fake_gpu import probe


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("stand_in_gpu")


@pytest.mark.long
@pytest.mark.timeout(200)
@pytest.mark.parametrize("name", probe.CHECKS)
def test_the_adapter(name, scratch):
    probe.build(scratch)
    failure = probe.failure_of(*probe.check_in_python(name), scratch)
    assert not failure, failure


@pytest.mark.long
@pytest.mark.timeout(200)
@pytest.mark.parametrize("settings", probe.CPP_SETTINGS, ids=str)
def test_the_adapter_from_cpp(settings, scratch):
    probe.build(scratch)
    failure = probe.failure_of(*probe.check_in_cpp(settings, scratch), scratch)
    assert not failure, failure
