# SPDX-License-Identifier: Apache-2.0
"""``doctor --full``: the self-test of each device, in every test environment."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import environments
from doctor_facts import CPU, GPU, STEPS, well
from sycl_ext._doctor import checks, processes, report
from sycl_ext._doctor.machine import Step
from waiting import eventually

pytestmark = pytest.mark.timeout(420)

SHORT = dict.fromkeys(("copy", "capsule"), "ok")
ALL = {**SHORT, "strided copy": "ok", "sub-devices": "ok", "second process": "ok"}

#: A CPU: processes share its host memory.
CPU_DEVICE = (ALL, "shared host memory")
#: A GPU on Level Zero: processes share its own memory.
LEVEL_ZERO = (ALL, "device USM")
#: A GPU on OpenCL, which has neither handles nor, in these environments, system USM.
OPENCL_GPU = ({**ALL, "second process": "skipped"}, "neither inter-process handles nor system USM")
#: The same with one compute unit, so that it has no sub-devices.
SMALL_GPU = ({**OPENCL_GPU[0], "sub-devices": "skipped"}, *OPENCL_GPU[1:])
#: A GPU of an adapter that poses as CUDA's or HIP's: it has handles, and cannot be partitioned.
POSING_GPU = ({**ALL, "sub-devices": "skipped"}, "device USM")
NO_USM = ({"all": "skipped"}, "")

#: The results of the full self-test of each device: outcomes, and the memory that a second process
#: shares (or why not).
EXPECTED = {
    "cpu": [CPU_DEVICE],
    "two_platforms": [CPU_DEVICE, CPU_DEVICE],
    "level_zero_v1": [CPU_DEVICE, LEVEL_ZERO, LEVEL_ZERO],
    "level_zero_v2": [CPU_DEVICE, LEVEL_ZERO, LEVEL_ZERO],
    "level_zero_no_pools": [CPU_DEVICE, LEVEL_ZERO, LEVEL_ZERO],
    "opencl_gpu": [CPU_DEVICE, OPENCL_GPU, OPENCL_GPU],
    "opencl_gpu_pair": [CPU_DEVICE, SMALL_GPU, SMALL_GPU],
    "opencl_gpu_kernels": [CPU_DEVICE, OPENCL_GPU],
    "cuda": [CPU_DEVICE, POSING_GPU, POSING_GPU],
    "hip": [CPU_DEVICE, POSING_GPU, POSING_GPU],
    "out_of_memory": [CPU_DEVICE],
    "no_usm": [NO_USM, CPU_DEVICE],
    "no_dpctl": [CPU_DEVICE],
}


#: Every day: a device without USM, and the CPU behind it.
EVERYDAY = ("no_usm",)


def cases():
    for name in ("cpu", *environments.ENVIRONMENTS):
        yield pytest.param(name, marks=[] if name in EVERYDAY else [pytest.mark.long])


def run(scratch, *arguments, environment="cpu", **variables):
    """Run the full self-test in a test environment."""
    options = ("--full", *arguments)
    python = sys.executable if environment == "cpu" else environments.ALL[environment].python()
    return subprocess.run(
        [python, "-m", "sycl_ext", "doctor", *options],
        env={
            **environments.clean_environment(),
            **environments.variables_of(environment, scratch),
            **variables,
        },
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


@pytest.mark.parametrize("name", list(cases()))
def test_full_self_test_has_the_expected_outcomes(name, tmp_path):
    assert name in EXPECTED, f"add to EXPECTED the outcome of the full self-test in {name}"
    done = run(tmp_path, "--json", "--quick", environment=name)
    facts = json.loads(done.stdout)["facts"]
    assert facts["full"]
    assert len(facts["devices"]) == len(EXPECTED[name])
    for device, (outcomes, shares) in zip(facts["devices"], EXPECTED[name], strict=True):
        prefix = f"device {device['id']}: "
        steps = {
            step["name"].removeprefix(prefix): step
            for step in facts["steps"]
            if step["name"].startswith(prefix)
        }
        outcome_of = {step: values["outcome"] for step, values in steps.items()}
        assert outcome_of == outcomes, steps
        assert shares in steps.get("second process", {"detail": ""})["detail"]
    assert done.returncode == 0


# ---- devices that die ----------------------------------------------------------------------------

#: Breaks the process that the test "second process" starts.
BREAKS = """
import os, subprocess, time
class Popen(subprocess.Popen):
    def __init__(self, command, *more, **keywords):
        if "ready" in command[-1]:
            os.abort() if os.environ["BREAKS"] == "crash" else time.sleep(1000)
        super().__init__(command, *more, **keywords)
subprocess.Popen = Popen
"""


def broken(tmp_path, how, *arguments):
    """A run in which the test "second process" crashes or hangs."""
    (tmp_path / "sitecustomize.py").write_text(BREAKS)
    done = run(tmp_path, "--json", *arguments, PYTHONPATH=str(tmp_path), BREAKS=how)
    said = json.loads(done.stdout)
    return said, {step["name"]: step for step in said["facts"]["steps"]}


def test_crashing_device_is_tested_on_in_a_new_process(tmp_path):
    """The rest of it is tested in a new process, and nothing twice."""
    said, steps = broken(tmp_path, "crash")
    assert steps["device 0: second process"]["outcome"] == "crashed"
    assert "SIGABRT" in steps["device 0: second process"]["detail"]
    assert steps["device 0: sub-devices"]["outcome"] == "ok"
    assert steps["device 0: dpnp"]["outcome"] == "ok"
    assert [finding["id"] for finding in said["findings"]] == ["self-test"]
    assert not said["ok"]


@pytest.mark.long  # half a minute, which the device is given
def test_hanging_device_is_a_finding(tmp_path):
    said, steps = broken(tmp_path, "hang", "--timeout=30")
    assert steps["device 0: second process"]["outcome"] == "crashed"
    assert "it did not end within 30 s" in said["findings"][0]["cause"]
    assert steps["device 0: dpnp"]["outcome"] == "ok"


# ---- conclusions, and the report ---------------------------------------------------------------


def test_ended_process_takes_its_children_with_it(tmp_path, monkeypatch):
    """A hanging test may have started another process."""
    pid = tmp_path / "pid"
    wait = subprocess.Popen.wait

    def wait_until_it_hangs(process, timeout=None):
        if timeout is not None:
            assert eventually(lambda: pid.exists() and pid.read_text())
            raise subprocess.TimeoutExpired(process.args, timeout)
        return wait(process)

    monkeypatch.setattr(subprocess.Popen, "wait", wait_until_it_hangs)
    code = f"""
import subprocess, sys, time
another = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
open({str(pid)!r}, "w").write(str(another.pid))
time.sleep(1000)
"""
    with (tmp_path / "log").open("w") as log, pytest.raises(subprocess.TimeoutExpired):
        processes.run_alone([sys.executable, "-c", code], environments.clean_environment(), log, 5)
    state = Path(f"/proc/{pid.read_text()}/stat")

    def is_gone():  # or waits to be collected
        try:
            return state.read_text().rpartition(")")[2].split()[0] in "ZX"
        except (FileNotFoundError, ProcessLookupError):
            return True

    assert eventually(is_gone)


FULL = well(
    full=True,
    steps=(
        *STEPS,
        Step("device 1: sub-devices", "ok", "2 tiles"),
        Step("device 1: second process", "skipped", "it has neither of them, " * 5),
    ),
)


def test_full_report_shows_the_outcomes():
    assert checks.examine(FULL) == []
    text = report.as_text(FULL, [])
    assert "sub-devices: 2 tiles, (second process: it has neither" in " ".join(text.split())
    assert all(len(line) <= 80 for line in text.splitlines())


def test_report_says_how_to_examine_a_gpu():
    """By a distribution of its own."""
    assert "pip install ./hardware" in report.as_text(well(devices=(CPU, GPU)), [])
    assert "hardware" not in report.as_text(well(devices=(CPU,)), [])


@pytest.mark.parametrize(
    ("scope", "devices", "words"),
    [
        (None, (CPU, GPU), None),
        (0, (CPU, GPU), None),
        (1, (CPU,), None),
        (1, (CPU, GPU), "peer=PID"),
        (2, (CPU, GPU), ""),
        (3, (CPU, GPU), ""),
    ],
)
def test_ptrace_scope_is_a_warning_for_gpus(scope, devices, words):
    findings = checks.examine(well(ptrace_scope=scope, devices=devices, gpus=()))
    assert [finding.id for finding in findings] == ([] if words is None else ["ptrace-scope"])
    for finding in findings:
        assert finding.severity == "warning"
        assert finding.cure == "sudo sysctl kernel.yama.ptrace_scope=0"
        assert words in finding.then
        assert bool(finding.then) == bool(words)
