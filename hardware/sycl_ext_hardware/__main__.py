# SPDX-License-Identifier: Apache-2.0
"""``sycl-ext-hardware``, or ``python -m sycl_ext_hardware``: examine a device, write a report."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from sycl_ext_hardware import __version__, machine, report
from sycl_ext_hardware.page import as_page, summary
from sycl_ext_hardware.table import KERNELS, PARTS

#: The console script that pip installs (``project.scripts``).
SCRIPT = "sycl-ext-hardware"
#: The names of the parts of the report.
NAMES = [part.name for part in PARTS]
#: The names of the files that are written.
JSON, PAGE = "hardware.json", "hardware.md"
#: How long the whole report takes at most.
SECONDS = 600


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog=SCRIPT if Path(sys.argv[0]).name == SCRIPT else "python -m sycl_ext_hardware",
        description="Examine one SYCL device for at most ten minutes, and write a report to be "
        f"passed on: {PAGE} and {JSON}. The exit code is 1 if a promise did not hold.",
    )
    parser.add_argument("--version", action="version", version=f"{SCRIPT} {__version__}")
    parser.add_argument(
        "--device", metavar="DEVICE", help="an id or a filter string (default: a GPU)"
    )
    parser.add_argument(
        "--part",
        action="append",
        choices=NAMES,
        metavar="PART",
        help=f"only this part; repeat the option for more parts: {', '.join(NAMES)}",
    )
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, and neither dpnp nor torch"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="the folder of both files (default: here)",
    )
    parser.add_argument("--json", action="store_true", help="print the JSON")
    parser.add_argument(
        "--timeout",
        type=float,
        default=120,
        metavar="SECONDS",
        help="how long the process of a part may take (default: 120)",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Examine a device, write the report, and return the exit code."""
    options = make_parser().parse_args(arguments)
    try:
        return run(options)
    except KeyboardInterrupt:
        return 130


def run(options: argparse.Namespace) -> int:
    """Examine the device of the options."""
    begin = time.monotonic()
    try:
        facts = machine.examine()
        device = report.choose(facts["devices"], options.device)
        page, data = (writable(options.output, name) for name in (PAGE, JSON))
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    say = partial(print, file=sys.stderr, flush=True)
    say(f"{device['name']} ({device['filter_string']}); at most {SECONDS // 60} minutes")
    parts = [part for part in PARTS if part is KERNELS or part.name in (options.part or NAMES)]
    made = report.examine(
        facts,
        device,
        parts,
        quick=options.quick,
        limit=options.timeout,
        deadline=begin + SECONDS,
        say=say,
    )
    text = json.dumps(made, indent=1)
    data.write_text(f"{text}\n")
    page.write_text(as_page(made))
    print(text if options.json else f"{summary(made)}\nwritten: {page} and {data}")
    return int(not made["ok"])


def writable(folder: Path, name: str) -> Path:
    """Create a file in a folder, and return it; raise OSError if it cannot be written."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.touch()
    return path


if __name__ == "__main__":
    sys.exit(main())
