# SPDX-License-Identifier: Apache-2.0
"""Writes ``docs/consumer_matrix.md`` from what was seen; nothing in it depends on the machine."""

from __future__ import annotations

from typing import Any

from consumers import ROWS
from worker import CASES, MEMORIES

HEAD = """\
# The consumer matrix

<!-- Written by tests/interop: SYCL_EXT_WRITE_MATRIX=1 make test-interop -->

What each library makes of USM, as `make test-interop` saw it; a test fails when this page says
something else. The memory is `device`, `shared` and `host` USM of the OpenCL CPU device, which the
host can reach, and `device` USM of a stand-in GPU, which it cannot.

- **view**: the result has the address of the tensor. **copy**: it has another one.
- `Error`: the class of the exception. Nothing crashed.
- "read-only" is said where a read-only tensor fares differently. A consumer that ignores the
  read-only flag gets "a view that it writes to" when it is called directly or with a host view;
  `exchange` makes a copy for it instead.
"""

SECTIONS = {
    "direct": """\
## Called with the tensor itself

Most consumers of host memory refuse kDLOneAPI, each with an exception of its own.
""",
    "host_view": """\
## Called with `sycl_ext.host_view(x)`

A host view is zero-copy where the host can reach the memory. Consumers that ask for the legacy
struct cannot be told that memory is read-only: they get a `BufferError`, and
`host_view(x, copy=True)` is the way out. A host copy is nobody's read-only memory.
""",
    "exchange": """\
## Through `sycl_ext.exchange(x, consumer)`

It succeeds with all of them, and never hands out a writable view of read-only memory.
""",
}


def write(seen: dict[str, dict[str, Any]]) -> str:
    parts = [HEAD]
    for way, text in SECTIONS.items():
        parts += [text, _table(way, seen)]
    parts += ["## How each was called, and its version\n", _versions(seen)]
    return "\n".join(parts)


def _table(way: str, seen: dict[str, dict[str, Any]]) -> str:
    lines = [_line("consumer", *MEMORIES), _line(*["---"] * (1 + len(MEMORIES)))]
    for name, found in seen.items():
        cells = [
            _cell(*(found["cases"][CASES.index((way, memory, ro))] for ro in (False, True)))
            for memory in MEMORIES
        ]
        lines.append(_line(name, *cells))
    return "\n".join(lines) + "\n"


def _cell(writable: dict[str, Any], readonly: dict[str, Any]) -> str:
    first, second = _word(writable), _word(readonly)
    if second == "view" and readonly["writable"]:
        second = "a view that it writes to"
    return first if first == second else f"{first}; read-only: {second}"


def _word(found: dict[str, Any]) -> str:
    outcome = found["outcome"]
    return outcome if outcome in ("view", "copy") else f"`{outcome}`"


def _versions(seen: dict[str, dict[str, Any]]) -> str:
    lines = [_line("consumer", "call", "version"), _line("---", "---", "---")]
    for name, found in seen.items():
        row = ROWS[name]
        version = "" if row.distribution == "sycl_ext" else f"{row.distribution} {found['version']}"
        lines.append(_line(name, f"`{row.call}`", version))
    return "\n".join(lines) + "\n"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
