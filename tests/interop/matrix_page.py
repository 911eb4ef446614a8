# SPDX-License-Identifier: Apache-2.0
"""Writes ``docs/develop/consumer_matrix.md`` from the results, the same on every machine."""

from __future__ import annotations

from typing import Any

import producers_worker
import quirks
import seen
from consumers import ROWS
from worker import MEMORIES

ALL_FLOAT8 = ", ".join(name for name in quirks.DTYPES if name.startswith("float8"))

HEAD = """\
# The consumer matrix

<!-- Written by tests/interop: SYCL_EXT_WRITE_MATRIX=1 make test-interop -->

This page shows how each library receives USM. `make test-interop` measured it, and a test fails
when the page and the measurement differ. Use the first table. The others show the same calls
without `exchange`.

The columns "CPU device" are for `device`, `shared` and `host` USM of the OpenCL CPU device, which
the host can read. They also hold for `shared` and `host` USM of a GPU. The columns "GPU" are for
`device` USM of a simulated GPU, whose memory the host cannot access.

| cell | meaning |
| --- | --- |
| view | zero-copy: the result has the address of the tensor |
| copy | the result has another address |
| writes | it got a writable view of read-only memory; `exchange` makes a copy |
| the name of an exception | the consumer refused; nothing crashed |
"""

SECTIONS = {
    "exchange": """\
## Through `sycl_ext.exchange(x, consumer)`

`exchange` succeeds with every consumer, and never passes on a writable view of read-only memory.
""",
    "host_view": """\
## Called with `sycl_ext.host_view(x)`

A host view is zero-copy where the host can read the memory. The legacy DLPack struct has no
read-only flag, so a consumer that asks for it gets a `BufferError` for read-only memory. Pass
`host_view(x, copy=True)` in that case: a copy is always writable.
""",
    "direct": """\
## Called with the tensor itself

Most consumers of host memory refuse SYCL memory (kDLOneAPI), each with a different exception.
""",
}


DTYPES = """\
## Dtypes and layouts through `exchange`

No dtype is converted silently. A dtype that a consumer lacks, or would narrow, raises a
`BufferError` that names the dtype (JAX has the 64-bit dtypes when `jax_enable_x64` is set). NumPy
has bfloat16 and float8 where `ml_dtypes` is installed, as it was here. A consumer that cannot take
a layout gets a compact copy, or makes one.
"""

OF_NUMPY = """\
These libraries take NumPy arrays or buffers. They also refuse the same arrays from NumPy.
"""

PRODUCERS = """\
## Taken from other libraries

Measured on the OpenCL CPU device, which reads host memory, and on the simulated GPU, which does
not. The values were right in every case, and the result is read-only where the array is.
"""

ABSENT = """\
## Not in the matrix

| library | why |
| --- | --- |
| cupy | its `from_dlpack` takes only CUDA and ROCm memory, and needs such a device |
| open3d-xpu | [dies where there are several devices](../recipes/open3d.md) |
| torch on XPU | needs an Intel GPU; takes only `device` USM in its default context |
| dask.array | no DLPack; it holds NumPy arrays |
| sklearnex on dpnp arrays | [needs another build](../interoperability.md#scikit-learn) |
| ml_dtypes | a set of dtypes, without arrays of its own |
"""


def write() -> str:
    sections = [HEAD]
    for way, text in SECTIONS.items():
        sections += [text, _table_of(way)]
    sections += [DTYPES, _dtypes(), OF_NUMPY, _layouts(), PRODUCERS, _producers()]
    sections += ["## Calls and versions\n", _versions(), ABSENT]
    return "\n".join(sections)


#: The columns: memory that the host reaches, and memory that it does not.
#: The site puts the heads "title: which" under one head "title" (docs/conf.py).
COLUMNS = {"CPU device": tuple(MEMORIES)[:-1], "GPU": tuple(MEMORIES)[-1:]}


def _table_of(way: str) -> str:
    heads = ["consumer"]
    for title in COLUMNS:
        heads += [f"{title}: writable", f"{title}: read-only"]
    rows = []
    for name in ROWS:
        outcomes = seen.consumer(name)
        rows.append([name])
        for memories in COLUMNS.values():
            for readonly in (False, True):
                cells = {
                    kind_of_memory: _cell(outcomes[way, kind_of_memory, readonly], readonly)
                    for kind_of_memory in memories
                }
                rows[-1].append(_joined(cells))
    return _table(heads, rows)


def _joined(cells: dict[str, str]) -> str:
    """One word where all kinds of memory fare alike, else each with its name."""
    if len(set(cells.values())) == 1:
        return next(iter(cells.values()))
    return ", ".join(f"{name}: {cell}" for name, cell in cells.items())


def _cell(outcomes: dict[str, Any], readonly: bool) -> str:
    if readonly and outcomes["outcome"] == "view" and outcomes["writable"]:
        return "writes"
    return _word(outcomes).strip("`")


def _word(outcomes: dict[str, Any]) -> str:
    outcome = outcomes["outcome"]
    return outcome if outcome in ("view", "copy") else f"`{outcome}`"


def _dtypes() -> str:
    rows = []
    for name in quirks.NAMES:
        outcomes_of_case = {case: seen.consumer(name)[case] for case in quirks.CASES}

        def cases(
            kind: str, outcomes: tuple[str, ...], outcomes_of_case: dict = outcomes_of_case
        ) -> str:
            names = [
                case[2]
                for case, result in outcomes_of_case.items()
                if case[:2] == ("exchange", kind)
                and result["outcome"] in outcomes
                and case[2] != "empty"
            ]
            return ", ".join(names) or "none"

        refused = ("BufferError", "ExchangeError")
        rows.append([name, cases("dtype", refused), cases("layout", ("copy",))])
    rows = [[cell.replace(ALL_FLOAT8, "float8") for cell in row] for row in rows]
    return _table(["consumer", "dtypes refused", "layouts that arrive as a copy"], rows)


def _layouts() -> str:
    rows = []
    for name in quirks.OF_NUMPY:
        outcomes = {
            layout: seen.consumer(name)["exchange", "layout", layout] for layout in quirks.LAYOUTS
        }
        words = {layout: _word(case) for layout, case in outcomes.items()}
        copies = [layout for layout, word in words.items() if word == "copy"]
        refused = [f"{layout}: {word}" for layout, word in words.items() if word.startswith("`")]
        rows.append([name, ", ".join(copies) or "none", ", ".join(refused) or "none"])
    return _table(["consumer", "layouts that arrive as a copy", "layouts refused"], rows)


def _producers() -> str:
    rows = []
    for name, library in producers_worker.LIBRARIES.items():
        cases = seen.producer(name)
        ways = ("from_dlpack(x, device=cpu)", "from_dlpack(x, device=gpu)", "host_view(x)")
        rows.append([name, library.array, *(_cell(cases[way], False) for way in ways)])
    heads = ["library", "x", "`from_dlpack`, CPU", "`from_dlpack`, GPU", "`host_view`"]
    return _table(heads, rows)


def _versions() -> str:
    rows = []
    for name, row in ROWS.items():
        version = seen.consumer(name)["version"]
        ours = row.distribution == "sycl_ext"
        rows.append([name, f"`{row.call}`", "" if ours else f"{row.distribution} {version}"])
    return _table(["consumer", "call", "version"], rows)


def _table(heads: list[str], rows: list[list[str]]) -> str:
    return (
        "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows)) + "\n"
    )
