# SPDX-License-Identifier: Apache-2.0
"""Without dpctl: what the package shows in the place of its objects, and whether it takes them."""

import pickle
import pkgutil
import subprocess
import sys

import numpy as np
import pytest

import environments
import sycl_ext as sx
from dlpack_conformance import structs
from without_dpctl import MISSING


class Described:
    """Memory of another library, on a queue of its own."""

    def __init__(self, tensor):
        self.__sycl_usm_array_interface__ = tensor.__sycl_usm_array_interface__


class Producer:
    """An array on a device that shows no queue."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, *, stream, **keywords):
        self.stream = stream
        return self.tensor.__dlpack__(stream=stream, **keywords)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_environment_lacks_it():
    assert not [module.name for module in pkgutil.iter_modules() if MISSING.fullmatch(module.name)]


def test_queue_is_one_for_all():
    queue = sx.zeros(3).sycl_queue
    assert queue == sx.device().sycl_queue == sx.zeros(3)[1:].sycl_queue
    assert hash(queue) == hash(sx.device().sycl_queue)
    assert queue.addressof_ref() == sx.device().sycl_queue.addressof_ref()
    queue.wait()


def test_capsules_have_the_names_of_dpctl():
    tensor = sx.zeros(3)
    event = tensor.copy_from(np.ones(3, "float32"), wait=False).sycl_event
    event.wait()
    of = {"Queue": tensor.sycl_queue, "Context": tensor.sycl_context, "Event": event}
    for name, shown in of.items():
        assert structs.capsule_name(shown._get_capsule()) == f"Sycl{name}Ref"
    view = sx.zeros(3, usm_type="shared").to_numpy(wait=False)  # no single command
    assert "SyclEventRef" in repr(view.sycl_event._get_capsule())


@pytest.mark.parametrize("shown", ["sycl_queue", "sycl_context", "sycl_device"])
def test_device_takes_what_it_shows(shown):
    device = sx.device()
    assert sx.device(getattr(device, shown)) is device
    assert getattr(device, shown) == getattr(device, shown)
    if shown != "sycl_device":
        assert sx.register_context(getattr(device, shown)) is device


@pytest.mark.parametrize("shown", ["sycl_queue", "sycl_context", "sycl_device"])
def test_what_a_device_shows_belongs_to_this_process(shown):
    """In another process the number of an entry may be that of another device."""
    with pytest.raises(TypeError):
        pickle.dumps(getattr(sx.device(), shown))


def test_tensors_are_exported_and_taken():
    tensor = sx.as_tensor(np.arange(6, dtype="int32").reshape(2, 3), copy=True)
    for stream in (None, -1, tensor.sycl_queue, tensor.sycl_queue._get_capsule()):
        taken = sx.from_dlpack(tensor.__dlpack__(stream=stream))
        assert taken.ptr == tensor.ptr
    assert sx.as_tensor(Described(tensor)).ptr == tensor.ptr
    producer = Producer(tensor)
    assert sx.from_dlpack(producer).ptr == tensor.ptr
    assert producer.stream == tensor.sycl_queue
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(tensor)), tensor)
    assert sx.zeros(3, device=tensor.sycl_queue).sycl_queue == tensor.sycl_queue


def test_command_without_dpctl_is_ordered():
    tensor = sx.zeros(1 << 20, "int32")
    copy = tensor.copy_from(np.full(1 << 20, 7, "int32"), wait=False)
    assert sx.from_dlpack(tensor.__dlpack__()).to_numpy().min() == 7
    copy.wait()


def test_fixtures_of_pytest(tmp_path):
    """The kinds of USM are those of the core; an aspect is asked of what is missing here."""
    (tmp_path / "test_sample.py").write_text("""
import pytest
def test_kind(usm_type): ...
@pytest.mark.sycl_needs("cpu")
def test_aspect(): ...
""")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "sycl_ext"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environments.clean_environment(), capture_output=True, text=True
    )
    shown = done.stdout + done.stderr
    assert "3 passed" in shown, shown
    assert "1 error" in shown, shown
    assert "for the aspects of a device; install it" in shown
