# SPDX-License-Identifier: Apache-2.0
"""Bad input to every public function: the class of the error, and a word that its message has."""

import io
import pickle
import types
from dataclasses import replace
from unittest.mock import Mock

import dpctl
import numpy as np
import pytest

import sycl_ext as sx
import ways
from producers import over
from sycl_ext import dlpack, ipc, memory, mpi, pickling

HUGE = 2**62
#: The id of no device, however many contexts other tests have registered.
NOBODY = 1_000_000


def tensor(**where):
    return sx.zeros((2, 3), **where)


def module_without_name():
    module = types.ModuleType("nameless")
    del module.__name__
    return module


def of_80_bits():
    return over(tensor(), dtype=(2, 80, 1)).capsule()


def readonly():
    return tensor(usm_type="shared").as_readonly()


#: call -> (exception, word of the message); the call is the name of the case
CASES = {
    # devices
    "device": {
        "no such id": (lambda: sx.device(NOBODY), ValueError, f"no device {NOBODY}"),
        "no such string": (lambda: sx.device("gpu:9"), ValueError, "gpu:9"),
        "the host": (lambda: sx.device((1, 0)), ValueError, "host_view"),
        "another type": (lambda: sx.device(1.5), TypeError, "float"),
        "two arguments": (lambda: sx.device(0, 0), TypeError, "argument"),
        "queues without end": (lambda: sx.device(Mock()), TypeError, "SyclQueueRef"),
        "a queue at 0": (lambda: sx.device(Mock(sycl_queue=0)), ValueError, "address"),
        "an object that shows no queue": (
            lambda: sx.device(Mock(sycl_queue=None)), TypeError, "not a SYCL",
        ),
    },
    "devices": {"an argument": (lambda: sx.devices(1), TypeError, "argument")},
    "register_context": {
        "no context": (lambda: sx.register_context(3), (TypeError, ValueError), "queue|context"),
        "a device": (lambda: sx.register_context(dpctl.SyclDevice()), TypeError, "queue|context"),
        "a string": (lambda: sx.register_context("cpu"), TypeError, "queue|context"),
        "nothing": (lambda: sx.register_context(None), TypeError, "use a dpctl"),
        "a DLPack capsule": (
            lambda: sx.register_context(tensor().__dlpack__()), TypeError, "SyclContextRef",
        ),
        "a device it does not have": (
            lambda: sx.register_context(sx.device().sycl_context, NOBODY),
            ValueError,
            f"no device {NOBODY}",
        ),
    },
    "Device": {
        "no constructor for users": (lambda: sx.Device(), TypeError, "sycl_ext.device"),
        "kind of memory": (lambda: sx.device().host_accessible("rom"), ValueError, "rom"),
        "a cut": (
            lambda: sx.device().create_sub_devices("L9_cache"), (sx.SyclError, ValueError), "L9",
        ),
        "pickling": (lambda: pickle.dumps(sx.device()), TypeError, "send .uuid:"),
    },
    # making
    **{
        function.__name__: {
            "no memory": (lambda f=function: f([1, 2]), TypeError, "exports no memory"),
            "no dtype": (lambda f=function: f(tensor(), "flaot"), TypeError, "flaot"),
            "a shape": (lambda f=function: f((2, 3)), TypeError, "numpy.asarray"),
            "no kind": (lambda f=function: f(tensor(), usm_type="Host"), ValueError, "Host"),
            "no device": (lambda f=function: f(tensor(), device=NOBODY), ValueError, "no device"),
            "no order": (lambda f=function: f(tensor(), order="K"), ValueError, "K"),
            "nothing": (lambda f=function: f(), TypeError, "argument"),
        }
        for function in (sx.empty_like, sx.zeros_like)
    },
    "empty": {
        "no shape": (lambda: sx.empty(), TypeError, "shape"),
        "negative length": (lambda: sx.empty(-1), ValueError, "-1"),
        "negative length inside": (lambda: sx.empty((2, -3)), ValueError, r"shape\[1\] is -3"),
        "float as shape": (lambda: sx.empty(1.5), TypeError, "1.5"),
        "string as shape": (lambda: sx.empty("3"), TypeError, "shape"),
        "None as shape": (lambda: sx.empty(None), TypeError, "shape"),
        "bool as shape": (lambda: sx.empty(True), TypeError, "shape"),
        "nested shape": (lambda: sx.empty(((1, 2), 3)), TypeError, "shape"),
        "too many dimensions": (lambda: sx.empty((1,) * 65), ValueError, "65"),
        "overflow": (lambda: sx.empty((HUGE, 8)), ValueError, "address space"),
        "overflow of bytes": (lambda: sx.empty(HUGE, "float64"), ValueError, "address space"),
        "beyond int64": (lambda: sx.empty(2**64), ValueError, "address space"),
        "no memory": (lambda: sx.empty(2**50, "int8"), MemoryError,
            "1125899906842624 bytes.*the largest allocation of the device is .* bytes; split"),
        "no dtype": (lambda: sx.empty(3, "flaot"), TypeError, "flaot"),
        "strings": (lambda: sx.empty(3, "U5"), ValueError, "str"),
        "byte order": (lambda: sx.empty(3, ">i4"), ValueError, "byte order"),
        "long double": (lambda: sx.empty(3, "longdouble"), ValueError, "long double"),
        "kind": (lambda: sx.empty(3, usm_type="pinned"), ValueError, "pinned"),
        "kind of another type": (lambda: sx.empty(3, usm_type=1), TypeError, "usm_type"),
        "order": (lambda: sx.empty(3, order="K"), ValueError, "'C' or 'F'"),
        "order of another type": (lambda: sx.empty(3, order=None), TypeError, "order"),
        "device": (lambda: sx.empty(3, device="tpu"), ValueError, "tpu"),
        "device id": (lambda: sx.empty(3, device=NOBODY), ValueError, str(NOBODY)),
        "a list of devices": (lambda: sx.empty(3, device=[0]), TypeError, "from_dlpack"),
        "positional device": (lambda: sx.empty(3, "int8", "shared"), TypeError, "positional"),
        "unknown keyword": (lambda: sx.empty(3, usm="shared"), TypeError, "usm"),
    },
    "zeros": {
        "negative length": (lambda: sx.zeros(-1), ValueError, "-1"),
        "no memory": (lambda: sx.zeros(2**50, "int8"), MemoryError, "bytes"),
        "no dtype": (lambda: sx.zeros(3, "flaot"), TypeError, "flaot"),
        "kind": (lambda: sx.zeros(3, usm_type="system"), ValueError, "system"),
    },
    "ones": {
        "negative length": (lambda: sx.ones(-1), ValueError, "-1"),
        "no dtype": (lambda: sx.ones(3, "flaot"), TypeError, "flaot"),
        "kind": (lambda: sx.ones(3, usm_type="system"), ValueError, "system"),
        "order": (lambda: sx.ones(3, order="K"), ValueError, "'C' or 'F'"),
        "device": (lambda: sx.ones(3, device="tpu"), ValueError, "tpu"),
    },
    "full": {
        "no value": (lambda: sx.full(3), TypeError, "fill_value"),
        "a list": (lambda: sx.full(2, [1, 2]), TypeError, "must be a number"),
        "a text": (lambda: sx.full(2, "1", "int8"), TypeError, "must be a number"),
        "a long double": (
            lambda: sx.full(2, np.longdouble(0.1), "float64"),
            TypeError,
            "of dtype float128, which is not supported",
        ),
        "another kind": (lambda: sx.full(2, 1.5, "int8"), TypeError, "of type int"),
        "out of range": (lambda: sx.full(2, 300, "int8"), ValueError, "-128 to 127"),
        "no dtype": (lambda: sx.full(3, 1, "flaot"), TypeError, "flaot"),
        "kind": (lambda: sx.full(3, 1, usm_type="system"), ValueError, "system"),
        "positional device": (lambda: sx.full(3, 1, "int8", 0), TypeError, "positional"),
    },
    "Tensor.fill": {
        "nothing": (lambda: tensor().fill(), TypeError, "value"),
        "an array": (lambda: tensor().fill(np.zeros(3)), TypeError, "copy_from"),
        "another kind": (lambda: tensor().fill(1j), TypeError, "of type float"),
        "read-only": (lambda: tensor().as_readonly().fill(1), BufferError, "read-only"),
    },
    # taking
    "from_dlpack": {
        "nothing": (lambda: sx.from_dlpack(), TypeError, "argument"),
        "a number": (lambda: sx.from_dlpack(3), TypeError, "int.*numpy.asarray"),
        "a list": (lambda: sx.from_dlpack([1]), TypeError, "list.*numpy.asarray"),
        "bytes": (lambda: sx.from_dlpack(b"abc"), TypeError, "as_tensor"),
        "another capsule": (
            lambda: sx.from_dlpack(dpctl.SyclQueue()._get_capsule()), BufferError, "SyclQueueRef",
        ),
        "keyword": (lambda: sx.from_dlpack(x=tensor()), TypeError, "keyword argument 'x'"),
        "copy": (lambda: sx.from_dlpack(tensor(), copy="no"), TypeError, "copy is 'no'"),
        "copy of a NumPy bool": (lambda: sx.from_dlpack(tensor(), copy=1), TypeError, "copy is 1"),
        "device": (lambda: sx.from_dlpack(tensor(), device=NOBODY), ValueError, str(NOBODY)),
        "the host as device": (
            lambda: sx.from_dlpack(tensor(), device=(1, 0)), ValueError, "host_view",
        ),
        "strings": (lambda: sx.from_dlpack(np.array(["a"])), (BufferError, ValueError), "dtype"),
        "wrong dtype": (lambda: sx.from_dlpack(of_80_bits()), BufferError, "bits 80"),
    },
    "as_tensor": {
        "nothing": (lambda: sx.as_tensor(), TypeError, "argument"),
        "a number": (lambda: sx.as_tensor(3), TypeError, "numpy.asarray"),
        "a list": (lambda: sx.as_tensor([1, 2]), TypeError, "numpy.asarray"),
        "an object": (lambda: sx.as_tensor(object()), TypeError, "buffer protocol"),
        "an array of objects": (lambda: sx.as_tensor(np.array([None])), BufferError, "object"),
        "an array of strings": (lambda: sx.as_tensor(np.array(["a"])), BufferError, "str"),
        "copy": (lambda: sx.as_tensor(b"abc", copy="no"), TypeError, "copy is 'no'"),
        "device": (lambda: sx.as_tensor(b"abc", device="tpu"), ValueError, "tpu"),
    },
    "host_view": {
        "a number": (lambda: sx.host_view(3), TypeError, "int"),
        "copy": (lambda: sx.host_view(tensor(), copy=0), TypeError, "copy is 0"),
        "keyword": (lambda: sx.host_view(x=tensor()), TypeError, "keyword argument 'x'"),
        "constructor": (lambda: sx.HostView(tensor()), TypeError, "cannot be instantiated"),
        "new": (lambda: sx.HostView.__new__(sx.HostView), TypeError, "cannot be instantiated"),
    },
    "exchange": {
        "no consumer": (lambda: sx.exchange(tensor()), TypeError, "consumer"),
        "a consumer that is none": (
            lambda: sx.exchange(tensor(), object()), TypeError, "consumer is a",
        ),
        "None": (lambda: sx.exchange(tensor(), None), TypeError, "consumer is None"),
        "a list of modules": (lambda: sx.exchange(tensor(), [np]), TypeError, "consumer is a"),
        "a module without from_dlpack": (
            lambda: sx.exchange(tensor(), pytest),
            TypeError,
            r"^consumer pytest has no from_dlpack; .*exchange\(x, numpy\)",
        ),
        "a module without a name": (
            lambda: sx.exchange(tensor(), module_without_name()), TypeError, "library is unknown",
        ),
        "no memory": (lambda: sx.exchange(3, np), TypeError, "int"),
        "copy": (lambda: sx.exchange(tensor(), np, copy="no"), TypeError, "copy is"),
        "host_copy": (lambda: sx.exchange(tensor(), np, host_copy="no"), TypeError, "host_copy is"),
        "a device": (lambda: sx.exchange(tensor(), "tpu"), ValueError, "tpu"),
        "usm_type": (lambda: sx.exchange(tensor(), 0, usm_type="usm"), ValueError, "'usm'"),
        "usm_type for a library": (
            lambda: sx.exchange(tensor(), np, usm_type="shared"), TypeError, r"as_tensor\(x, usm",
        ),
    },
    "explain": {
        "no memory": (lambda: sx.explain(3), TypeError, "int"),
        "copy": (lambda: sx.explain(tensor(), copy=2), TypeError, "copy is"),
        "a consumer that is none": (lambda: sx.explain(tensor(), object()), TypeError, "consumer"),
        "usm_type": (lambda: sx.explain(tensor(), 0, usm_type=3), TypeError, "usm_type is 3"),
    },
    "dlpack.capsule_from_pointer": {
        "NULL": (lambda: dlpack.capsule_from_pointer(0), ValueError, "address 0"),
        "no number": (lambda: dlpack.capsule_from_pointer("x"), TypeError, "is of type str"),
        "a tensor for versioned": (
            lambda: dlpack.capsule_from_pointer(0, versioned=sx.zeros(3)),
            TypeError,
            "versioned is of type Tensor",
        ),
        "positional version": (lambda: dlpack.capsule_from_pointer(8, True), TypeError, "argument"),
    },
    "memory.live_exports": {"an argument": (lambda: memory.live_exports(1), TypeError, "argument")},
    "memory.cached": {"an argument": (lambda: memory.cached(1), TypeError, "argument")},
    "memory.release_cached": {
        "an argument": (lambda: memory.release_cached(1), TypeError, "argument")
    },
    "memory.register_host": {
        "a number": (lambda: memory.register_host(1), TypeError, "int"),
        "keyword": (lambda: memory.register_host(x=b""), TypeError, "positional-only"),
    },
    "memory.prefetch": {
        "a number": (lambda: memory.prefetch(1), TypeError, "int"),
        "keyword": (lambda: memory.prefetch(x=tensor()), TypeError, "positional-only"),
    },
    "memory.advise": {
        "a number": (lambda: memory.advise(1, "read_mostly"), TypeError, "int"),
        "no advice": (lambda: memory.advise(tensor(), "faster"), ValueError, "'read_mostly'"),
        "undo": (lambda: memory.advise(tensor(), "read_mostly", undo=1), TypeError, "undo is 1"),
    },
    "memory.statistics": {"no such device": (lambda: memory.statistics("tpu"), ValueError, "tpu")},
    "memory.limit": {
        "no size": (lambda: memory.limit("cpu", "1"), TypeError, "nbytes is '1'"),
        "negative": (lambda: memory.limit("cpu", -1), ValueError, "nbytes is -1"),
        "no function": (lambda: memory.limit("cpu", 1, 2), TypeError, "on_pressure is of type int"),
    },
    # between processes
    "pickling.to_device": {
        "no such device": (lambda: pickling.to_device(NOBODY).__enter__(), ValueError, str(NOBODY)),
        "the host": (lambda: pickling.to_device((1, 0)).__enter__(), ValueError, "host_view"),
    },
    "ipc.empty": {
        "negative length": (lambda: ipc.empty(-1), ValueError, "-1"),
        "no dtype": (lambda: ipc.empty(3, "flaot"), TypeError, "flaot"),
        "order": (lambda: ipc.empty(3, order="K"), ValueError, "'C' or 'F'"),
        "more than there is": (lambda: ipc.empty(HUGE // 8), MemoryError, "bytes"),
    },
    "ipc.handle": {
        "an array": (lambda: ipc.handle(np.zeros(3)), BufferError, "ipc.empty"),
        "no array": (lambda: ipc.handle(object()), TypeError, "object"),
        "memory that cannot be shared": (lambda: ipc.handle(tensor()), BufferError, "ipc.empty"),
        "no elements": (lambda: ipc.handle(ipc.empty(0)), BufferError, "no elements"),
    },
    "pickling.register": {
        "no such library": (lambda: pickling.register("numpie"), ValueError, "numpie"),
    },
    "ipc.register_multiprocessing": {
        "no such library": (lambda: ipc.register_multiprocessing("numpie"), ValueError, "numpie"),
    },
    "ipc.pack": {
        "no array": (lambda: ipc.pack(object()), TypeError, "object"),
        "no such way": (lambda: ipc.pack(tensor(), how="pigeon"), ValueError, "'bytes'"),
        "no handle": (lambda: ipc.pack(tensor(), how="handle"), BufferError, "ipc.empty"),
    },
    "Packed.open": {
        "nobody has it": (
            lambda: replace(ipc.pack(tensor(), how="shared memory"), _keep=None).open(),
            BufferError,
            "how='bytes'",
        ),
    },
    "ipc.open": {
        "no device": (lambda: ipc.open(b"handle"), TypeError, "device"),
        "no such bytes": (lambda: ipc.open(b"h", device="cpu", shape=3), BufferError, "handles"),
        "a tensor for a handle": (lambda: ipc.open(ipc.empty(3)), TypeError, "Tensor"),
    },
    "staged": {
        "mode": (lambda: sx.staged(tensor(), "a").__enter__(), ValueError, "'rw'"),
        "read-only": (lambda: sx.staged(readonly()).__enter__(), BufferError, "read-only"),
        "an array": (lambda: sx.staged(np.zeros(3)).__enter__(), TypeError, "as_tensor"),
    },
    "mpi.staged_request": {
        "mode": (lambda: mpi.staged_request(tensor(), "a", print), ValueError, "'rw'"),
        "start": (lambda: mpi.staged_request(tensor(), "r", 1), TypeError, "start is of type int"),
        "an array": (lambda: mpi.staged_request(b"1", "r", print), TypeError, "as_tensor"),
    },
    # Tensor
    "Tensor": {
        "constructor": (lambda: sx.Tensor((2, 3)), TypeError, "cannot be instantiated.*empty"),
        "new": (lambda: sx.Tensor.__new__(sx.Tensor), TypeError, "cannot be instantiated.*empty"),
    },
    "len": {"no axes": (lambda: len(sx.zeros(())), TypeError, "0-dimensional")},
    "Tensor.__getitem__": {
        "out of range": (lambda: tensor()[2], IndexError, "index 2.*axis 0 with size 2"),
        "too many": (lambda: tensor()[0, 0, 0], IndexError, "but 3 were indexed"),
        "a list": (lambda: tensor()[[0, 1]], IndexError, "list"),
        "a mask": (lambda: tensor()[np.ones((2, 3), bool)], IndexError, "ndarray"),
        "a string": (lambda: tensor()["x"], IndexError, "str"),
        "a slice of strings": (lambda: tensor()["a":"b"], TypeError, "slice|str"),
        "step 0": (lambda: tensor()[::0], ValueError, "zero"),
    },
    "Tensor.transpose": {
        "an axis twice": (lambda: tensor().transpose(0, 0), ValueError, "appear once"),
        "too few": (lambda: tensor().transpose(0), ValueError, "appear once"),
        "no such axis": (lambda: tensor().transpose(0, 2), ValueError, "out of bounds"),
        "no axes": (lambda: tensor().transpose("x"), TypeError, "axis is 'x'"),
    },
    "Tensor.squeeze": {
        "not one": (lambda: tensor().squeeze(0), ValueError, "axis 0, which has length 2"),
        "no such axis": (lambda: tensor().squeeze(-3), ValueError, "out of bounds"),
        "an axis twice": (lambda: tensor().reshape(1, 6).squeeze((0, -2)), ValueError, "repeats"),
        "no axis": (lambda: tensor().squeeze("x"), TypeError, "axis is 'x'"),
    },
    "Tensor.reshape": {
        "another size": (lambda: tensor().reshape(7), ValueError, "6 elements"),
        "two wild lengths": (lambda: tensor().reshape(-1, -1), ValueError, "-1"),
        "negative length": (lambda: tensor().reshape(-2, -3), ValueError, "-2"),
        "no shape": (lambda: tensor().reshape("6"), TypeError, "shape"),
        "None": (lambda: tensor().reshape(None), TypeError, "shape"),
        "floats": (lambda: tensor().reshape((2.0, 3)), TypeError, "shape"),
    },
    "Tensor.copy": {
        "order": (lambda: tensor().copy("K"), ValueError, "'C' or 'F'"),
        "order of another type": (lambda: tensor().copy(1), TypeError, "order"),
        "kind": (lambda: tensor().copy(usm_type="system"), ValueError, "system"),
        "kind of another type": (lambda: tensor().copy(usm_type=1), TypeError, "usm_type is 1"),
    },
    "Tensor.copy_from": {
        "read-only": (lambda: readonly().copy_from(tensor()), BufferError, "read-only"),
        "another dtype": (
            lambda: tensor().copy_from(np.zeros(3)), TypeError, "float64 into a float32",
        ),
        "another shape": (lambda: tensor().copy_from(sx.zeros(4)), ValueError, r"\(4,\)"),
        "another kind of number": (lambda: tensor().copy_from(1j), TypeError, "of type float"),
        "a list": (lambda: tensor().copy_from([1.0]), TypeError, "list"),
    },
    "Tensor.to_device": {
        "nothing": (lambda: tensor().to_device(), TypeError, "device"),
        "no such device": (lambda: tensor().to_device(NOBODY), ValueError, str(NOBODY)),
        "the host": (lambda: tensor().to_device((1, 0)), ValueError, "to_numpy"),
        "copy": (lambda: tensor().to_device(0, copy="no"), TypeError, "copy is"),
    },
    "Tensor.to_numpy": {"copy": (lambda: tensor().to_numpy(copy="no"), TypeError, "copy is")},
    "Tensor.item": {"several elements": (lambda: tensor().item(), ValueError, "one element")},
    "in": {
        "a tensor": (lambda: 0 in tensor(), TypeError, "to_numpy"),
        "a host view": (lambda: 0 in sx.host_view(tensor()), TypeError, "HostView"),
    },
    "Tensor.__array__": {
        "no dtype": (lambda: tensor().__array__("flaot"), TypeError, "flaot"),
        "conversion without a copy": (
            lambda: tensor().__array__("int32", copy=False), BufferError, "copy=False",
        ),
    },
    "buffer protocol": {
        "unwritable": (
            lambda: np.frombuffer(readonly()).__setitem__(0, 1), ValueError, "read-only",
        ),
        "not contiguous": (
            lambda: np.frombuffer(tensor().T), (BufferError, ValueError), "contiguous",
        ),
        "unwritable target": (
            lambda: io.BytesIO(b"abc").readinto(readonly()), TypeError, "read-write",
        ),
        "bfloat16": (lambda: memoryview(sx.zeros(3, "bfloat16")), BufferError, "bfloat16"),
    },
    "Tensor.__dlpack__": {
        "stream": (lambda: tensor().__dlpack__(stream="x"), TypeError, "queue"),
        "max_version": (lambda: tensor().__dlpack__(max_version=1), TypeError, "max_version"),
        "dl_device": (lambda: tensor().__dlpack__(dl_device=(2, 0)), BufferError, r"\(2, 0\)"),
        "dl_device that is none": (lambda: tensor().__dlpack__(dl_device="cpu"), TypeError, "pair"),
        "copy": (lambda: tensor().__dlpack__(copy="no"), TypeError, "copy is"),
        "read-only": (lambda: readonly().__dlpack__(), BufferError, "max_version"),
        "keyword": (lambda: tensor().__dlpack__(streem=None), TypeError, "streem"),
    },
}  # fmt: skip

FLAT = {
    f"{function}: {case}": row for function, cases in CASES.items() for case, row in cases.items()
}


@pytest.mark.parametrize("case", FLAT)
def test_bad_input(case):
    call, error, words = FLAT[case]
    live = memory.live_exports()
    with pytest.raises(error, match=words) as caught:
        call()
    assert "pybind11" not in str(caught.value)
    assert "Unable to cast" not in str(caught.value)
    del caught
    assert memory.live_exports() == live


def test_public_functions_are_tried_with_bad_input():
    """But for protocols, what takes no arguments, and methods of what our functions return."""
    returned = ("HostView.", "Device.", "Plan.", "Handle.", "HostRegistration.", "StagedRequest.")
    names = {name for name in ways.public() if "__" not in name and not name.startswith(returned)}
    without_arguments = {"get_cmake_dir", "get_include", "Tensor.as_readonly", "Tensor.tolist"}
    without_arguments |= {"Tensor.wait", "AsyncCopy.done", "AsyncCopy.result", "AsyncCopy.wait"}
    assert names - without_arguments - set(CASES) == set()


def test_errors_add_no_device():
    entries = len(sx.devices())
    for call, error, _ in FLAT.values():
        with pytest.raises(error):
            call()
    assert len(sx.devices()) == entries
