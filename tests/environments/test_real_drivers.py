# SPDX-License-Identifier: Apache-2.0
"""What ``make neo`` says where the drivers cannot be fetched: one line, and never nothing."""

import shutil
import subprocess

import pytest

import environments
from real_drivers import build, debian

NOWHERE = "http://127.0.0.1:9/debian"  # the port "discard", at which nobody listens


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    monkeypatch.setattr(debian, "MIRROR", NOWHERE)
    monkeypatch.setattr(build, "FOLDER", tmp_path)
    monkeypatch.setattr(build, "SID", tmp_path / "sid")
    monkeypatch.setattr(build, "VERSIONS", tmp_path / "versions.json")
    return tmp_path


@pytest.mark.parametrize("apt", [True, False])
def test_unreachable_mirror_is_one_loud_line(apt, nowhere, monkeypatch, capfd):
    if not apt or shutil.which("apt-get") is None:
        monkeypatch.setattr(shutil, "which", lambda _program: None)
        reason = "apt-get and dpkg-deb are not installed"
    else:
        reason = "apt-get failed: "
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    assert build.main() == build.UNREACHABLE
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("WARNING: NOTHING WAS TESTED on Intel's real driver and PoCL 7")
    assert f"{NOWHERE}: {reason}" in line
    assert not build.VERSIONS.exists()  # the next run tries again


def test_unreachable_mirror_is_a_warning_on_github(nowhere, monkeypatch, capfd):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setattr(shutil, "which", lambda _program: None)
    assert build.main() == build.UNREACHABLE
    assert capfd.readouterr().out.startswith("::warning title=make neo::NOTHING WAS TESTED")


@pytest.mark.parametrize("target", ["neo", "newest-compilers"])
@pytest.mark.parametrize(("code", "ends"), [(build.UNREACHABLE, 0), (1, 2)])
def test_make_succeeds_only_where_the_mirror_is_unreachable(code, ends, target, tmp_path):
    """Another failure of the build is one of the gate."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f"#!/bin/sh\nexit {code}\n")
    python.chmod(0o755)
    command = ["make", "-o", "setup", target, f"BIN={python.parent}"]
    done = subprocess.run(command, cwd=environments.ROOT, capture_output=True)
    assert done.returncode == ends
