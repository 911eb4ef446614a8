# SPDX-License-Identifier: Apache-2.0
"""Floor 14. The command line: ``python -m sycl_ext``, one module per subcommand.

Exit codes: 0 done, 1 it cannot be done (the message says why, and the way out), 2 wrong usage.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from sycl_ext import __version__
from sycl_ext._cli import demo, devices
from sycl_ext._cli.text import CommandError

COMMANDS = (devices, demo)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="python -m sycl_ext",
        description="Share SYCL Unified Shared Memory between Python libraries through DLPack.",
    )
    parser.add_argument("--version", action="version", version=f"sycl_ext {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        command.add_to(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and return its exit code."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if not hasattr(options, "run"):
        parser.print_help()
        return 0
    try:
        return int(options.run(options))
    except CommandError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
