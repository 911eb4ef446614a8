# SPDX-License-Identifier: Apache-2.0
"""Puts a gate before every function of the SYCL runtime and every allocator that the core calls.

    python tests/core/cpp/gates.py LIBRARY NM GATES.cpp LINK_OPTIONS

``ld --wrap=f`` sends the calls of the core to ``__wrap_f``.  For a function of the runtime that is
a few instructions written here: they ask ``core_runtime_gate()`` (in ``gate.cpp``), which
throws when it is this call's turn to fail, and go on to the function with the arguments as they
were.  So the list of the calls is the one of the linker, and no new call can be forgotten.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

#: Their wrappers are written in C++, in ``gate.cpp``.
ALLOCATORS = {"_Znwm", "_ZnwmRKSt9nothrow_t", "malloc", "posix_memalign"}
#: Not calls that can fail: what reads an exception, copies of handles, code locations, and what
#: SYCL declares noexcept.
HARMLESS = ("9exception", "exception_list", "tls_code_loc_t", "_V16deviceC", "get_backend")

HEADER = """\
// Written by gates.py.
#if !defined(__x86_64__)
#error "the gates are written for x86-64"
#endif
"""
GATE = r"""
asm(R"(
    .text
    .globl __wrap_NAME
    .type __wrap_NAME, %function
__wrap_NAME:
    .cfi_startproc
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %r8
    push %r9
    push %rax
    .cfi_adjust_cfa_offset 56
    mov $NUMBER, %edi
    call core_runtime_gate
    pop %rax
    pop %r9
    pop %r8
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    .cfi_adjust_cfa_offset -56
    jmp __real_NAME
    .cfi_endproc
    .size __wrap_NAME, .-__wrap_NAME
)");
"""


def called(library: str, nm: str) -> tuple[set[str], set[str]]:
    """The functions of the runtime, and the allocators, that the core calls."""
    lines = subprocess.check_output([nm, "-u", library], text=True).split("\n")
    names = {line.split()[-1] for line in lines if " U " in line}
    runtime = {name for name in names if name.startswith(("_ZN4sycl", "_ZNK4sycl"))}
    return {name for name in runtime if not any(harmless in name for harmless in HARMLESS)}, (
        names & ALLOCATORS
    )


def main(library: str, nm: str, gates: str, options: str) -> None:
    runtime, allocators = called(library, nm)
    assert len(runtime) > 20, runtime
    assert allocators == ALLOCATORS, allocators
    names = sorted(runtime)
    code = HEADER + "".join(
        GATE.replace("NAME", name).replace("NUMBER", str(number))
        for number, name in enumerate(names)
    )
    listed = "".join(f'    "{name}",\n' for name in names)
    code += f'\nextern "C" {{\nextern const char* const core_gates[] = {{\n{listed}}};\n}}\n'
    Path(gates).write_text(code)
    Path(options).write_text(
        "\n".join(f"-Wl,--wrap={name}" for name in [*names, *sorted(allocators)])
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
