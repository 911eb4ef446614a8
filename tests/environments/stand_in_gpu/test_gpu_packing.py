# SPDX-License-Identifier: Apache-2.0
"""Device USM of a GPU, packed for another process."""

import os

import numpy as np
import pytest

import environments
import sycl_ext as sx
from sycl_ext._ipc import peers


def test_device_usm_is_packed_as_a_handle(gpus, with_ipc):
    t = sx.ones(3, device=gpus[0])
    packed = sx.ipc.pack(t)
    assert (packed.how, packed.reason) == ("handle", "")
    packed.open().fill(2)
    assert t.tolist() == [2.0] * 3


def test_memory_of_the_host_is_packed_and_has_no_handle(gpus):
    """Although no GPU can use it in place."""
    array = np.array([[1, 2, 3], [4, 5, 6]])[:, ::2]
    packed = sx.ipc.pack(array)
    assert packed.how == "shared memory"
    assert packed.open().tolist() == [[1, 3], [4, 6]]
    with pytest.raises(BufferError, match=r"can share; copy it first: (.*)") as refused:
        sx.ipc.handle(array)
    advice = refused.value.args[0].partition("copy it first: ")[2]
    copied = eval(advice, {"sx": sx, "t": array})
    assert sx.ipc.open(sx.ipc.handle(copied)).tolist() == [[1, 3], [4, 6]]


@pytest.mark.parametrize(
    ("scope", "peer", "how"),
    [
        (0, False, "handle"),
        (1, False, "shared memory"),
        (1, True, "handle"),
        (2, True, "shared memory"),
    ],
)
def test_device_usm_is_copied_where_the_kernel_would_refuse(
    gpus, with_ipc, monkeypatch, scope, peer, how
):
    monkeypatch.setattr(peers, "ptrace_scope", lambda: scope)
    monkeypatch.setattr(peers, "set_ptracer", lambda _: None)
    packed = sx.ipc.pack(sx.ones(3, device=gpus[0]), peer=os.getpid() if peer else None)
    assert packed.how == how
    assert (f"ptrace_scope is {scope}" in packed.reason) == (how != "handle")
    assert (packed.open().device, packed.open().usm_type) == (gpus[0], "device")


def test_device_usm_is_copied_where_a_filter_forbids_descriptors(gpus, with_ipc):
    shown = environments.python(
        """
from test_peers import REFUSE; exec(REFUSE)
import sycl_ext as sx
t = sx.ones(3, device="level_zero:gpu:0")
print(sx.ipc.pack(t).how)
refuse(1)
packed = sx.ipc.pack(t)
print(packed.how, packed.reason, packed.open().tolist())
""",
        inherit=True,
        near=environments.TESTS / "package" / "ipc" / "test_peers.py",
    )
    assert shown.splitlines() == [
        "handle",
        "shared memory this process may not call pidfd_getfd (EPERM) [1.0, 1.0, 1.0]",
    ]
