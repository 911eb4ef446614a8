# SPDX-License-Identifier: Apache-2.0
"""Runs a page of ``docs/recipes``: ``python recipes.py PAGE``.  Its C and C++ is compiled there.

The line ``<!-- run: ... -->`` of a page says where: ``stand-in GPU`` (with its settings), next
to the CPU device; ``interop``: all the libraries of `make test-interop`.  A page with
``cpu`` is a document like any other, and run by test_docs.py.  So is ``docs/interoperability.md``,
whose ``pycon`` blocks need the libraries of `make test-interop`.
"""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

PAGES = Path(__file__).resolve().parents[2] / "docs" / "recipes"
INTEROPERABILITY = "../interoperability.md"
_SETUP = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PYCON = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"^```.*$", re.MULTILINE)
_RUN = re.compile(r"<!-- run: (?P<where>[\w -]+)(?:, (?P<settings>.+))? -->")
_LIBRARY = re.compile(
    r"^`(?P<name>\w+)\.(?P<language>c|cpp)`.*?^```(?P=language)$\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def pages(where: str) -> dict[str, dict[str, str]]:
    """The pages that run there: name -> settings of the stand-in GPU."""
    programs = {}
    for page in sorted(PAGES.glob("*.md")):
        match = _RUN.search(page.read_text())
        if match is None:
            raise ValueError(f"{page.name} does not say where it runs")
        if match["where"] == where:
            pairs = (match["settings"] or "").split()
            programs[page.name] = dict(pair.split("=") for pair in pairs)
    return programs


def libraries(text: str) -> dict[str, str]:
    """The sources on a page: file name -> code."""
    return {f"{m['name']}.{m['language']}": m["code"] for m in _LIBRARY.finditer(text)}


def compile_c(source: Path) -> list[str]:
    from tvm_ffi.libinfo import find_dlpack_include_path

    return ["cc", "-std=c11", f"-I{find_dlpack_include_path()}", str(source)]


def compile_cpp(source: Path) -> list[str]:
    import sycl_ext
    from stand_in_build import compiler, installed

    sycl = installed("intel-sycl-rt", "include/sycl/sycl.hpp").parents[1]
    command = [*compiler(), "-std=c++17", "-Wno-attributes", f"-I{sycl_ext.get_include()}"]
    command += [f"-isystem{sycl}", f"-isystem{sysconfig.get_path('include')}", str(source)]
    return [*command, f"-L{sycl.parent / 'lib'}", "-lsycl"]


def compile_libraries(text: str) -> None:
    """Compile the sources of a page to ``lib<name>.so`` in this folder."""
    for name, code in libraries(text).items():
        source = Path(name)
        source.write_text(code)
        command = compile_c(source) if source.suffix == ".c" else compile_cpp(source)
        command += ["-Wall", "-Werror", "-shared", "-fPIC", "-o", f"lib{source.stem}.so"]
        subprocess.run(command, check=True)


def main(name: str, device: str | None = None) -> int:
    """Run a page; `device` takes the place of the stand-in GPU."""
    text = (PAGES / name).read_text()
    if device is not None:
        text = text.replace('"level_zero:gpu:0"', f'"{device}"')
    compile_libraries(text)
    if name == INTEROPERABILITY:
        text = "".join(_SETUP.findall(text)[:1] + _PYCON.findall(text))
    examples = doctest.DocTestParser().get_doctest(_FENCE.sub("", text), {}, name, name, 0)
    assert examples.examples, f"{name} has no examples"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    return runner.run(examples).failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
