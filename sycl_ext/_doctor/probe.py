# SPDX-License-Identifier: Apache-2.0
"""What can crash, for the doctor: imports, drivers, and the tests of each device.

`processes` runs this file in a process of its own, ``python -c <this file> ORDER REPORT``, so it
imports nothing but the standard library at its top.  It appends each step to REPORT, as a line of
JSON, before and after it is done: a process that dies has said in which step.  What is tried on a
device is in `self_test`.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import json
import re
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

#: The libraries of the runtime, among those that a process has loaded.
RUNTIME = re.compile(r"/lib(sycl|ur_\w+|OpenCL|ze_\w+|intelocl|umf)\.so[^/]*$")


class Probe:
    """Does steps, and reports them."""

    def __init__(self, skip: list[str], report: Path) -> None:
        self.skip = skip
        self.report = report
        self.loaded: set[str] = set()

    def tell(self, **record: Any) -> None:
        """Append a record to the report."""
        with self.report.open("a") as file:
            print(json.dumps(record), file=file, flush=True)

    def step(self, name: str, function: Callable[[], object]) -> bool:
        """Do a step, and say whether it went well."""
        if name in self.skip:
            return False
        self.tell(begin=name)
        outcome, detail, measured = try_out(function)
        if measured:
            self.tell(measured=measured, by=name)
        self.tell(step=name, outcome=outcome, detail=detail)
        new = loaded_libraries() - self.loaded
        self.loaded |= new
        self.tell(libraries=sorted(new), loaded_by=name)
        return outcome == "ok"


def try_out(function: Callable[[], object]) -> tuple[str, str, list[Any]]:
    """Run a function; return the outcome, an error or what it says, and what it has measured."""
    try:
        result = function()
    except Exception as error:
        if type(error).__name__ == "Skip":
            return "skipped", textwrap.shorten(str(error), 300, placeholder=" ..."), []
        return "failed", describe(error), []
    return (
        "ok",
        result if isinstance(result, str) else "",
        result if isinstance(result, list) else [],
    )


def describe(error: BaseException) -> str:
    """Return an error in one line: that of its first cause."""
    while error.__cause__ is not None:
        error = error.__cause__
    text = f"{type(error).__name__}: {error}"
    return textwrap.shorten(text, 300, placeholder=" ...")


def loaded_libraries() -> set[str]:
    """Return the libraries of the runtime in this process."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text(errors="replace").splitlines() if maps.exists() else []
    paths = (line.split(maxsplit=5)[-1] for line in lines if "/" in line)
    return {path for path in paths if RUNTIME.search(path)}


# ---- orders --------------------------------------------------------------------------------------


def list_devices(probe: Probe) -> list[Any]:
    """Report the device table, and return it."""
    import sycl_ext as sx

    found: list[Any] = []
    probe.step("list devices", lambda: found.extend(sx.devices()))
    described = [
        {
            "id": device.id,
            "filter_string": device.filter_string,
            "name": device.name.strip(),
            "backend": device.backend,
            "device_type": device.device_type,
            "driver_version": device.driver_version,
            "usm_types": device.usm_types,
            "fp64": device.has_fp64,
        }
        for device in found
    ]
    probe.tell(devices=described)
    return found


def imported(probe: Probe, packages: list[str]) -> Iterator[str]:
    """Import packages that are installed, one after the other, and yield those that can be."""
    for package in packages:
        installed = importlib.util.find_spec(package) is not None
        if installed and probe.step(f"import {package}", partial(import_package, package)):
            yield package


def test_runtime(probe: Probe, packages: list[str], tested: bool) -> None:
    """Import what exchanges memory, library after library, and test each device with each."""
    devices: list[Any] = []
    for package in imported(probe, packages):
        if package == "sycl_ext":
            devices = list_devices(probe)
        for device in devices if tested else ():
            for name, test in self_tests("SHORT", package).items():
                step = f"device {device.id}: {name}"
                if device.usm_types:
                    probe.step(step, partial(test, device))
                elif step not in probe.skip:
                    probe.tell(step=step, outcome="skipped", detail="the device has no USM")


def test_device(probe: Probe, packages: list[str], number: int, seconds: float) -> None:
    """Test one device with all there is, beginning no further test when the time is over."""
    end = 0.0
    for package in imported(probe, packages):
        import sycl_ext as sx

        device = sx.device(number)
        end = end or time.monotonic() + seconds
        for name, test in self_tests("FULL", package).items():
            step = f"device {number}: {name}"
            if time.monotonic() < end:
                probe.step(step, partial(test, device))
            elif step not in probe.skip:
                probe.tell(step=step, outcome="skipped", detail=f"{seconds:g} s were over")


def self_tests(which: str, package: str) -> dict[str, Callable[[Any], object]]:
    """Return the tests that need a package, with their names."""
    module = importlib.import_module("sycl_ext._doctor.self_test")
    found: dict[str, Callable[[Any], object]] = getattr(module, which).get(package, {})
    return found


def test_devices(probe: Probe) -> None:
    """List the devices, and no more."""
    if probe.step("import sycl_ext", partial(import_package, "sycl_ext")):
        list_devices(probe)


def test_drivers(probe: Probe, paths: list[str]) -> None:
    """Load each driver."""
    for path in paths:
        probe.step(f"load {path}", partial(load, path))


def import_package(name: str) -> None:
    """Import a package, for what that does; ours loads its core at the first use."""
    package = importlib.import_module(name)
    getattr(package, "Tensor", None)


def load(path: str) -> None:
    """Load a library; an OSError says what is missing."""
    if not path:
        raise OSError("no library is named")
    ctypes.CDLL(path)


def main(order: dict[str, Any], report: Path) -> None:
    """Carry out an order."""
    probe = Probe(order["skip"], report)
    if order["what"] == "runtime":
        test_runtime(probe, order["packages"], order["tested"])
    elif order["what"] == "device":
        test_device(probe, order["packages"], order["device"], order["seconds"])
    elif order["what"] == "drivers":
        test_drivers(probe, order["paths"])
    else:
        test_devices(probe)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), Path(sys.argv[2]))
