# SPDX-License-Identifier: Apache-2.0
"""The composite action, as a runner carries it out: in an empty environment, without a checkout.

    python action.py WHEEL

The steps are those of ``.github/actions/sycl-device/action.yml``; the project that uses them has
one test, which wants the device that was asked for.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
ACTION = ROOT / ".github" / "actions" / "sycl-device" / "action.yml"
SAMPLE = """
import dpctl

def test_the_device():
    kinds = [device.device_type.name for device in dpctl.get_devices()]
    assert kinds == {kinds}
    assert dpctl.SyclDevice().device_type.name == kinds[-1]
"""


def carry_out(given: dict[str, str], environment: dict[str, str], folder: Path) -> dict[str, str]:
    """Run the steps, and return the environment that later steps of the job have."""
    action = yaml.safe_load(ACTION.read_text())
    known = {name: words["default"] for name, words in action["inputs"].items()}
    assert set(given) <= set(known), f"no inputs {set(given) - set(known)}"
    values = {**known, **given}

    def expand(text: str) -> str:
        return re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: values[match[1]], text)

    file = folder / "github_env"
    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash", step
        file.touch()
        own = {name: expand(text) for name, text in step.get("env", {}).items()}
        subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", expand(step["run"])],
            env={**environment, **own, "GITHUB_ENV": str(file)},
            cwd=folder,
            check=True,
        )
        lines = file.read_text().splitlines()
        environment = {**environment, **dict(line.split("=", 1) for line in lines)}
    return environment


def main(wheel: str) -> None:
    plain = {name: text for name, text in os.environ.items() if name != "PYTHONWARNINGS"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "venv", with_pip=True)
        plain["PATH"] = os.pathsep.join([str(folder / "venv" / "bin"), plain["PATH"]])
        for device, kinds in {"cpu": ["cpu"], "gpu": ["cpu", "gpu"]}.items():
            job = folder / device
            job.mkdir()
            later = carry_out({"device": device, "package": f"{wheel}[cpu]"}, plain, job)
            (job / "test_sample.py").write_text(SAMPLE.format(kinds=kinds))
            subprocess.run(["pytest", "-q"], env=later, cwd=job, check=True)


if __name__ == "__main__":
    main(sys.argv[1])
