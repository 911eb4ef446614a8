# SPDX-License-Identifier: Apache-2.0
"""The names of other projects that this documentation links to.

intersphinx fetches an inventory from each project.  A build without the network would then lose its
links, or fail.  So the few names that are used stand here, and are handed to intersphinx as
inventory files; a name that is missing is a warning, which `make docs` makes an error.
"""

from __future__ import annotations

import zlib
from pathlib import Path

#: Project -> (address of its documentation, {"domain:role name": page}).
PROJECTS: dict[str, tuple[str, dict[str, str]]] = {
    "python": (
        "https://docs.python.org/3",
        {
            "py:exception BufferError": "library/exceptions.html#BufferError",
            "py:exception MemoryError": "library/exceptions.html#MemoryError",
            "py:exception RuntimeError": "library/exceptions.html#RuntimeError",
            "py:exception TypeError": "library/exceptions.html#TypeError",
            "py:exception ValueError": "library/exceptions.html#ValueError",
            "py:class bytes": "library/stdtypes.html#bytes",
            "py:class dict": "library/stdtypes.html#dict",
            "py:class float": "library/functions.html#float",
            "py:class int": "library/functions.html#int",
            "py:class str": "library/stdtypes.html#str",
            "py:class tuple": "library/stdtypes.html#tuple",
            "py:data None": "library/constants.html#None",
            "py:function callable": "library/functions.html#callable",
            "std:label bltin-boolean-values": "library/stdtypes.html#boolean-type-bool",
            "std:term callable": "glossary.html#term-callable",
            "std:term iterable": "glossary.html#term-iterable",
            "std:term sequence": "glossary.html#term-sequence",
            "py:class enum.Enum": "library/enum.html#enum.Enum",
            "py:class enum.IntEnum": "library/enum.html#enum.IntEnum",
            "py:class typing.Protocol": "library/typing.html#typing.Protocol",
            "py:class memoryview": "library/stdtypes.html#memoryview",
        },
    ),
    "numpy": (
        "https://numpy.org/doc/stable",
        {
            "py:class numpy.dtype": "reference/generated/numpy.dtype.html#numpy.dtype",
            "py:class numpy.ndarray": "reference/generated/numpy.ndarray.html#numpy.ndarray",
            "py:function numpy.from_dlpack": "reference/generated/numpy.from_dlpack.html#numpy.from_dlpack",  # noqa: E501
        },
    ),
}


def write(folder: Path) -> dict[str, tuple[str, str]]:
    """Write an inventory for each project, and return the value of ``intersphinx_mapping``."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for project, (address, names) in PROJECTS.items():
        head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
        head += "# The remainder of this file is compressed using zlib.\n"
        lines = "".join(
            f"{key.partition(' ')[2]} {key.partition(' ')[0]} 1 {page} -\n"
            for key, page in names.items()
        )
        path = folder / f"{project}.inv"
        path.write_bytes(head.encode() + zlib.compress(lines.encode()))
        mapping[project] = (address, str(path))
    return mapping
