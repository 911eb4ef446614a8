# SPDX-License-Identifier: Apache-2.0
"""The processes in which `probe` asks devices and drivers, and what comes back from them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from sycl_ext._doctor.facts import SELECTORS, DeviceFacts, Driver, Library, Measurement, Step

#: Seconds after which the full self-test of a device begins no further test, at least.
FULL_SECONDS = 30

#: How lines begin that a dying process adds to what it has to say.
NOISE = ("PLEASE submit a bug report", "Stack dump", "#")

#: How a process is described that had to be ended.
HANG = "it did not end within"

#: The step in which a process died that had done everything.
AT_EXIT = "exit"


# ---- what they are asked -------------------------------------------------------------------------


def load_drivers(named: list[tuple[str, str]], timeout: float) -> tuple[Driver, ...]:
    """Try to load each driver."""
    if not named:
        return ()
    order = {"what": "drivers", "paths": [path for path, _ in named]}
    steps = {step.name: step for step in run_probe(order, os.environ, timeout).steps()}
    unknown = steps.get(AT_EXIT, Step(AT_EXIT, "ok"))
    return tuple(
        Driver(path, named_by, steps.get(f"load {path}", unknown).detail)
        for path, named_by in named
    )


def without_selector(environment: Mapping[str, str], timeout: float) -> tuple[DeviceFacts, ...]:
    """Return the devices that there are when no variable hides any; empty: no variable does."""
    kept = {name: value for name, value in environment.items() if name not in SELECTORS}
    if len(kept) == len(environment):
        return ()
    return run_probe({"what": "devices"}, kept, timeout).devices()


def test_fully(
    devices: tuple[DeviceFacts, ...], packages: tuple[str, ...], timeout: float
) -> Probed:
    """Test each device, one after the other, in a process of its own."""
    found = Probed()
    for device in devices:
        prefix = f"device {device.id}: "
        if not device.usm_types:
            detail = "the device has no USM"
            found.records.append({"step": f"{prefix}all", "outcome": "skipped", "detail": detail})
            continue
        seconds = max(FULL_SECONDS, timeout / 4)
        order = {"what": "device", "device": device.id, "packages": packages, "seconds": seconds}
        for record in run_probe(order, os.environ, timeout, after_hang=False).records:
            if record.get("step") == AT_EXIT:
                record["step"] = prefix + AT_EXIT
            if record.get("step", record.get("by", "")).startswith(prefix):
                found.records.append({**record, "device": device.id})
    return found


# ---- what comes back -----------------------------------------------------------------------------


class Probed:
    """What came back from the processes of `probe`."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self.stderr: list[str] = []

    def of(self, key: str) -> list[dict[str, Any]]:
        """Return the records of one kind."""
        return [record for record in self.records if key in record]

    def steps(self) -> tuple[Step, ...]:
        """Return each step once; a step that was repeated counts as it went first."""
        found: dict[str, Step] = {}
        for record in self.of("step"):
            step = Step(record["step"], record["outcome"], record["detail"])
            found.setdefault(step.name, step)
        return tuple(found.values())

    def devices(self) -> tuple[DeviceFacts, ...]:
        """Return the device table."""
        rows: list[dict[str, Any]] = next((record["devices"] for record in self.of("devices")), [])
        return tuple(DeviceFacts(**{**row, "usm_types": tuple(row["usm_types"])}) for row in rows)

    def measurements(self) -> tuple[Measurement, ...]:
        """Return how fast the copies were."""
        return tuple(
            Measurement(record["device"], **values)
            for record in self.of("measured")
            for values in record["measured"]
        )

    def libraries(self, owners: Mapping[str, str]) -> tuple[Library, ...]:
        """Return what was loaded, in order; `owners` has the package of each file."""
        found: dict[str, Library] = {}
        for record in self.of("libraries"):
            for path in record["libraries"]:
                library = Library(path, owners.get(path, ""), record["loaded_by"])
                found.setdefault(path, library)
        return tuple(found.values())

    def messages(self) -> tuple[str, ...]:
        """Return what the runtime wrote, each line once."""
        return tuple(dict.fromkeys(self.stderr))


# ---- how they run --------------------------------------------------------------------------------


def run_probe(
    order: Mapping[str, Any],
    environment: Mapping[str, str],
    timeout: float,
    *,
    after_hang: bool = True,
) -> Probed:
    """Run `probe`, and again without the step that it died in, until it comes to its end.

    After a step that hangs only with `after_hang`.
    """
    probed = Probed()
    skip: list[str] = []
    while True:
        records, stderr, end = run_once({**order, "skip": skip}, environment, timeout)
        probed.records += records
        probed.stderr += stderr
        if not end:
            return probed
        begun = [record["begin"] for record in records if "begin" in record]
        done = [record["step"] for record in records if "step" in record]
        crashed = begun[-1] if begun and begun[-1] not in done else AT_EXIT
        detail = ": ".join([end, *[line for line in stderr if not line.startswith(NOISE)][-1:]])
        probed.records.append({"step": crashed, "outcome": "crashed", "detail": detail})
        if crashed == AT_EXIT or (end.startswith(HANG) and not after_hang):
            return probed
        # What was tested need not be tested again; an import has to be made again.
        skip += [crashed, *(name for name in done if name.startswith(("device ", "load ")))]


def run_once(
    order: Mapping[str, Any], environment: Mapping[str, str], timeout: float
) -> tuple[list[dict[str, Any]], list[str], str]:
    """Run `probe` once; return its records, its stderr, and how it died (empty: it did not)."""
    source = Path(__file__).with_name("probe.py").read_text()
    with tempfile.TemporaryDirectory() as scratch:
        report, log = Path(scratch, "report"), Path(scratch, "log")
        report.touch()
        command = [sys.executable, "-c", source, json.dumps(order), str(report)]
        with log.open("w") as stderr:
            try:
                end = how_it_ended(run_alone(command, environment, stderr, timeout))
            except subprocess.TimeoutExpired:
                end = f"{HANG} {timeout:g} s"
        lines = [line.strip()[:300] for line in log.read_text(errors="replace").splitlines()]
        records = [json.loads(line) for line in report.read_text().splitlines()]
        return records, [line for line in lines if line], end


def run_alone(
    command: list[str], environment: Mapping[str, str], stderr: IO[str], timeout: float
) -> int:
    """Run a command, and return its exit code; on a timeout, it ends with all that it started."""
    null = subprocess.DEVNULL
    with subprocess.Popen(
        command,
        env=dict(environment),
        stdin=null,
        stdout=null,
        stderr=stderr,
        start_new_session=True,  # Ctrl-C is for the doctor, which then ends it
    ) as process:
        try:
            return process.wait(timeout)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise


def how_it_ended(returncode: int) -> str:
    """Return how a process died; empty: it did not."""
    if returncode < 0:
        return signal.Signals(-returncode).name
    return f"exit code {returncode}" if returncode else ""
