# SPDX-License-Identifier: Apache-2.0
"""The stand-in GPU, for programs."""

import pytest

import environments


@pytest.fixture(scope="session")
def gpu_environment():
    return environments.level_zero()
