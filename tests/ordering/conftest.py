# SPDX-License-Identifier: Apache-2.0
"""The stand-in GPU, for programs."""

import pytest

import environments


@pytest.fixture(scope="session")
def gpu_environment(tmp_path_factory):
    return environments.ENVIRONMENTS["stand_in_gpu"].environment(tmp_path_factory.getbasetemp())
