# SPDX-License-Identifier: Apache-2.0
"""Tensors and dpnp arrays between the actors of a Ray cluster of one machine."""

import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import dpnp
import numpy as np
import pytest
import ray

import environments
import sycl_ext as sx
import sycl_ext_ray

sycl_ext_ray.setup()  # before Ray sees the names of the transports

pytestmark = pytest.mark.timeout(300)

LIBRARIES = {
    "SYCL": lambda n: sx.ipc.empty(n, "int32").copy_from(np.arange(n, dtype="int32")),
    "DPNP": lambda n: dpnp.arange(n, dtype="int32"),
}


@pytest.fixture(autouse=True)
def nothing_leaks():
    """Not here: Ray, in this process, keeps what it has sent as long as it sees fit."""


class Worker:
    def __init__(self):
        self.made = None

    @ray.method(tensor_transport="SYCL")
    def tensor(self, n, shared=True):
        self.made = sx.ipc.empty(n, "int32") if shared else sx.empty(n, "int32", usm_type="shared")
        return self.made.copy_from(np.arange(n, dtype="int32"))

    @ray.method(tensor_transport="DPNP")
    def array(self, n):
        return dpnp.arange(n, dtype="int32")

    @ray.method(tensor_transport="DPNP")
    def array_of(self, usm_type, readonly):
        x = sx.as_tensor(dpnp.arange(6, dtype="int32", usm_type=usm_type).reshape(2, 3).T)
        return sx.exchange(x.as_readonly() if readonly else x, dpnp)

    @ray.method(tensor_transport="SYCL")
    def repeated(self):
        return sx.as_tensor(dpnp.broadcast_to(dpnp.arange(3, dtype="int32"), (10**9, 3)))

    @ray.method(tensor_transport="SYCL")
    def private(self, n):
        sx.ipc.empty = mock.Mock(side_effect=BufferError("no"))  # as on a GPU of CUDA or HIP
        return sx.zeros(n, "int32")

    def echo(self, x):
        return x

    def kept(self):
        from ray.experimental.rdt.util import get_tensor_transport_manager

        return len(get_tensor_transport_manager("SYCL")._kept)

    def first(self):
        return int(self.made.to_numpy()[0])

    def describe(self, x, write=None):
        if write is not None:
            x.to_numpy()[:] = write
        total = int(sx.as_tensor(x).to_numpy(copy=True).sum())
        return type(x).__module__.partition(".")[0], x.shape, total

    def state(self, x):
        x = sx.as_tensor(x, copy=False)
        return x.usm_type, x.readonly, x.shape, x.strides

    def exit(self):
        os._exit(1)


@pytest.fixture(scope="module")
def actors():
    ray.init(
        num_cpus=2,
        object_store_memory=100 << 20,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"worker_process_setup_hook": "sycl_ext_ray.setup"},
    )
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import it
    try:
        actor = ray.remote(num_cpus=0, enable_tensor_transport=True)(Worker)
        yield [actor.remote() for _ in range(2)]
    finally:
        ray.shutdown()


@pytest.mark.parametrize(
    ("method", "arguments", "library"),
    [
        ("tensor", (1000,), "sycl_ext"),
        ("tensor", (1000, False), "sycl_ext"),  # copied, because it cannot be shared
        ("tensor", (0,), "sycl_ext"),
        ("array", (1000,), "dpnp"),
    ],
)
def test_from_actor_to_actor_and_driver(method, arguments, library, actors):
    ref = getattr(actors[0], method).remote(*arguments)
    n = arguments[0]
    expected = (library, (n,), sum(range(n)))
    assert ray.get(actors[1].describe.remote(ref), timeout=60) == expected
    assert Worker().describe(ray.get(ref, timeout=60)) == expected


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
def test_array_keeps_kind_flag_and_layout(usm_type, readonly, actors):
    ref = actors[0].array_of.remote(usm_type, readonly)
    expected = (usm_type, readonly, (3, 2), (1, 3))
    assert ray.get(actors[1].state.remote(ref), timeout=60) == expected
    assert Worker().state(ray.get(ref, timeout=60)) == expected


def test_repeated_elements_are_sent_once(actors):
    """A copy of this tensor would have 12 GB."""
    state = ray.get(actors[1].state.remote(actors[0].repeated.remote()), timeout=60)
    assert state == ("device", False, (10**9, 3), (0, 1))


def test_layouts_and_kinds_on_the_cpu_device():
    assert copies_of_arrays("cpu", environments.cpu())


def test_page_has_the_number_of_copies(tmp_path):
    """None of device USM, and two of USM that processes cannot share, as the runtime reports."""
    variables = {**environments.variables_of("level_zero_v2", tmp_path), "SYCL_UR_TRACE": "2"}
    copies_of = copies_of_arrays("level_zero:gpu:0", variables)
    assert len(copies_of) == 42
    for array, copies in copies_of.items():
        assert copies == (0 if "| device |" in array else 2), array


def copies_of_arrays(device, variables):
    """Array -> the commands of the runtime that copied it on its way."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("ray_copies.py")), device],
        env={**environments.clean_environment(), **variables},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=280,
    )
    assert (done.returncode, "all arrived" in done.stdout) == (0, True), done.stderr
    copies_of, array = {}, ""
    for line in done.stdout.splitlines():
        if line.startswith("==="):
            array = line[4:]
            copies_of.setdefault(array, 0)
        elif array and "---> urEnqueueUSM" in line:
            copies_of[array] += 1
    del copies_of[""]
    return copies_of


def test_receiver_works_on_the_memory_of_the_source(actors):
    ref = actors[0].tensor.remote(4)
    assert ray.get(actors[1].describe.remote(ref, 7), timeout=60)[2] == 28
    assert ray.get(actors[0].first.remote()) == 7


def test_memory_of_a_device_that_shares_none_is_one_message(actors):
    source = ray.remote(num_cpus=0, enable_tensor_transport=True)(Worker).remote()
    ref = source.private.remote(3)
    assert ray.get(actors[1].describe.remote(ref), timeout=60) == ("sycl_ext", (3,), 0)


@pytest.mark.parametrize("library", LIBRARIES)
def test_plain_object_store(library, actors):
    x = ray.get(actors[0].echo.remote(LIBRARIES[library](10)), timeout=60)
    assert Worker().describe(x)[1:] == ((10,), 45)


def test_receiver_on_another_machine_gets_one_message(actors):
    source = sycl_ext_ray.Source(actors[0])
    ref = actors[0].tensor.remote(5)
    ray.get(actors[0].first.remote())
    offer = sycl_ext_ray.Offer(tensor_meta=[], offers=[], node="elsewhere")
    transport = sycl_ext_ray.Transport()
    (received,) = transport.recv_multiple_tensors(ref.hex(), offer, source)
    assert received.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(BufferError, match="_use_object_store"):
        transport.recv_multiple_tensors(ref.hex(), offer, sycl_ext_ray.Source())
    assert ray.get(ref, _use_object_store=True, timeout=60).tolist() == [0, 1, 2, 3, 4]


def test_garbage_is_collected_and_an_opened_tensor_stays(actors):
    ref = actors[0].tensor.remote(6, False)
    received = ray.get(ref, timeout=60)
    assert ray.get(actors[0].kept.remote()) >= 1
    del ref
    deadline = 200
    while ray.get(actors[0].kept.remote()) and deadline:
        deadline -= 1
    assert deadline
    assert received.tolist() == list(range(6))


def test_dead_source_is_an_error_of_the_receiver(actors):
    source = ray.remote(num_cpus=0, enable_tensor_transport=True)(Worker).remote()
    ref = source.tensor.remote(5)
    ray.get(source.first.remote())
    source.exit.remote()
    with pytest.raises(ray.exceptions.RayError):
        ray.get(source.first.remote())
    with pytest.raises(Exception, match="gone|died|dead|not found|longer"):
        ray.get(actors[1].describe.remote(ref), timeout=60)
    assert ray.get(actors[1].echo.remote(1), timeout=60) == 1  # the receiver was not killed
