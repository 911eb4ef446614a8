"""Compile the stand-in Level Zero driver and say which environment makes a process see it.

Touches `out_dir` only.
"""

from __future__ import annotations

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from stand_in_build import built, compiler, installed, is_current, opencl, run, setting_variables

#: The name by which the adapters' static loader looks for a loader; this one is also the driver.
LIBRARY = "libze_loader.so.1"
SOURCES = Path(__file__).parent / "driver"
FLAGS = ("-O1", "-std=c++17", "-fPIC", "-fvisibility=hidden", "-pthread", "-Wall")
LINK_FLAGS = ("-shared", "-pthread", f"-Wl,-soname,{LIBRARY}")
#: The libraries that look functions up in a Level Zero loader.
CALLERS = ("ur_adapter_level_zero.so.0", "ur_adapter_level_zero_v2.so.0", "umf.so.1")
#: And the names there.
LOOKED_UP = re.compile(rb"\bze[A-Z]\w{3,}\b|\bze[lrst]Get\w+ProcAddrTable\b")
#: FAKEGPU_* of driver/settings.hpp, in lower case.
SETTINGS = (
    *("devices", "tiles", "cslices", "mem", "delay_us", "p2p", "fp64", "system_usm"),
    *("barriers", "corrupt"),
)


def build(out_dir: Path) -> Path:
    """Compile the driver into `out_dir`, unless it is newer than all it is made of."""
    library = Path(out_dir) / LIBRARY
    callers = [installed("intel-sycl-rt", f"lib/lib{name}") for name in CALLERS[:2]]
    callers.append(installed("umf", f"lib/lib{CALLERS[2]}"))
    sources = sorted(SOURCES.glob("*.[ch]pp"))
    if is_current(library, (*sources, *callers, Path(__file__))):
        return library

    objects = Path(out_dir) / f"objects.{os.getpid()}"
    objects.mkdir(parents=True, exist_ok=True)
    stubs = objects / "stubs.cpp"
    stubs.write_text(stubs_for(callers, sources))
    units = [*(file for file in sources if file.suffix == ".cpp"), stubs]

    def compiled(unit: Path) -> str:
        target = str(objects / f"{unit.stem}.o")
        run([*compiler(), *FLAGS, "-c", str(unit), "-o", target])
        return target

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        object_files = list(pool.map(compiled, units))
    unfinished = objects / LIBRARY
    run([*compiler(), *LINK_FLAGS, *object_files, "-o", str(unfinished)])
    unfinished.replace(library)  # a process that runs keeps the file it has loaded
    for file in objects.iterdir():
        file.unlink()
    objects.rmdir()
    return library


def stubs_for(callers: list[Path], sources: list[Path]) -> str:
    """C++ source of functions that the adapters look up by name and the driver does not have.

    A table of functions, which the static loader fills by name afterwards, is left as it is; any
    other function is an unsupported feature.
    """
    names = set()
    for caller in callers:
        names |= {name.decode() for name in LOOKED_UP.findall(caller.read_bytes())}
    text = "\n".join(file.read_text() for file in sources)
    names -= set(re.findall(r"^ZE_API \w+\*?\s(ze\w+)\(", text, re.MULTILINE))
    return "".join(
        f'extern "C" __attribute__((visibility("default"))) int {name}() '
        f"{{ return {'0' if name.endswith('ProcAddrTable') else '0x78000003'}; }}\n"
        for name in sorted(names)
    )


def environment(
    out_dir: Path,
    adapter: str,
    *,
    hierarchy: str = "COMPOSITE",
    pools: bool = True,
    **settings: object,
) -> dict[str, str]:
    """The variables for a process that shall see the GPUs of the driver built into `out_dir`.

    `adapter` is "v1" or "v2"; without `pools` the driver sees every allocation and every free.  The
    OpenCL CPU device comes first and the GPUs after it; `settings` are the FAKEGPU_* variables in
    lower case, as in ``tiles=1``.
    """
    library = built(out_dir, LIBRARY)
    variables = {
        **opencl(installed("intel-opencl-rt", "lib/libintelocl.so")),
        "SYCL_UR_USE_LEVEL_ZERO_V2": {"v1": "0", "v2": "1"}[adapter],
        "ZEL_LIBRARY_PATH": str(library.parent),
        "ZE_FLAT_DEVICE_HIERARCHY": hierarchy,
    }
    if not pools:
        variables["UR_L0_DISABLE_USM_ALLOCATOR"] = "1"
    return {**variables, **setting_variables(SETTINGS, settings)}


if __name__ == "__main__":
    print(build(Path(sys.argv[1])))
