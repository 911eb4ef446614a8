# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_ext demo``: runs the demo, which is in the repository but not in the wheel."""

import argparse
import sys
from pathlib import Path
from typing import Any

#: Where a checkout has the demo.
FOLDER = Path(__file__).parents[2] / "examples" / "demo"
HELP = "take a picture through USM, dpnp and NumPy (from a clone of the repository)"
ABSENT = (
    "error: the demo is in the repository of sycl_ext, not in its wheel; in a clone, run make "
    "demo, or python examples/demo/run.py"
)


def add_to(subparsers: Any) -> None:
    """Add the command to the command line; without the demo, it says how to get it."""
    if FOLDER.is_dir() and str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    try:
        from sycl_ext_demo import add_to as add_demo_to
    except ImportError as error:
        # Options of the demo are accepted: no argument begins with a NUL.
        parser = subparsers.add_parser("demo", help=HELP, prefix_chars="\0", add_help=False)
        parser.add_argument("arguments", nargs="*")
        is_absent = error.name == "sycl_ext_demo"
        parser.set_defaults(run=explain, why=ABSENT if is_absent else f"error: {error}")
    else:
        add_demo_to(subparsers)


def explain(options: argparse.Namespace) -> int:
    """Say why there is no demo."""
    print(options.why, file=sys.stderr)
    return 1
