# SPDX-License-Identifier: Apache-2.0
"""The doctor on GPUs: with double precision, and in one environment without."""

import json
import subprocess
import sys

import sycl_ext as sx


def test_doctor():
    done = subprocess.run(
        [sys.executable, "-m", "sycl_ext", "doctor", "--json", "--quick"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    report = json.loads(done.stdout)
    assert done.returncode == 0  # it works: less than double precision is worth a warning
    devices = report["facts"]["devices"]
    assert [device["id"] for device in devices] == [0, 1, 2]
    steps = {step["name"]: step["outcome"] for step in report["facts"]["steps"]}
    for device in range(3):
        for test in ("copy", "capsule"):
            assert steps[f"device {device}: {test}"] == "ok"

    lacking = [entry.id for entry in sx.devices()[:3] if not entry.has_fp64]
    findings = [finding for finding in report["findings"] if finding["id"] == "no-fp64"]
    assert bool(findings) == bool(lacking)
    for finding in findings:
        assert [f"{entry} (Fake GPU" in finding["problem"] for entry in range(3)] == [
            entry in lacking for entry in range(3)
        ]
        assert "kernels that compute with float64 fail" in finding["cause"]
        assert finding["cure"].startswith("export OverrideDefaultFP64Settings=1")
