"""Does the stand-in GPU do what it promises? ``python tests/support/fake_gpu/probe.py [out_dir]``

Builds the adapter and runs every check below in a process of its own, with the settings that the
check names. Needs dpctl, g++ and the wheels of the SYCL runtime; leaves nothing behind unless it
is given an `out_dir`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

from fake_gpu.build import build, compiler, environment, installed, run  # noqa: E402
from stand_in_checks import HOLD_US, equal, raises, seen_by_the_host, verdict  # noqa: E402


@dataclass(frozen=True)
class Check:
    body: Callable[[], None]
    settings: dict[str, object]
    with_cpu: bool
    returncode: int
    stderr: str


CHECKS: dict[str, Check] = {}


def check(
    *, with_cpu: bool = True, returncode: int = 0, stderr: str = "", **settings: object
) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Register a check: its settings, and how its process has to end."""

    def register(body: Callable[[], None]) -> Callable[[], None]:
        CHECKS[body.__name__] = Check(body, settings, with_cpu, returncode, stderr)
        return body

    return register


# --- what a check works with, all of it inside the process of the check ---


@dataclass
class Bench:
    """The first two GPUs, their default context, and the controls of the adapter."""

    gpus: list = field(init=False)
    context: object = field(init=False)

    def __post_init__(self) -> None:
        import dpctl

        from fake_gpu import control

        self.gpus = dpctl.get_devices(device_type="gpu")
        self.context = dpctl.SyclQueue(self.gpus[0]).sycl_context
        self.control = control.loaded()

    def queue(self, gpu: int = 0, **keywords: object):
        import dpctl

        return dpctl.SyclQueue(self.context, self.gpus[gpu], **keywords)

    def memory(self, data: bytes | int, kind: str = "Device", queue=None):
        from dpctl import memory

        nbytes = data if isinstance(data, int) else len(data)
        usm = getattr(memory, f"MemoryUSM{kind}")(nbytes, queue=queue or self.queue())
        if isinstance(data, bytes):
            usm.copy_from_host(data)
        return usm


# --- devices ---


@check()
def gpus_come_after_the_cpu() -> None:
    import dpctl

    names = [device.filter_string for device in dpctl.get_devices()]
    equal(names, ["opencl:cpu:0", "level_zero:gpu:0", "level_zero:gpu:1"])


@check(with_cpu=False, devices=3)
def gpus_alone() -> None:
    import dpctl

    names = [device.filter_string for device in dpctl.get_devices()]
    equal(names, ["level_zero:gpu:0", "level_zero:gpu:1", "level_zero:gpu:2"])


@check(devices=1, tiles=3)
def tiles_are_persistent() -> None:
    gpu = Bench().gpus[0]
    tiles = gpu.create_sub_devices(partition="numa")
    equal([tile.name for tile in tiles], ["Fake GPU 0.0", "Fake GPU 0.1", "Fake GPU 0.2"])
    equal(tiles, gpu.create_sub_devices(partition="next_partitionable"))
    equal(tiles[1].parent_device, gpu)


@check(tiles=0)
def no_tiles() -> None:
    import dpctl

    gpu = Bench().gpus[0]
    raises(lambda: gpu.create_sub_devices(partition="numa"), dpctl.SyclSubDeviceCreationError)


@check()
def fp64_by_default() -> None:
    assert all(gpu.has_aspect_fp64 for gpu in Bench().gpus)


@check(fp64=0)
def no_fp64() -> None:
    assert not any(gpu.has_aspect_fp64 for gpu in Bench().gpus)


# --- memory ---


@check()
def round_trip() -> None:
    bench = Bench()
    for gpu in range(2):
        usm = bench.memory(b"over and back", queue=bench.queue(gpu))
        equal(bytes(usm.copy_to_host()), b"over and back")
    equal(bench.control.fakegpu_copies(), 4)


@check(returncode=-signal.SIGSEGV)
def the_host_cannot_touch_device_memory() -> None:
    seen_by_the_host(Bench().memory(16))


@check()
def the_host_can_touch_shared_and_host_memory() -> None:
    bench = Bench()
    for kind in ("Shared", "Host"):
        equal(seen_by_the_host(bench.memory(b"abc", kind)), b"abc")


@check(mem=1 << 20)
def out_of_memory() -> None:
    bench = Bench()
    raises(lambda: bench.memory((1 << 20) + 1))
    usm = bench.memory(1 << 20)
    raises(lambda: bench.memory(1))
    other = bench.memory(1 << 20, queue=bench.queue(1))  # each GPU has its own
    equal(bench.control.fakegpu_device_bytes(), 2 << 20)
    del usm
    bench.memory(1 << 20)
    del other


@check()
def allocations_are_counted() -> None:
    bench = Bench()
    before = bench.control.fakegpu_live_allocations()
    held = [bench.memory(100, kind) for kind in ("Device", "Shared", "Host")]
    equal(bench.control.fakegpu_live_allocations() - before, 3)
    equal(bench.control.fakegpu_device_bytes(), 4096)
    held.clear()
    equal(bench.control.fakegpu_live_allocations(), before)
    equal(bench.control.fakegpu_device_bytes(), 0)


@check(stats=1, stderr="live allocations at exit: 0, device bytes: 0")
def stats_at_exit() -> None:
    Bench().memory(b"x")


@check(delay_us=HOLD_US, returncode=-signal.SIGABRT, stderr="freed before a command")
def memory_freed_under_a_command() -> None:
    bench = Bench()
    usm = bench.memory(16)
    queue = bench.queue()
    event = queue.memcpy_async(usm, b"0123456789abcdef", 16)
    del usm
    bench.control.fakegpu_set_delay_us(0)
    event.wait()


# --- queues ---


@check(delay_us=30 * HOLD_US)  # longer than a check may take
def a_delay_is_seen_and_can_be_ended() -> None:
    bench = Bench()
    queue = bench.queue(property="in_order")
    target = bench.memory(3, "Host")
    event = queue.memcpy_async(target, b"new", 3)
    from dpctl import event_status_type

    equal(event.execution_status, event_status_type.submitted)
    equal(seen_by_the_host(target), b"\0\0\0")
    bench.control.fakegpu_set_delay_us(0)
    event.wait()
    equal(event.execution_status, event_status_type.complete)
    equal(seen_by_the_host(target), b"new")


def last_writer(middle: Callable[[object, object], list], **keywords: object) -> bytes:
    """Which of two copies to one place came last, with `middle` between their submissions."""
    bench = Bench()
    queue = bench.queue(**keywords)
    target = bench.memory(1, "Host")
    first = queue.memcpy_async(target, b"1", 1)
    queue.memcpy_async(target, b"2", 1, middle(queue, first))
    bench.control.fakegpu_set_delay_us(0)
    queue.wait()
    return seen_by_the_host(target)


@check(delay_us=HOLD_US)
def in_order_keeps_the_order() -> None:
    equal(last_writer(lambda queue, first: [], property="in_order"), b"2")


@check(delay_us=HOLD_US)
def out_of_order_lets_the_newest_overtake() -> None:
    equal(last_writer(lambda queue, first: []), b"1")


@check(delay_us=HOLD_US)
def out_of_order_respects_a_dependency() -> None:
    equal(last_writer(lambda queue, first: [first]), b"2")


@check(delay_us=HOLD_US)
def out_of_order_respects_a_barrier() -> None:
    equal(last_writer(lambda queue, first: queue.submit_barrier() and []), b"2")


@check(delay_us=HOLD_US)
def out_of_order_respects_a_barrier_with_events() -> None:
    equal(last_writer(lambda queue, first: queue.submit_barrier([first]) and []), b"2")


# --- contexts and peers ---


def tile_in_the_default_context():
    import dpctl

    bench = Bench()
    tile = bench.gpus[0].create_sub_devices(partition="numa")[1]
    return bench, tile, lambda: dpctl.SyclQueue(bench.context, tile)


@check()
def level_zero_contexts() -> None:
    import dpctl

    bench, _, make_queue = tile_in_the_default_context()
    usm = bench.memory(b"tile", queue=make_queue())
    equal(bytes(usm.copy_to_host()), b"tile")
    equal(usm.get_usm_type(dpctl.SyclContext([bench.gpus[0]])), "device")


@check(strict_ctx=1)
def opencl_contexts() -> None:
    import dpctl

    bench, tile, make_queue = tile_in_the_default_context()
    raises(make_queue, dpctl.SyclQueueCreationError)
    usm = bench.memory(b"root")
    equal(usm.get_usm_type(dpctl.SyclContext([bench.gpus[0]])), "unknown")
    own = dpctl.SyclContext([tile])
    usm = bench.memory(b"tile", queue=dpctl.SyclQueue(own, tile))
    equal(bytes(usm.copy_to_host()), b"tile")
    equal(usm.get_usm_type(own), "device")
    equal(usm.get_usm_type(bench.context), "unknown")


def copy_between_gpus(private_context: bool = False) -> None:
    import dpctl

    bench = Bench()
    source = bench.memory(b"peer", queue=bench.queue(1))
    queue = dpctl.SyclQueue(dpctl.SyclContext([bench.gpus[0]]), bench.gpus[0])
    if not private_context:
        queue = bench.queue(0)
    target = bench.memory(4, queue=queue)
    queue.memcpy(target, source, 4)
    equal(bytes(target.copy_to_host()), b"peer")


@check()
def peers_in_one_context() -> None:
    copy_between_gpus()


@check(stderr="INVALID_ARGUMENT")
def peers_without_a_common_context() -> None:
    raises(lambda: copy_between_gpus(private_context=True), RuntimeError)


@check(strict_p2p=1, stderr="INVALID_ARGUMENT")
def strict_peers() -> None:
    raises(copy_between_gpus, RuntimeError)


@check(strict_p2p=1, p2p=1)
def connected_peers() -> None:
    copy_between_gpus(private_context=True)


# --- failures ---


@check()
def each_kind_of_call_can_fail() -> None:
    import dpctl

    bench = Bench()
    queue = bench.queue()
    usm = bench.memory(1)
    for kind in ("Device", "Shared", "Host"):
        bench.control.fakegpu_fail_at(1)
        raises(lambda kind=kind: bench.memory(1, kind, queue))
    for call in (
        lambda: queue.memcpy(usm, b"x", 1),
        lambda: queue.submit_barrier(),
        lambda: bench.queue(),
        lambda: dpctl.SyclContext([bench.gpus[0]]),
    ):
        bench.control.fakegpu_fail_at(1)
        raises(call)
        call()  # one call fails, not all that follow


@check()
def fail_at_counts_from_now() -> None:
    bench = Bench()
    queue = bench.queue()
    before = bench.control.fakegpu_calls()
    bench.control.fakegpu_fail_at(3)
    held = [bench.memory(1, queue=queue), bench.memory(1, queue=queue)]
    raises(lambda: bench.memory(1, queue=queue))
    equal(bench.control.fakegpu_calls() - before, 3)
    bench.control.fakegpu_fail_at(1)
    bench.control.fakegpu_fail_at(0)
    held.append(bench.memory(1, queue=queue))


@check(fail_at=50)
def fail_at_from_the_environment() -> None:
    bench = Bench()
    queue = bench.queue()
    held = []
    raises(lambda: [held.append(bench.memory(1, queue=queue)) for _ in range(50)])
    equal(bench.control.fakegpu_calls(), 50)


# --- the runner ---


def failure_of(command: list[str], wanted: Check, out_dir: Path) -> str:
    """Empty if the process ends as it has to."""
    variables = environment(out_dir, with_cpu=wanted.with_cpu, **wanted.settings)
    prefixes = ("FAKEGPU_", "OCL_", "ONEAPI_", "SYCL_", "UR_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
    kept["DPCTL_VERBOSITY"] = "error"  # or dpctl keeps the runtime's words to itself
    done = subprocess.run(
        command, env={**kept, **variables}, capture_output=True, text=True, timeout=100
    )
    return verdict(done, wanted.returncode, wanted.stderr)


def build_cpp_probe(out_dir: Path) -> Path:
    """The part of the checks that is C++."""
    library = installed("intel-sycl-rt", "lib/libsycl.so")
    include = installed("intel-sycl-rt", "include/sycl/sycl.hpp").parents[1]
    program = out_dir / "probe"
    command = [*compiler(), "-O1", "-std=c++17", "-w", "-isystem", str(include)]
    command += [str(Path(__file__).with_suffix(".cpp")), "-o", str(program), "-pthread"]
    run([*command, f"-L{library.parent}", "-lsycl", f"-Wl,-rpath,{library.parent}"])
    return program


def check_in_python(name: str) -> tuple[list[str], Check]:
    """The command that runs a check, and how it has to end."""
    return [sys.executable, __file__, "--check", name], CHECKS[name]


#: With which settings the checks in C++ run.
CPP_SETTINGS: tuple[dict[str, object], ...] = ({}, {"p2p": 1, "strict_ctx": 1})


def check_in_cpp(settings: dict[str, object], out_dir: Path) -> tuple[list[str], Check]:
    """The same for the checks in C++."""
    return [str(build_cpp_probe(out_dir))], Check(main, settings, True, 0, "")


def main(out_dir: Path) -> int:
    start = time.monotonic()
    library = build(out_dir)
    built_at = library.stat().st_mtime_ns
    assert build(out_dir).stat().st_mtime_ns == built_at, "it was built twice"
    jobs = {name: check_in_python(name) for name in CHECKS}
    for settings in CPP_SETTINGS:
        jobs[f"probe.cpp with {settings}"] = check_in_cpp(settings, out_dir)
    failures = 0
    for name, (command, wanted) in jobs.items():
        failure = failure_of(command, wanted, out_dir)
        failures += bool(failure)
        print(f"{'FAILED' if failure else 'ok':7}{name.replace('_', ' ')}")
        if failure:
            print("       " + failure.replace("\n", "\n       "))
    print(f"{len(jobs)} checks, {failures} failed, {time.monotonic() - start:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--check"]:
        CHECKS[sys.argv[2]].body()
    elif sys.argv[1:]:
        sys.exit(main(Path(sys.argv[1])))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            sys.exit(main(Path(scratch)))
