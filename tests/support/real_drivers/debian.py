# SPDX-License-Identifier: Apache-2.0
"""Packages of Debian sid in a folder, and programs that run with its C library; without root.

sid's drivers need a newer C library than many machines have. Its dynamic loader starts a program
with the libraries of the folder first, so Python and the packages of this environment stay.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MIRROR = "http://deb.debian.org/debian"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
#: Dependencies of the drivers that they do not need: compilers of C, headers, and a loader of
#: OpenCL drivers, which would come before that of the wheels.
UNUSED = re.compile(
    r"ocl-icd-.*|.*clang.*|.*-dev|.*-bin|.*binutils.*|.*-tools|"
    r"lib(asan|tsan|ubsan|lsan|hwasan|objc|gprofng|ctf|itm|gomp|quadmath).*"
)
#: For apt: its own lists and its own, empty list of installed packages. A mirror may lag behind
#: the time for which its lists are valid.
SETTINGS = """\
Dir "{apt}";
Dir::Etc "{apt}/etc";
Dir::State "{apt}/state";
Dir::State::status "{apt}/status";
Dir::Cache "{apt}/cache";
APT::Architecture "amd64";
APT::Architectures {{ "amd64"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
Acquire::Retries "2";
Debug::NoLocking "true";
"""


class UnreachableError(Exception):
    """The packages cannot be fetched here."""


def unpack(drivers: tuple[str, ...], compilers: tuple[str, ...], folder: Path) -> dict[str, str]:
    """Fetch the packages and what they depend on, unpack them, and return their versions."""
    apt = folder.with_name(f"{folder.name}.apt")
    _make_apt(apt)
    names = {name for name in _closure(drivers, apt) if not UNUSED.fullmatch(name)}
    names.update(_closure(compilers, apt))
    archives = apt / "archives"
    archives.mkdir(exist_ok=True)
    _apt(apt, "apt-get", "-q", "download", *names, cwd=archives)
    debs = sorted(archives.glob("*.deb"))
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda file: _run("dpkg-deb", "-x", str(file), str(folder)), debs))
    shutil.rmtree(apt)
    return dict(file.name.split("_")[:2] for file in debs)


def _make_apt(apt: Path) -> None:
    """A folder with the lists of sid, in which no package is installed."""
    for name in (
        "etc/apt.conf.d",
        "etc/preferences.d",
        "state/lists/partial",
        "cache/archives/partial",
    ):
        (apt / name).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    (apt / "apt.conf").write_text(SETTINGS.format(apt=apt))
    signed = f"[signed-by={KEYS}] " if Path(KEYS).exists() else ""
    (apt / "etc" / "sources.list").write_text(f"deb {signed}{MIRROR} sid main\n")
    _apt(apt, "apt-get", "-q", "update", "--error-on=any")


def _closure(packages: tuple[str, ...], apt: Path) -> list[str]:
    """The names of the packages that a machine without any package would get."""
    listed = _apt(apt, "apt-get", "-q", "install", "--simulate", *packages)
    return re.findall(r"^Inst (\S+)", listed, re.MULTILINE)


def _apt(apt: Path, *command: str, cwd: Path | None = None) -> str:
    if shutil.which(command[0]) is None or shutil.which("dpkg-deb") is None:
        raise UnreachableError("apt-get and dpkg-deb are not installed")
    environment = {**os.environ, "APT_CONFIG": str(apt / "apt.conf"), "LC_ALL": "C"}
    return _run(*command, cwd=cwd, env=environment)


def _run(*command: str, **how: object) -> str:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **how
    )
    if done.returncode != 0:
        last = done.stdout.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise UnreachableError(f"{command[0]} failed: {last[0]}")
    return done.stdout


def libraries(folder: Path) -> Path:
    """The folder of the unpacked libraries."""
    return folder / "usr" / "lib" / "x86_64-linux-gnu"


def launcher(
    folder: Path, program: Path, script: Path, *options: str, name: Path | str = "$0"
) -> Path:
    """Make a script that starts a program with the libraries of the folder.

    The program is told the name of the script as its own, so that Python, which starts other
    processes by `sys.executable`, starts them in the same way. A compiler, which looks for its
    files next to itself, is told another `name`.
    """
    folders = libraries(folder)
    loader = f'"{folders}/ld-linux-x86-64.so.2" --library-path "{folders}"'
    unfinished = script.with_name(f"{script.name}.{os.getpid()}")
    given = "".join(f'"{option}" ' for option in options)
    unfinished.write_text(f'#!/bin/sh\nexec {loader} --argv0 "{name}" "{program}" {given}"$@"\n')
    unfinished.chmod(0o755)
    unfinished.replace(script)
    return script


def python(folder: Path) -> Path:
    """The Python of this environment, with the libraries of the folder."""
    program = Path(sys.executable).resolve()
    script = Path(sys.prefix) / "bin" / "python-on-sid"
    if program.name == script.name:  # this process is one
        return script
    return launcher(folder, program, script)
