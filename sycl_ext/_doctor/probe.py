# SPDX-License-Identifier: Apache-2.0
"""Floor 11. What can crash, for the doctor: imports, drivers, and a self-test of each device.

`collect` runs this file in a process of its own, ``python -c <this file> ORDER REPORT``, so it
imports nothing but the standard library at its top.  It appends each step to REPORT, as a line of
JSON, before and after it is done: a process that dies has said in which step.
"""

from __future__ import annotations

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

#: What the self-test moves.
DATA = bytes(range(256)) * 16


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

    def step(self, name: str, function: Callable[[], None]) -> bool:
        """Do a step, and say whether it went well."""
        if name in self.skip:
            return False
        self.tell(begin=name)
        error = failure_of(function)
        self.tell(step=name, outcome="failed" if error else "ok", detail=error)
        new = loaded_libraries() - self.loaded
        self.loaded |= new
        self.tell(libraries=sorted(new), loaded_by=name)
        return not error


def failure_of(function: Callable[[], None]) -> str:
    """Run a function, and return its error; empty: there was none."""
    try:
        function()
    except Exception as error:
        return describe(error)
    return ""


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


# ---- the self-test of a device -------------------------------------------------------------------


def tensors(device: Any) -> Any:
    """Yield a tensor with DATA for each kind of USM of the device."""
    import sycl_ext as sx

    for kind in device.usm_types:
        if kind != "system":
            yield sx.empty(len(DATA), "uint8", usm_type=kind, device=device).copy_from(DATA)


def expect(found: object, wanted: object, what: str) -> None:
    """Complain about a value."""
    if found != wanted:
        raise AssertionError(what)


def allocate(device: Any) -> None:
    """Allocate each kind of USM."""
    import sycl_ext as sx

    for kind in device.usm_types:
        if kind != "system":
            expect(sx.empty(1 << 20, "uint8", usm_type=kind, device=device).usm_type, kind, kind)


def copy(device: Any) -> None:
    """Copy there and back."""
    for tensor in tensors(device):
        expect(tensor.to_numpy(copy=True).tobytes(), DATA, f"{tensor.usm_type} USM lost its bytes")


def export(device: Any) -> None:
    """Hand out capsules, old and new."""
    for tensor in tensors(device):
        for version in (None, (1, 0)):
            if tensor.__dlpack__(max_version=version) is None:
                raise AssertionError("no capsule")


def import_(device: Any) -> None:
    """Take a capsule in."""
    import sycl_ext as sx

    for tensor in tensors(device):
        taken = sx.from_dlpack(tensor.__dlpack__(max_version=(1, 0)))
        expect(taken.ptr, tensor.ptr, f"{tensor.usm_type} USM came back at another address")


def with_dpnp(device: Any) -> None:
    """Let dpnp view the memory, and take it back."""
    import dpnp

    import sycl_ext as sx

    for tensor in tensors(device):
        taken = sx.from_dlpack(dpnp.from_dlpack(tensor))
        expect(taken.ptr, tensor.ptr, f"dpnp moved {tensor.usm_type} USM to another address")
        expect(taken.to_numpy(copy=True).tobytes(), DATA, "the bytes are not the same")


def with_torch(device: Any) -> None:
    """Let torch have the bytes."""
    import torch

    import sycl_ext as sx

    for tensor in tensors(device):
        found = sx.exchange(tensor, torch)
        expect(bytes(found.cpu().tolist()), DATA, f"the bytes of {tensor.usm_type} USM are others")


#: What is tested after which import.
SELF_TESTS: dict[str, dict[str, Callable[[Any], None]]] = {
    "sycl_ext": {"allocate": allocate, "copy": copy, "export": export, "import": import_},
    "dpnp": {"dpnp": with_dpnp},
    "torch": {"torch": with_torch},
}


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


def test_runtime(probe: Probe, packages: list[str]) -> None:
    """Import what exchanges memory, library after library, and test each device with each."""
    devices: list[Any] = []
    for package in packages:
        if importlib.util.find_spec(package) is None:
            continue
        if not probe.step(f"import {package}", partial(import_package, package)):
            continue
        if package == "sycl_ext":
            devices = list_devices(probe)
        for device in devices:
            for name, test in SELF_TESTS.get(package, {}).items():
                step = f"device {device.id}: {name}"
                if device.usm_types:
                    probe.step(step, partial(test, device))
                elif step not in probe.skip:
                    probe.tell(step=step, outcome="skipped", detail="the device has no USM")


def test_devices(probe: Probe) -> None:
    """List the devices, and no more."""
    if probe.step("import sycl_ext", partial(import_package, "sycl_ext")):
        list_devices(probe)


def test_drivers(probe: Probe, paths: list[str]) -> None:
    """Load each driver."""
    for path in paths:
        probe.step(f"load {path}", partial(load, path))


def import_package(name: str) -> None:
    """Import a package, for what that does."""
    importlib.import_module(name)


def load(path: str) -> None:
    """Load a library; an OSError says what is missing."""
    if not path:
        raise OSError("no library is named")
    ctypes.CDLL(path)


def main(order: dict[str, Any], report: Path) -> None:
    """Carry out an order."""
    probe = Probe(order["skip"], report)
    if order["what"] == "runtime":
        test_runtime(probe, order["packages"])
    elif order["what"] == "drivers":
        test_drivers(probe, order["paths"])
    else:
        test_devices(probe)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), Path(sys.argv[2]))
