# SPDX-License-Identifier: Apache-2.0
"""Runs the process of a part. A crash or a hang is a row, and a new process runs the rest."""

import json
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from sycl_ext._setup import child

#: The name of a row for a process that died before its first row, or after its last one.
BEFORE, AFTER = "set-up", "end of the process"


def run_part(order: dict[str, Any], limit: float, deadline: float) -> list[dict[str, Any]]:
    """Run a part, and again without the row in which it crashed or hung, until it comes to its end.

    Each process has `limit` seconds, and none goes on after the deadline of `time.monotonic`.
    """
    rows: list[dict[str, Any]] = []
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return [*rows, row("the rest", "not reached", "the time of the report was over")]
        command = partial(part_command, {**order, "skip": [record["row"] for record in rows]})
        ended = child.run_reporting(command, os.environ, min(limit, left))
        rows += [record for record in ended.records if "row" in record]
        if not ended.death:
            return rows
        died_in = place(ended.records)
        if left < limit and ended.death == "hung":
            rows.append(row(died_in, "not reached", "the time of the report was over"))
        else:
            rows.append(row(died_in, ended.death, ended.cause))
        if died_in in (BEFORE, AFTER):
            return rows


def part_command(order: dict[str, Any], report: Path) -> list[str]:
    """Return the command that runs a part and appends its records to the report."""
    return command_of("child", {**order, "report": str(report)})


def row(name: str, verdict: str, detail: str) -> dict[str, Any]:
    """Return a row that no process has reported."""
    return {"row": name, "verdict": verdict, "detail": detail}


def place(records: list[dict[str, Any]]) -> str:
    """Return the row in which a process died."""
    if not records:
        return BEFORE
    return str(records[-1].get("begin", AFTER))


def command_of(module: str, order: dict[str, Any]) -> list[str]:
    """Return the command that calls `main` of a module of this folder with an order.

    The process finds modules where this one does, whatever the working directory holds. What `main`
    returns lives until the process ends.
    """
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; import json; "
        f"from sycl_ext._hardware.{module} import main; kept = main(json.loads(sys.argv[1]))"
    )
    return child.command(code, json.dumps(order))
