# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests on SYCL devices, and the marker for what a test needs of its device.

Only pytest is imported here: a session without such tests loads no SYCL runtime.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import dpctl

    from sycl_ext import Device

__all__ = ["needed", "parametrize", "skip_if_lacking", "sycl_device", "sycl_queue", "usm_type"]

#: The marker, as ``pytest --markers`` shows it.
needed = (
    "sycl_needs(*aspects): skip the test where its SYCL device lacks one of these aspects, such as "
    "'fp64' or 'usm_shared_allocations'"
)
_NO_DEVICE = "there is no SYCL device; `python -m sycl_ext doctor` explains why"


@pytest.fixture
def sycl_device(request: pytest.FixtureRequest) -> dpctl.SyclDevice:
    """A ``dpctl.SyclDevice``; a test that uses it runs once for each root device.

    Examples
    --------
    A test in a file of a project::

        def test_numbers_stay_on_their_device(sycl_device):
            x = dpnp.arange(3, device=sycl_device)
            assert (x + 1).sycl_device == sycl_device
    """
    if not hasattr(request, "param"):
        pytest.fail(
            "getfixturevalue cannot repeat a test for each device; name sycl_device among the "
            "arguments of the test",
            False,
        )
    return _or_skip(request.param).sycl_device


@pytest.fixture
def sycl_queue(sycl_device: dpctl.SyclDevice) -> dpctl.SyclQueue:
    """The ``dpctl.SyclQueue`` of `sycl_device` on which dpnp and sycl_ext work as well."""
    import sycl_ext

    return sycl_ext.device(sycl_device).sycl_queue


@pytest.fixture(params=("device", "shared", "host"))
def usm_type(request: pytest.FixtureRequest) -> str:
    """A kind of USM; a test that uses it runs once for each, where its device has that kind."""
    device = _or_skip(_device_of(request.node))
    if request.param not in device.usm_types:
        pytest.skip(f"device {device.filter_string} has no {request.param} USM")
    kind: str = request.param
    return kind


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Run a test that uses `sycl_device` on each root device; one of a project has its own rule."""
    defined = metafunc._arg2fixturedefs.get("sycl_device", ())
    if not defined or defined[-1].func.__module__ != __name__:
        return
    import sycl_ext

    roots = [device for device in sycl_ext.devices() if device.kind == "root"]
    names = [device.filter_string for device in roots]
    metafunc.parametrize("sycl_device", roots or [None], ids=names or ["none"], indirect=True)


def skip_if_lacking(item: pytest.Item) -> None:
    """Skip a test whose device lacks an aspect that a marker names."""
    for marker in item.iter_markers("sycl_needs"):
        device = _or_skip(_device_of(item)).sycl_device
        for aspect in (*marker.args, *marker.kwargs):  # no keyword is known
            if not _has(device, aspect):
                pytest.skip(f"device {device.filter_string} lacks the SYCL aspect {aspect}")


def _device_of(item: Any) -> Device | None:
    """Return the device of a test: that of `sycl_device`, or else the default device.

    A fixture of a project may have parameters of another kind than those of `parametrize`.
    """
    import sycl_ext

    if not sycl_ext.devices():
        return None
    params = item.callspec.params if hasattr(item, "callspec") else {}
    param = params.get("sycl_device")
    try:
        # A dpctl.SyclDevice, without an import of dpctl, or a name.
        of_dpctl = type(param).__module__.partition(".")[0] == "dpctl"
        if of_dpctl or isinstance(param, (sycl_ext.Device, str)):
            return sycl_ext.device(param)
    except (TypeError, ValueError):  # a name of the project's own, or another object of dpctl
        pass
    return sycl_ext.device()


def _or_skip(device: Device | None) -> Device:
    if device is None:
        pytest.skip(_NO_DEVICE)
    return device


def _has(device: dpctl.SyclDevice, aspect: Any) -> bool:
    known = [name.removeprefix("has_aspect_") for name in dir(device) if "has_aspect_" in name]
    if not known:
        pytest.fail(
            f"sycl_needs({aspect!r}) asks dpctl for the aspects of a device; install it", False
        )
    if aspect not in known:
        pytest.fail(
            f"sycl_needs({aspect!r}) names no aspect of SYCL; use some of {', '.join(known)}", False
        )
    has: bool = getattr(device, f"has_aspect_{aspect}")
    return has
