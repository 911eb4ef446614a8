# SPDX-License-Identifier: Apache-2.0
"""The garbage collector runs in another thread while a call works on memory without the GIL."""

import gc

import pytest

import environments
import sycl_ext as sx

#: A tensor without a base, whose memory a Python object owns: the collector looks through it.
SOURCES = """
import ctypes, gc, sys, threading, time
import dpctl, dpctl.memory, numpy as np, sycl_ext as sx
import ways
from sycl_ext import _core
from test_extension_api import View, find_table, pythonapi

_core._test.check_gil()
device = sx.device(sys.argv[1])
queue, table = device.sycl_queue, find_table()
COUNT = 1 << 15  # 256 KiB: large enough that each copy releases the GIL
KIND = dpctl.memory.MemoryUSMShared if sys.argv[1] == "cpu" else dpctl.memory.MemoryUSMDevice
finalized = []

class Owner:
    def __init__(self):
        self.memory = KIND(8 * COUNT, queue=queue)

    @property
    def __sycl_usm_array_interface__(self):
        return dict(data=(self.memory._pointer, False), shape=(COUNT,), strides=None,
                    typestr="<i8", version=1, syclobj=queue)

    def __del__(self):
        finalized.append(self)  # the memory lives on: the test fails, and does not crash

def handed_back():
    capsule = sx.as_tensor(Owner()).__dlpack__(stream=-1, max_version=(1, 3))
    return sx.from_dlpack(capsule)

def wrapped():
    owner = Owner()
    pythonapi.Py_IncRef(ctypes.py_object(owner))
    shape = (ctypes.c_int64 * 1)(COUNT)
    view = View(owner.memory._pointer, shape, None, 1, 0, 64, 1, device.id)
    return table.wrap(ctypes.byref(view), None, id(owner), table.release_object)

sources = {"handed back": handed_back, "wrapped": wrapped}
"""

COLLECT = """
gc.freeze()  # as servers do: a pass is short then, and there are many
is_over = False

def collect():
    while not is_over:
        gc.collect()

sys.setswitchinterval(1e-5)
collector = threading.Thread(target=collect, daemon=True)
"""

#: Each way whose call may release the GIL, for a moment: a few calls of each, and more of copies.
#: The first calls import modules, for which a thread that collects all the time has no use.
EACH_WAY = """
array = np.arange(COUNT)

others = {ways.Tag.KERNELS, ways.Tag.TORCH, ways.Tag.TVM_FFI}  # their imports take long
if sys.argv[1] != "cpu":
    others.add(ways.Tag.SUB_DEVICE)

def call_each_way(tensor, calls):
    for name, way in ways.select(without=others, dtype="int64").items():
        if not way.takes(tensor) or way.gives == ways.NOTHING:
            continue
        if way.host and not tensor.device.host_accessible(tensor.usm_type):
            continue
        arguments = (tensor, array) if way.gives == ways.WRITES else (tensor,)
        for _ in range(calls):
            way.call(*arguments)
            assert not finalized, name

call_each_way(sx.zeros(COUNT, "int64", device=device), 1)
for source in sources.values():
    tensor = source()
    tensor.copy_from(array)
    started = collector.ident or collector.start()
    call_each_way(tensor, CALLS)
    del tensor
    while not finalized:  # of the last source
        time.sleep(0.001)
    finalized.clear()
is_over = True
collector.join()
"""

COPIES = """
for source in sources.values():
    tensor = source()
    tensor.copy_from(np.zeros(COUNT, "int64"))
    started = collector.ident or collector.start()
    end = time.monotonic() + 1
    while time.monotonic() < end:
        tensor.to_numpy(copy=True, wait=False).result()
        tensor.copy_from(tensor.copy(), wait=False).wait()
        assert not finalized
    del tensor
    while not finalized:  # of the last source
        time.sleep(0.001)
    finalized.clear()
is_over = True
collector.join()
"""

#: The copy goes on when nothing else holds the tensor: its owner has to wait for the end.
GOES_ON = """
for name, source in sources.items():
    class Cycle:
        pass
    for _ in range(20):
        cycle = Cycle()
        cycle.cycle, cycle.tensor = cycle, source()
        before = len(finalized)
        copies = [cycle.tensor.to_numpy(copy=True, wait=False) for _ in range(3)]
        del cycle
        while not all(copy.done() for copy in copies):
            gc.collect()
        del copies
        deadline = time.monotonic() + 30
        while len(finalized) == before and time.monotonic() < deadline:
            gc.collect()
            time.sleep(0.001)
        assert len(finalized) > before, "the cycle is never found"
"""

DEVICES = {"cpu": "cpu", "level_zero_v2": "level_zero:gpu:0"}
WORK = {
    "each way": f"CALLS = 1\n{EACH_WAY}",
    "each way, repeated": f"CALLS = 4\n{EACH_WAY}",
    "copies": COPIES,
    "cycles": GOES_ON,
}


def work_in_environments():
    """Every day each way once, on the GPU: of the CPU, `copies` has the calls that take long."""
    for environment in DEVICES:
        for work in WORK:
            is_long = work.endswith("repeated") or (work, environment) == ("each way", "cpu")
            marks = [pytest.mark.long] if is_long else []
            yield pytest.param(environment, work, marks=marks, id=f"{environment}-{work}")


@pytest.mark.parametrize(("environment", "work"), list(work_in_environments()))
def test_owner_of_memory_in_use_is_not_finalized(environment, work, tmp_path):
    arguments = f"import sys; sys.argv[1:] = [{DEVICES[environment]!r}]\n"
    collect = "" if work == "cycles" else COLLECT
    environments.python(
        arguments + SOURCES + collect + WORK[work],
        environments.variables_of(environment, tmp_path),
        near=__file__,
    )


class Producer:
    def __init__(self, capsule, device):
        self.capsule, self.device = capsule, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **_):
        return self.capsule


HAND_BACK = {
    "from_dlpack(capsule)": lambda capsule, _: sx.from_dlpack(capsule),
    "as_tensor(capsule)": lambda capsule, _: sx.as_tensor(capsule),
    "from_dlpack(capsule, device)": lambda capsule, device: sx.from_dlpack(capsule, device=device),
    "from_dlpack(producer)": lambda *arguments: sx.from_dlpack(Producer(*arguments)),
    "as_tensor(producer)": lambda *arguments: sx.as_tensor(Producer(*arguments)),
    "host_view(producer)": lambda *arguments: sx.host_view(Producer(*arguments)),
}


@pytest.mark.parametrize("way", HAND_BACK)
def test_owner_of_an_export_that_comes_back_is_not_finalized(way):
    """A collection runs at each allocation in turn; some are between the capsule and the result."""

    class Owner:
        def __init__(self):
            self.tensor = sx.zeros(4, usm_type="shared")

        @property
        def __sycl_usm_array_interface__(self):
            return self.tensor.__sycl_usm_array_interface__

        def __del__(self):
            finalized.append(self)

    thresholds = gc.get_threshold()
    gc.freeze()
    try:
        for threshold in range(1, 40):
            finalized = []
            owner = Owner()
            owner.itself = tensor = sx.as_tensor(owner)
            device, capsule = tensor.__dlpack_device__(), tensor.__dlpack__(max_version=(1, 3))
            del owner, tensor
            gc.set_threshold(threshold, 1, 1)
            result = HAND_BACK[way](capsule, device)
            gc.set_threshold(0)
            assert not finalized, f"a collection after {threshold} allocations"
            del result, capsule
            gc.collect()
            assert finalized
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
