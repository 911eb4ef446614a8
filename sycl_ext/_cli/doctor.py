# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_ext doctor``, among the other commands."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from sycl_ext._doctor import command

if TYPE_CHECKING:
    _SubParsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_to(subparsers: _SubParsers) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser("doctor", help=command.HELP, description=command.DESCRIPTION)
    command.add_arguments(parser)
