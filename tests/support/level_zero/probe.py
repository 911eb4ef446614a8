"""Does the driver do what it promises, under both adapters?

    python tests/support/level_zero/probe.py

Each check runs in a process of its own, with the settings that it names.  The first part asks
through dpctl, and needs nothing of this project; the second looks at sycl_ext there.
``tests/environments/test_level_zero.py`` runs them all.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SUPPORT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[0] = str(SUPPORT)

from level_zero.build import LIBRARY, build, environment  # noqa: E402
from stand_in_checks import HOLD_US, equal, raises, seen_by_the_host, verdict  # noqa: E402

ADAPTERS = ("v1", "v2")
BUILD = SUPPORT.parents[1] / "build" / "level_zero"


@dataclass(frozen=True)
class Check:
    body: Callable[[], None]
    settings: dict[str, object]
    returncode: int
    stderr: str
    adapters: tuple[str, ...]


CHECKS: dict[str, Check] = {}


def check(
    *,
    returncode: int = 0,
    stderr: str = "",
    adapters: tuple[str, ...] = ADAPTERS,
    **settings: object,
) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Register a check: its settings, and how its process has to end.

    A setting in capitals is an environment variable.
    """

    def register(body: Callable[[], None]) -> Callable[[], None]:
        CHECKS[body.__name__] = Check(body, settings, returncode, stderr, adapters)
        return body

    return register


def failure_of(name: str, adapter: str) -> str:
    """Run a check; what is wrong, or nothing."""
    wanted = CHECKS[name]
    variables = {key: str(value) for key, value in wanted.settings.items() if key.isupper()}
    settings = {key: value for key, value in wanted.settings.items() if not key.isupper()}
    prefixes = ("FAKEGPU_", "ZE_", "UR_", "ONEAPI_", "SYCL_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(prefixes)}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", __file__, "--check", name],
        env={
            **kept,
            "DPCTL_VERBOSITY": "error",  # or dpctl keeps the runtime's words to itself
            **environment(BUILD, adapter, **settings),
            **variables,
        },
        capture_output=True,
        text=True,
        timeout=100,
    )
    return verdict(done, wanted.returncode, wanted.stderr)


# ---- what a check works with, all of it inside the process of the check ----------------------


def gpus() -> list:
    import dpctl

    return dpctl.get_devices(device_type="gpu")


def in_order(gpu=None, **keywords: object):
    import dpctl

    return dpctl.SyclQueue(gpu or gpus()[0], property="in_order", **keywords)


def memory(data: bytes | int, queue, kind: str = "Device"):
    from dpctl import memory

    usm = getattr(memory, f"MemoryUSM{kind}")(
        data if isinstance(data, int) else len(data), queue=queue
    )
    if isinstance(data, bytes):
        usm.copy_from_host(data)
    return usm


def stand_in():
    """The switches of the driver."""
    from fake_gpu import control

    gpus()
    return control.loaded()


# ---- the driver ------------------------------------------------------------------------------


@check()
def this_loader_and_no_other() -> None:
    """libze-dev brings a loader along; no process may have both."""
    memory(b"x", in_order())
    maps = Path("/proc/self/maps").read_text()
    loaders = {line.split()[-1] for line in maps.splitlines() if "libze_loader" in line}
    equal(loaders, {str((BUILD / LIBRARY).resolve())})
    assert "libumf.so" in maps
    adapter = {"0": "zero.so", "1": "zero_v2.so"}[os.environ["SYCL_UR_USE_LEVEL_ZERO_V2"]]
    assert adapter in maps


@check()
def gpus_come_after_the_cpu() -> None:
    import dpctl

    names = [device.filter_string for device in dpctl.get_devices()]
    equal(names, ["opencl:cpu:0", "level_zero:gpu:0", "level_zero:gpu:1"])


@check(hierarchy="COMPOSITE", tiles=3)
def composite_shows_cards_with_tiles() -> None:
    card = gpus()[0]
    tiles = card.create_sub_devices(partition="next_partitionable")
    equal([tile.name for tile in tiles], [f"Fake GPU 0.{number}" for number in range(3)])
    equal(tiles[1].parent_device, card)


@check(hierarchy="FLAT")
def flat_shows_tiles_alone() -> None:
    equal(
        [gpu.name for gpu in gpus()],
        ["Fake GPU 0.0", "Fake GPU 0.1", "Fake GPU 1.0", "Fake GPU 1.1"],
    )
    raises(lambda: gpus()[0].create_sub_devices(partition="next_partitionable"))


@check(hierarchy="COMBINED")
def combined_shows_tiles_and_keeps_their_cards() -> None:
    equal(
        [gpu.name for gpu in gpus()],
        ["Fake GPU 0.0", "Fake GPU 0.1", "Fake GPU 1.0", "Fake GPU 1.1"],
    )
    raises(lambda: gpus()[0].create_sub_devices(partition="next_partitionable"))


@check(cslices=4, UR_L0_EXPOSE_CSLICE_IN_AFFINITY_PARTITIONING=1)
def a_tile_of_several_compute_queues_has_cslices() -> None:
    tile = gpus()[0].create_sub_devices(partition="next_partitionable")[1]
    parts = tile.create_sub_devices(partition="next_partitionable")
    equal(len(parts), 4)
    equal(parts[0].parent_device, tile)
    target = memory(4, in_order(parts[3]))
    target.copy_from_host(b"part")
    equal(bytes(target.copy_to_host()), b"part")


@check()
def round_trip() -> None:
    for gpu in gpus():
        usm = memory(b"over and back", in_order(gpu))
        equal(bytes(usm.copy_to_host()), b"over and back")
    equal(stand_in().fakegpu_copies(), 4)


@check(returncode=-signal.SIGSEGV)
def the_host_cannot_touch_device_memory() -> None:
    seen_by_the_host(memory(16, in_order()))


@check()
def the_host_can_touch_shared_and_host_memory() -> None:
    for kind in ("Shared", "Host"):
        equal(seen_by_the_host(memory(b"abc", in_order(), kind)), b"abc")


@check(delay_us=HOLD_US, pools=False, returncode=-signal.SIGABRT, stderr="was freed")
def memory_freed_under_a_command() -> None:
    queue = in_order()
    target = memory(16, queue)
    queue.memcpy_async(target, b"0123456789abcdef", 16)
    del target


@check(adapters=("v2",), delay_us=100_000, early_free=0, pools=False)
def a_free_that_waits() -> None:
    """The v1 adapter asks for a free that does not."""
    queue = in_order()
    target, source = memory(1, queue), memory(1, queue, "Host")
    before = stand_in().fakegpu_copies()
    queue.memcpy_async(target, source, 1)
    del target
    equal(stand_in().fakegpu_copies(), before + 1)


@check(delay_us=HOLD_US)
def a_delay_is_seen_and_can_be_ended() -> None:
    from dpctl import event_status_type

    queue = in_order()
    target = memory(3, queue, "Host")
    ctypes.memset(target._pointer, 0, 3)
    event = queue.memcpy_async(target, b"new", 3)
    assert event.execution_status != event_status_type.complete
    equal(seen_by_the_host(target), b"\0\0\0")
    stand_in().fakegpu_set_delay_us(0)
    event.wait()
    equal(event.execution_status, event_status_type.complete)
    equal(seen_by_the_host(target), b"new")


@check(mem=8 << 20)
def out_of_memory() -> None:
    first, second = (in_order(gpu) for gpu in gpus())
    raises(lambda: memory((8 << 20) + 1, first))
    held = memory(8 << 20, first)
    raises(lambda: memory(1, first))
    held = held, memory(8 << 20, second)  # each card has its own
    equal(stand_in().fakegpu_device_bytes(), sum(usm.nbytes for usm in held))


@check()
def a_profile_has_the_times_of_the_command() -> None:
    import dpctl

    queue = dpctl.SyclQueue(gpus()[0], property=["in_order", "enable_profiling"])
    target, source = memory(1 << 20, queue), memory(1 << 20, queue, "Host")
    first = queue.memcpy_async(target, source, 1 << 20)
    second = queue.memcpy_async(target, source, 1 << 20)
    queue.wait()
    for event in (first, second):
        assert event.profiling_info_submit <= event.profiling_info_start
        assert event.profiling_info_start < event.profiling_info_end
    assert first.profiling_info_end <= second.profiling_info_start


@check(system_usm=1)
def system_memory() -> None:
    assert gpus()[0].has_aspect_usm_system_allocations


@check()
def no_system_memory() -> None:
    assert not gpus()[0].has_aspect_usm_system_allocations


# ---- sycl_ext on it --------------------------------------------------------------------------


@check(hierarchy="COMPOSITE", cslices=2)
def a_cslice_is_an_entry_of_its_own() -> None:
    import sycl_ext as sx

    tile = sx.device("level_zero:gpu:0").create_sub_devices("next_partitionable")[0]
    parts = tile.create_sub_devices("cslice")
    equal(len(parts), 2)
    tensor = sx.zeros(8, "uint8", device=parts[1])
    equal(tensor.__dlpack_device__(), (14, parts[1].root_id))
    equal(bytes(tensor.to_numpy()), bytes(8))
    # The driver knows no parts of a tile: what comes back by its pointer alone is the root's.
    equal(sx.from_dlpack(tensor.__dlpack__()).device.root_id, parts[1].root_id)


def tiles_are_root_devices() -> None:
    import sycl_ext as sx

    roots = [device for device in sx.devices() if device.device_type == "gpu"]
    equal([device.kind for device in roots], ["root"] * 4)
    for device in roots:
        tensor = sx.zeros(8, "uint8", device=device)
        again = sx.from_dlpack(tensor.__dlpack__(max_version=(1, 0)))
        equal((again.device.id, again.ptr), (device.id, tensor.ptr))
    moved = tensor.to_device(roots[2])  # the other tile of the card, which reaches it
    equal(bytes(moved.to_numpy()), bytes(8))


check(hierarchy="FLAT")(tiles_are_root_devices)


@check(hierarchy="COMBINED")
def tiles_of_cards_are_root_devices() -> None:
    tiles_are_root_devices()


@check()
def devices_that_are_lost() -> None:
    """As after a hang: every call fails, for ever; none hangs, crashes or answers something."""
    import numpy as np
    from dpctl.memory import as_usm_memory

    import sycl_ext as sx

    gpu = sx.device("level_zero:gpu:0")
    tensor = sx.zeros((30, 40), "int16", device=gpu)
    source = np.zeros((30, 40), "int16")
    pinned = memory(100, tensor.sycl_queue, "Host")
    switches = stand_in()
    switches.fakegpu_set_delay_us(HOLD_US)
    tensor.sycl_queue.memcpy_async(as_usm_memory(tensor), pinned, 100)
    switches.fakegpu_lose_devices()
    calls = (
        lambda: tensor.to_numpy(),
        lambda: tensor.copy(),
        lambda: tensor[::2].copy_from(source[::2]),
        lambda: tensor.to_device("opencl:cpu:0"),
        lambda: np.asarray(sx.host_view(tensor)),
        lambda: sx.exchange(tensor, np),
        lambda: sx.as_tensor(source, device=gpu),
        lambda: sx.zeros(1 << 24, device=gpu),
        lambda: tensor.__dlpack__(dl_device=(1, 0)),
    )
    for call in calls:
        raises(call, (sx.SyclError, MemoryError, BufferError))
    assert not sx.zeros(3, device="opencl:cpu:0").to_numpy().any()


@check(system_usm=1)
def host_memory_is_viewed_by_a_device_with_system_usm() -> None:
    import numpy as np

    import sycl_ext as sx

    array = np.arange(1000, dtype="int32")
    tensor = sx.from_dlpack(array, device="level_zero:gpu:0", copy=False)
    equal((tensor.ptr, tensor.usm_type), (array.ctypes.data, "system"))
    equal(tensor.copy().to_numpy().tolist(), array.tolist())
    other = sx.zeros(1000, "int32", device="level_zero:gpu:0").copy_from(tensor)
    equal(other.to_numpy().tolist(), array.tolist())


@check()
def host_memory_that_was_imported_stays_its_owners() -> None:
    """prepare_for_device_copy makes the driver know the array: as memory of the host."""
    import numpy as np

    import sycl_ext as sx

    gpu = sx.device("level_zero:gpu:0")
    array = np.arange(1 << 16, dtype="int32")
    prepare, release = import_functions()
    context = ctypes.c_void_p(gpu.sycl_context.addressof_ref())
    prepare(ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), context)
    try:
        tensor = sx.as_tensor(array, device=gpu)
        equal(tensor.usm_type, "device")
        equal(tensor.to_numpy().tolist(), array.tolist())
        equal(np.asarray(sx.host_view(array)).ctypes.data, array.ctypes.data)
        array += 1
        tensor.copy_from(array)
        equal(tensor.to_numpy().tolist(), array.tolist())
    finally:
        release(ctypes.c_void_p(array.ctypes.data), context)


def import_functions():
    """sycl::ext::oneapi::experimental::prepare_for_device_copy, and what ends it."""
    library = ctypes.CDLL("libsycl.so.9")
    inside = "_ZN4sycl3_V13ext6oneapi12experimental"
    return (
        library[f"{inside}23prepare_for_device_copyEPKvmRKNS0_7contextE"],
        library[f"{inside}24release_from_device_copyEPKvRKNS0_7contextE"],
    )


@check(ipc=0)
def a_device_without_ipc() -> None:
    import sycl_ext as sx

    tensor = sx.zeros(1000, device="level_zero:gpu:0")
    raises(lambda: sx.ipc.handle(tensor), (BufferError, sx.SyclError))
    equal(bytes(tensor.to_numpy()), bytes(4000))


def all_checks() -> list[tuple[str, str]]:
    return [(name, adapter) for name, wanted in CHECKS.items() for adapter in wanted.adapters]


def main() -> int:
    build(BUILD)
    failures = 0
    for name, adapter in all_checks():
        failure = failure_of(name, adapter)
        failures += bool(failure)
        print(f"{'FAILED' if failure else 'ok':7}{adapter} {name.replace('_', ' ')}")
        if failure:
            print("       " + failure.replace("\n", "\n       "))
    print(f"{len(all_checks())} checks, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--check"]:
        CHECKS[sys.argv[2]].body()
    else:
        sys.exit(main())
