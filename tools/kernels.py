# SPDX-License-Identifier: Apache-2.0
"""Compile `src/tensor/strided.cl`, and write its SPIR-V to `src/tensor/strided_spirv.hpp`.

    python tools/kernels.py

It needs clang and llvm-spirv of one version, Debian's `clang-15` and `llvm-spirv-15`.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "tensor" / "strided.cl"
HEADER = SOURCE.with_name("strided_spirv.hpp")
CLANG, TRANSLATOR = "clang-15", "llvm-spirv-15"
#: Type of a unit, and the side of a tile: 4 to 16 KiB of local memory.
UNITS = {"uchar": 64, "ushort": 64, "uint": 32, "ulong": 32, "ulong2": 16}
OPTIONS = ("-target", "spir64", "-O1", "-cl-std=CL2.0", "-Xclang", "-finclude-default-header")

HEAD = """\
// SPDX-License-Identifier: Apache-2.0
// The SPIR-V of strided.cl for units of 1, 2, 4, 8 and 16 bytes.  Generated: `make kernels`.
#pragma once

#include "runtime/sycl/kernel.hpp"

namespace sycl_ext {

// clang-format off
"""
TAIL = """\
// clang-format on

struct StridedModule {
  Spirv spirv;
  int side;  // of a tile
};
inline constexpr StridedModule strided_spirv[] = {
"""


def compiled(unit: str, side: int) -> bytes:
    """Return the SPIR-V of the kernels for one type of a unit."""
    with tempfile.TemporaryDirectory() as folder:
        bitcode, module = Path(folder, "kernel.bc"), Path(folder, "kernel.spv")
        defines = (f"-DELEMENT={unit}", f"-DSIDE={side}")
        command = (CLANG, *OPTIONS, *defines, "-emit-llvm", "-c", SOURCE.name, "-o", str(bitcode))
        subprocess.run(command, cwd=SOURCE.parent, check=True)
        subprocess.run((TRANSLATOR, str(bitcode), "-o", str(module)), check=True)
        return module.read_bytes()


def header() -> str:
    """Return the text of the header."""
    text = HEAD
    for unit, side in UNITS.items():
        text += f"alignas(4) inline constexpr unsigned char spirv_of_{unit}[] = {{\n"
        code = compiled(unit, side)
        for start in range(0, len(code), 32):
            text += ",".join(map(str, code[start : start + 32])) + ",\n"
        text += "};\n"
    text += TAIL
    for unit, side in UNITS.items():
        text += f"    {{{{spirv_of_{unit}, sizeof spirv_of_{unit}}}, {side}}},\n"
    return text + "};\n\n}  // namespace sycl_ext\n"


if __name__ == "__main__":
    HEADER.write_text(header())
