# SPDX-License-Identifier: Apache-2.0
"""Environments of Python whose packages of others are hard links to those of this environment.

So they are made in seconds, and take no space.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


def make_environment(
    folder: Path, requirements: Iterable[str], is_linked: Callable[[str], bool]
) -> Path:
    """Make an environment with what is linked of requirements, and return its Python.

    `is_linked` takes the name of a package.
    """
    venv.create(folder, clear=True, symlinks=True)
    (site,) = folder.glob("lib/python3*/site-packages")
    for package in closure(requirements):
        if is_linked(canonicalize_name(package.name)):
            link(package, site)
    return folder / "bin" / "python"


def closure(requirements: Iterable[str]) -> Iterator[Distribution]:
    """Yield the installed packages that requirements need, and what those need."""
    waiting = [(Requirement(wanted_requirement), "") for wanted_requirement in requirements]
    seen: set[tuple[str, str]] = set()
    while waiting:
        requirement, extra = waiting.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        for wanted in ("", *requirement.extras):
            if (name, wanted) in seen:
                continue
            seen.add((name, wanted))
            try:
                package = distribution(name)
            except PackageNotFoundError:
                sys.exit(f"{requirement} is declared, and not in {sys.prefix}: make setup")
            waiting += [
                (Requirement(wanted_requirement), wanted)
                for wanted_requirement in package.requires or []
            ]
            if not wanted:
                yield package


def link(package: Distribution, site: Path) -> None:
    """Put the files of a package into another environment, and its scripts for the Python there."""
    for file in package.files or []:
        source, target = Path(str(package.locate_file(file))), Path(os.path.normpath(site / file))
        if not source.is_file() or target.exists():  # a folder of several packages may have it
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.parent.name == "bin" and source.read_bytes()[:2] == b"#!":
            _, _, rest = source.read_bytes().partition(b"\n")
            target.write_bytes(b"#!%s/python\n%s" % (os.fsencode(target.parent), rest))
            target.chmod(0o755)
        else:
            os.link(source, target)


def pip_in(python: Path, command: str, *arguments: str | Path) -> None:
    """Run pip of this environment on another one."""
    options = [sys.executable, "-m", "pip", "--python", python, command, "--quiet"]
    subprocess.run([*options, "--disable-pip-version-check", *arguments], check=True)


def collect_failed(caches: Iterable[Path]) -> None:
    """Put the failed tests of all environments where those of this checkout are (.ci/run)."""
    failed: dict[str, bool] = {}
    for cache in caches:
        file = cache / "v" / "cache" / "lastfailed"
        failed |= json.loads(file.read_text()) if file.exists() else {}
    if failed:
        target = ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(failed))
