# SPDX-License-Identifier: Apache-2.0
"""The command line, ``python -m sycl_ext`` or ``sycl-ext``: one module per subcommand.

Exit codes: 0 success, 1 failure (the message has the reason and the way out), 2 wrong usage,
130 Ctrl-C.
"""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sycl_ext import __version__, get_cmake_dir, get_include
from sycl_ext._cli import demo, devices, doctor
from sycl_ext._negotiation.errors import SyclError
from sycl_ext._setup import icd

COMMANDS: list[Any] = [devices, doctor, demo]
#: The console script that pip installs (``project.scripts``).
SCRIPT = "sycl-ext"

#: Options that print one line.
ANSWERS = (
    ("--version", f"sycl_ext {__version__}", "print the version"),
    ("--include", get_include(), "print the folder of the C++ headers"),
    ("--cmakedir", get_cmake_dir(), "print the folder of the CMake package, for sycl_ext_DIR"),
)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog=SCRIPT if Path(sys.argv[0]).name == SCRIPT else "python -m sycl_ext",
        description="Share SYCL Unified Shared Memory between Python libraries through DLPack.",
        formatter_class=argparse.RawDescriptionHelpFormatter,  # a long path stays one line
    )
    for option, answer, what in ANSWERS:
        parser.add_argument(option, action="version", version=answer, help=what)
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        command.add_to(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and return its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a path may have letters that the locale lacks
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            return _run(arguments)
        finally:
            print(end="", flush=True)
    except KeyboardInterrupt:
        return 130
    except OSError as error:  # of the output: a full disk, or its reader, such as ``head``, ended
        # The interpreter writes the rest when it ends, which would fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"error: {error}", file=sys.stderr)
        return 1


def _run(arguments: Sequence[str] | None) -> int:
    parser = make_parser()
    options = parser.parse_args(arguments)
    if not hasattr(options, "run"):
        parser.print_help()
        return 0
    try:
        _require_folder()
        return int(options.run(options))
    except (SyclError, ImportError) as error:  # ImportError: the core cannot be loaded
        print(f"error: {error}", file=sys.stderr)
        return 1


def _require_folder() -> None:
    """Raise SyclError in a working directory that was deleted."""
    if icd.is_folder_deleted():
        raise SyclError(icd.DELETED_FOLDER)
