# SPDX-License-Identifier: Apache-2.0
"""The two GPUs of the backend."""

import pytest

import sycl_ext as sx
from level_zero import control


@pytest.fixture(scope="session")
def gpus():
    return [device for device in sx.devices() if device.device_type == "gpu"]


@pytest.fixture(scope="session")
def driver(gpus):
    """The switches of the stand-in driver below the adapter that poses."""
    return control.loaded()
