# SPDX-License-Identifier: Apache-2.0
"""The processes of a hardware report: a crash or a hang is a row, and not the end of it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import environments
import stream_forms
from sycl_ext_hardware.parts import streams
from sycl_ext_hardware.processes import run_part
from waiting import eventually

HERE = Path(__file__).parent


@pytest.fixture
def order(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    return {"module": "broken_parts", "device": "opencl:cpu:0", "quick": True, "kernels": True}


def run(order, limit, seconds=100):
    return {row["row"]: row for row in run_part(order, limit, time.monotonic() + seconds)}


def test_rows_that_go_wrong_do_not_end_the_part(order):
    rows = run(order, limit=10)
    assert {name: row["verdict"] for name, row in rows.items()} == {
        "holds": "held",
        "measures": "held",
        "does not hold": "did not hold",
        "raises": "did not hold",
        "cannot": "cannot",
        "crashes": "crashed",
        "hangs": "hung",
        "holds after a hang": "held",
    }
    assert rows["holds"]["detail"] == "in its way"
    assert rows["measures"]["figures"] == {"GB/s": 1.5}
    assert rows["does not hold"]["detail"] == "the bytes are others"
    assert rows["raises"]["detail"] == "ZeroDivisionError: division by zero"
    assert rows["cannot"]["detail"] == "it has none"
    assert rows["crashes"]["detail"].startswith("SIGABRT")
    assert rows["hangs"]["detail"] == "it did not end within 10 s"


def test_process_that_dies_at_its_end_is_a_row(order):
    rows = run({**order, "module": "broken_end"}, limit=60)
    assert rows["holds"]["verdict"] == "held"
    assert rows["end of the process"]["verdict"] == "crashed"
    assert rows["end of the process"]["detail"].startswith("SIGABRT")


def test_part_that_cannot_be_imported_is_a_row(order):
    rows = run({**order, "module": "no_such_part"}, limit=60)
    assert rows["set-up"]["verdict"] == "crashed"
    assert "No module named 'no_such_part'" in rows["set-up"]["detail"]


def test_rows_after_the_deadline_are_not_reached(order):
    rows = run(order, limit=60, seconds=8)
    assert rows["hangs"]["verdict"] == "not reached"
    assert "holds after a hang" not in rows
    assert rows["the rest"]["verdict"] == "not reached"


def test_modules_in_the_working_directory_do_not_hide_installed_ones(order, tmp_path, monkeypatch):
    for name in ("json", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('of the working directory')")
    monkeypatch.chdir(tmp_path)
    assert run({**order, "module": "broken_end"}, limit=60)["holds"]["verdict"] == "held"


def test_killed_report_takes_its_process_with_it(order, tmp_path):
    code = f"from sycl_ext_hardware.processes import run_part; run_part({order}, 100, 1e9)"
    at = tmp_path / "pid"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "HANGS_AT": str(at)},
        stderr=subprocess.DEVNULL,
    ) as report:
        assert eventually(lambda: at.exists() and at.read_text())
        child = int(at.read_text())
        assert Path(f"/proc/{child}").exists()
        report.send_signal(signal.SIGKILL)
    assert eventually(lambda: not is_running(child))


def is_running(pid):
    """A zombie, which nobody in a container may collect, has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_parts_need_only_numpy_and_dpctl():
    environments.python("""
import sys
import sycl_ext
from sycl_ext_hardware.table import PARTS
from importlib import import_module
for part in PARTS:
    import_module(part.module)
assert not {"dpnp", "torch"} & set(sys.modules)
""")


def test_streams_have_every_form():
    assert set(streams.FORMS) == set(stream_forms.FORMS)
