# SPDX-License-Identifier: Apache-2.0
"""Writes ``docs/consumer_matrix.md`` from what was seen; nothing in it depends on the machine."""

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

What each library makes of USM, as `make test-interop` saw it; a test fails when this page says
something else. The memory is `device`, `shared` and `host` USM of the OpenCL CPU device, which the
host can reach, and `device` USM of a stand-in GPU, which it cannot. Use the first table; the others
show what happens without `exchange`.

- 🟢 view: zero-copy, the result has the address of the tensor. 🟡 copy: it has another one.
- 🔴 and the class of the exception: refused. Nothing crashed.
- 🔴 writes: the consumer ignores the read-only flag, and got a view of read-only memory that it can
  write to. `exchange` makes a copy for it instead.
- The host reaches every kind of USM of a CPU device, and `shared` and `host` USM of a GPU.
"""

SECTIONS = {
    "exchange": """\
## Through `sycl_ext.exchange(x, consumer)`

It succeeds with all of them, and never hands out a writable view of read-only memory.
""",
    "host_view": """\
## Called with `sycl_ext.host_view(x)`

A host view is zero-copy where the host can reach the memory. Consumers that ask for the legacy
struct cannot be told that memory is read-only: they get a `BufferError`, and
`host_view(x, copy=True)` is the way out. A host copy is nobody's read-only memory.
""",
    "direct": """\
## Called with the tensor itself

Most consumers of host memory refuse kDLOneAPI, each with an exception of its own.
""",
}


DTYPES = """\
## Dtypes and layouts through `exchange`

No dtype is converted without a word: a dtype that a consumer lacks, or would make narrower, is a
`BufferError` that says so (jax has the 64-bit dtypes when `jax_enable_x64` is set). Where a layout
does not suit a consumer, it gets a compact copy, or makes one.
"""

OF_NUMPY = """\
These take NumPy arrays or buffers; what they refuse, they refuse from NumPy, too.
"""

PRODUCERS = """\
## Taken from other libraries

On the OpenCL CPU device, which reads host memory, and on the stand-in GPU, which does not. Results
are right in every case, and read-only where the array is.
"""

FILES = """\
## Files

Written from USM, and read into it, by the code of [the recipe](recipes/files.md): whether the peak
of the resident memory has another array in it. zarr has a few chunks in memory.
"""

FEATURES = """\
## The same work with other libraries

What each does by itself on the stand-in GPU, or on one that poses as CUDA; torch is the CPU build.
🟢 done, 🟡 with a copy, 🔴 the exception that who tries it gets.
"""

NOTES = """\
- dpctl has `dpctl.ipc` after 0.22.1, for its own memory, and `sycl_ext`
  [takes and makes its bytes](processes.md#bytes-of-dpctl-ipc).
- torch sends host memory by handles; what it took from NumPy it moves to other memory first.
- A filter string such as `"cuda,cpu"` is how dpctl and dpnp name the first device that is there.
- dpctl copies bytes in the background, and gives an event whose `wait()` blocks. dpnp waits for its
  copies between the host and a device.
"""

ABSENT = """\
## Not in the matrix

| library | why |
| --- | --- |
| cupy | its `from_dlpack` takes CUDA and ROCm memory alone, and needs such a device |
| open3d-xpu | [dies where there are several devices](recipes/open3d.md) |
| torch on XPU | needs an Intel GPU; takes `device` USM of root devices' default contexts alone |
| dask.array | no DLPack; it holds NumPy arrays |
| scikit-learn-intelex on dpnp arrays | needs an Intel GPU and oneDAL for it, else `RuntimeError` |
| ml_dtypes | a set of dtypes, without arrays of its own |
"""


def write() -> str:
    parts = [HEAD]
    for way, text in SECTIONS.items():
        parts += [text, _table_of(way)]
    parts += [DTYPES, _dtypes(), OF_NUMPY, _layouts(), PRODUCERS, _producers(), FILES, _files()]
    parts += [FEATURES, _features(), NOTES]
    parts += ["## How each was called, and its version\n", _versions(), ABSENT]
    return "\n".join(parts)


#: The columns: memory that the host reaches, and memory that it does not.
COLUMNS = {"host reaches it": tuple(MEMORIES)[:-1], "GPU": tuple(MEMORIES)[-1:]}


def _table_of(way: str) -> str:
    heads = ["consumer"]
    for title in COLUMNS:
        heads += [title, "read-only"]
    rows = []
    for name in ROWS:
        found = seen.consumer(name)
        rows.append([name])
        for memories in COLUMNS.values():
            for readonly in (False, True):
                cells = {one: _cell(found[way, one, readonly], readonly) for one in memories}
                rows[-1].append(_joined(cells))
    return _table(heads, rows)


def _joined(cells: dict[str, str]) -> str:
    """One word where all kinds of memory fare alike, else each with its name."""
    if len(set(cells.values())) == 1:
        return next(iter(cells.values()))
    return ", ".join(f"{name}: {cell}" for name, cell in cells.items())


MARKS = {"view": "🟢 view", "copy": "🟡 copy"}


def _cell(found: dict[str, Any], readonly: bool) -> str:
    if readonly and found["outcome"] == "view" and found["writable"]:
        return "🔴 writes"
    word = _word(found)
    return MARKS.get(word) or f"🔴 {word.strip('`')}"


def _word(found: dict[str, Any]) -> str:
    outcome = found["outcome"]
    return outcome if outcome in ("view", "copy") else f"`{outcome}`"


def _dtypes() -> str:
    rows = []
    for name in quirks.NAMES:
        found = {case: seen.consumer(name)[case] for case in quirks.CASES}

        def cases(kind: str, outcomes: tuple[str, ...], found: dict = found) -> str:
            names = [
                case[2]
                for case, result in found.items()
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
        found = {
            layout: seen.consumer(name)["exchange", "layout", layout] for layout in quirks.LAYOUTS
        }
        words = {layout: _word(case) for layout, case in found.items()}
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


def _files() -> str:
    rows = []
    for name, cases in seen.files().items():
        for way in ("write", "read"):
            cells = (_mark(case["outcome"]) for case in cases[way].values())
            rows.append([f"{name} {cases['version']}, {way}", *cells])
    return _table(["library", *cases["write"]], rows)


def _features() -> str:
    found = seen.features()
    rows = [
        [feature, *(_mark(case["outcome"]) for case in cases.values())]
        for feature, cases in found.items()
    ]
    return _table(["feature", *next(iter(found.values()))], rows)


def _mark(outcome: str) -> str:
    colours = {"view": "🟢", "yes": "🟢", "no copy": "🟢", "copy": "🟡", "one copy": "🟡"}
    return f"{colours.get(outcome, '🔴')} {outcome}"


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
