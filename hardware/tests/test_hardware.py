# SPDX-License-Identifier: Apache-2.0
"""``sycl-ext-hardware`` in the test environments, and on stand-ins with planted defects."""

import json
import subprocess
import sys

import pytest

import environments
from sycl_ext_hardware.page import as_page
from sycl_ext_hardware.table import PARTS

pytestmark = pytest.mark.timeout(420)

#: In each environment: the device that is examined, the work that stays pending, and parts that
#: the device cannot do, as a whole.
EXPECTED = {
    "cpu": ("opencl:cpu:0", "kernels", ()),
    "two_platforms": ("opencl:cpu:0", "kernels", ()),
    "level_zero_v1": ("level_zero:gpu:0", "long copies", ("kernels",)),
    "level_zero_v2": ("level_zero:gpu:0", "long copies", ("kernels",)),
    "level_zero_no_pools": ("level_zero:gpu:0", "long copies", ("kernels",)),
    "opencl_gpu": ("opencl:gpu:0", "kernels", ("handles",)),
    "opencl_gpu_pair": ("opencl:gpu:0", "kernels", ("handles",)),
    "opencl_gpu_kernels": ("opencl:gpu:0", "kernels", ("handles",)),
    "cuda": ("cuda:gpu:0", "long copies", ("kernels",)),
    "hip": ("hip:gpu:0", "long copies", ("kernels",)),
    "out_of_memory": ("opencl:cpu:0", "kernels", ()),
    "no_usm": ("opencl:cpu:1", "kernels", ()),
}
#: Every day.
EVERYDAY = ("cpu", "level_zero_v2")


def run(scratch, *arguments, environment, **variables):
    """Write a small report; return the exit code, the report, and the page."""
    options = ("--quick", "--output", str(scratch), *arguments)
    done = subprocess.run(
        [sys.executable, "-m", "sycl_ext_hardware", *options],
        env={
            **environments.clean_environment(),
            **environments.variables_of(environment, scratch),
            **variables,
            "PATH": "/nowhere",  # without a compiler
        },
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    report = scratch / "hardware.json"
    assert report.exists(), done.stderr
    return done.returncode, json.loads(report.read_text()), (scratch / "hardware.md").read_text()


def verdicts(report):
    """Return the verdict and the detail of each row, by part and name."""
    return {
        (part["name"], row["row"]): (row["verdict"], row["detail"])
        for part in report["parts"]
        for row in part["rows"]
    }


def cases():
    for name in ("cpu", *environments.ENVIRONMENTS):
        if name == "no_dpctl":  # the report needs dpctl
            continue
        yield pytest.param(name, marks=[] if name in EVERYDAY else [pytest.mark.long])


@pytest.mark.parametrize("name", list(cases()))
def test_report_of_an_environment_holds(name, tmp_path):
    assert name in EXPECTED, f"add to EXPECTED the device that is examined in {name}"
    code, report, page = run(tmp_path, environment=name)
    wrong = {
        row: verdict
        for row, verdict in verdicts(report).items()
        if verdict[0] not in ("held", "cannot")
    }
    assert wrong == {}
    assert (code, report["ok"]) == (0, True)
    device, work, cannot = EXPECTED[name]
    assert (report["device"]["filter_string"], report["work"]) == (device, work)
    assert [part["name"] for part in report["parts"]] == [part.name for part in PARTS]
    for part in report["parts"]:
        held = [row for row in part["rows"] if row["verdict"] == "held"]
        assert bool(held) is (part["name"] not in cannot), part
    assert page == as_page(report)


# ---- planted defects -----------------------------------------------------------------------------


def test_driver_without_barriers_is_found_by_stale_reads(tmp_path):
    code, report, page = run(
        tmp_path, "--part=streams", environment="level_zero_v2", FAKEGPU_BARRIERS="0"
    )
    assert (code, report["ok"]) == (1, False)
    result = verdicts(report)
    for does, how in (("reads", "from before the work"), ("writes", "written too early")):
        order = "its queue in-order, work on an in-order queue"
        name = f"consumer {does}: stream=a dpctl.SyclQueue, {order}"
        verdict, detail = result["streams", name]
        assert (verdict, how in detail) == ("did not hold", True), detail
        assert f"| streams | {name} | did not hold |" in page
    safe = "consumer reads: stream=None, its queue in-order, work on an in-order queue"
    assert result["streams", safe][0] == "held"  # the host waits


def test_driver_that_changes_a_byte_is_found_by_round_trips(tmp_path):
    code, report, page = run(
        tmp_path, "--part=round trips", environment="level_zero_v2", FAKEGPU_CORRUPT="2"
    )
    assert (code, report["ok"]) == (1, False)
    wrong = {
        name: verdict[1]
        for name, verdict in verdicts(report).items()
        if verdict[0] == "did not hold"
    }
    assert ("round trips", "device USM, NumPy and back") in wrong
    assert all("are wrong" in detail for detail in wrong.values())
    assert "| round trips | device USM, NumPy and back | did not hold | to_numpy: 1 of" in page


# ---- errors before the first part ----------------------------------------------------------------


def refused(output, **variables):
    """Run a report that cannot begin; return its error."""
    done = subprocess.run(
        [sys.executable, "-m", "sycl_ext_hardware", "--output", str(output)],
        env={**environments.clean_environment(), **variables},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr


def test_without_a_device_the_error_names_the_doctor(tmp_path):
    error = refused(tmp_path, ONEAPI_DEVICE_SELECTOR="cuda:*")
    assert "there is no SYCL device; python -m sycl_ext doctor says why" in error
    assert not list(tmp_path.iterdir())


def test_output_that_cannot_be_written_is_an_error_at_once(tmp_path):
    (tmp_path / "file").touch()
    error = refused(tmp_path / "file", **environments.cpu())
    assert error.startswith("error: ")
    assert str(tmp_path / "file") in error
    assert "1 of " not in error
