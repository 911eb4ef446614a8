# SPDX-License-Identifier: Apache-2.0
"""Runs the steps that can crash: package imports, driver loading, and the tests of each device.

`processes` runs the text of this file as ``python -c TEXT ORDER REPORT``, so that it works where
the package cannot be imported: at its top it imports nothing but the standard library. An order
has `drivers` to load, `packages` to import one after the other, `tests` (the table in `self_test`
with the tests after each import), and `skip`, the steps to leave out.
"""

import ctypes
import importlib
import importlib.util
import json
import re
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

#: The libraries of the runtime, among those that a process has loaded.
RUNTIME = re.compile(r"/lib(sycl|ur_\w+|OpenCL|ze_\w+|intelocl|umf)\.so[^/]*$")

#: The facts about a device that are attributes of the same name.
DEVICE = ("id", "filter_string", "backend", "device_type", "driver_version", "usm_types")


class Probe:
    """Carries out an order, and appends each step to the report when it begins and when it ends."""

    def __init__(self, order: dict[str, Any], report: Path) -> None:
        self.order = order
        self.report = report
        self.loaded: set[str] = set()
        self.devices: list[Any] = []

    def report_step(self, **record: Any) -> None:
        """Append a record to the report."""
        with self.report.open("a") as file:
            print(json.dumps(record), file=file, flush=True)

    def step(self, name: str, function: Callable[[], object]) -> bool:
        """Do a step, and say whether it succeeded.  Its result is a detail, or the device table."""
        if name in self.order["skip"]:
            return False
        self.report_step(begin=name)
        outcome, result = "ok", None  # type: str, Any
        try:
            result = function()
        except Exception as error:
            is_skip = type(error).__name__ == "Skip"
            outcome, result = ("skipped", str(error)) if is_skip else ("failed", describe(error))
        new = loaded_libraries() - self.loaded
        self.loaded |= new
        detail, devices = ("", result) if isinstance(result, list) else (result or "", [])
        detail = textwrap.shorten(detail, 300, placeholder=" ...")
        self.report_step(
            step=name, outcome=outcome, detail=detail, devices=devices, libraries=sorted(new)
        )
        return outcome == "ok"

    def run(self) -> None:
        """Carry the order out."""
        for path in self.order.get("drivers", ()):
            self.step(f"load {path}", partial(load, path))
        for package in self.order.get("packages", ()):
            if importlib.util.find_spec(package) is None:
                continue
            if self.step(f"import {package}", partial(import_package, package)):
                if package == "sycl_ext":
                    self.step("list devices", self.list_devices)
                if tests := self.order.get("tests"):
                    self.test(tests, package)

    def list_devices(self) -> list[dict[str, Any]]:
        """Return the device table."""
        import sycl_ext as sx

        self.devices = list(sx.devices())
        return [
            {name: getattr(device, name) for name in DEVICE}
            | {"name": device.name.strip(), "fp64": device.has_fp64}
            for device in self.devices
        ]

    def test(self, tests: str, package: str) -> None:
        """Run the tests of each device that need a package."""
        if not self.devices:  # `self_test` imports sycl_ext, which may have failed
            return
        module = importlib.import_module("sycl_ext._doctor.self_test")
        for device in self.devices:
            if not device.usm_types:
                self.step(f"device {device.id}: all", partial(module.skip, "it has no USM"))
                continue
            for name, test in getattr(module, tests).get(package, {}).items():
                self.step(f"device {device.id}: {name}", partial(test, device))


def describe(error: BaseException) -> str:
    """Return an error in one line: that of its first cause."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}"


def loaded_libraries() -> set[str]:
    """Return the libraries of the runtime in this process."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text(errors="replace").splitlines() if maps.exists() else []
    paths = (line.split(maxsplit=5)[-1] for line in lines if "/" in line)
    return {path for path in paths if RUNTIME.search(path)}


def load(path: str) -> None:
    """Load a library; an OSError names the missing file."""
    if not path:
        raise OSError("the .icd file is empty or not readable")
    ctypes.CDLL(path)


def import_package(name: str) -> None:
    """Import a package for its side effects; sycl_ext loads its core on first use."""
    getattr(importlib.import_module(name), "Tensor", None)


if __name__ == "__main__":
    Probe(json.loads(sys.argv[1]), Path(sys.argv[2])).run()
