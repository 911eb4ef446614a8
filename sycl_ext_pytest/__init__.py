# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: SYCL devices on any machine, and fixtures for tests on them.

pytest loads it in each session by its entry point, so it imports nothing until an option is used.
It is a separate package, so that loading it does not import `sycl_ext`.
"""

from __future__ import annotations

import pytest

from sycl_ext_pytest import fixtures
from sycl_ext_pytest.fixtures import sycl_device, sycl_queue, usm_type

__all__ = ["sycl_device", "sycl_queue", "usm_type"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("sycl_ext", "sycl_ext: SYCL devices")
    group.addoption(
        "--sycl-device",
        choices=("cpu", "gpu"),
        help="the SYCL devices of this session; cpu: only the OpenCL CPU device; gpu: also a "
        "simulated GPU, which runs on the CPU",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Select the devices, before anything can load the SYCL runtime."""
    options = early_config.known_args_namespace
    if options.sycl_device is not None:
        from sycl_ext_pytest import devices

        devices.select(options.sycl_device)
    elif "sycl_ext" in options.plugins:  # -p sycl_ext
        import sycl_ext  # noqa: F401  # makes the CPU device of pip known


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", fixtures.needed)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests that use `sycl_device` on each device."""
    fixtures.parametrize(metafunc)


@pytest.hookimpl(tryfirst=True)  # before the fixtures of the test
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip the tests whose device lacks what they need."""
    fixtures.skip_if_lacking(item)
