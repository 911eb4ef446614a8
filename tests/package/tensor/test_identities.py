# SPDX-License-Identifier: Apache-2.0
"""Objects that stand for something of this process copy to themselves, and refuse to be pickled.

Objects that keep memory for another process copy to themselves as well; they are sent by pickle.
"""

from __future__ import annotations

import copy
import dataclasses
import pickle
import weakref
from typing import Any

import dpctl
import numpy as np
import pytest

import environments
import sycl_ext as sx
from samples import halves


def private() -> Any:
    return sx.register_context(dpctl.SyclContext([sx.device().sycl_device]))


IDENTITIES = {
    "root": lambda: sx.device(),
    "sub-device": lambda: halves()[1],
    "private context": private,
    "AsyncCopy": lambda: sx.zeros(3).copy_from(np.zeros(3, "f4"), wait=False),
    "HostRegistration": lambda: sx.memory.register_host(np.zeros(4096)),
}


KEEPERS = {
    "Handle": lambda: sx.ipc.handle(sx.ipc.empty(3, device="cpu")),
    "Packed": lambda: sx.ipc.pack(sx.zeros(3)),
}
COPIED = {**IDENTITIES, **KEEPERS}


@dataclasses.dataclass
class Settings:
    device: Any
    more: list[Any]


@pytest.mark.parametrize("name", COPIED)
def test_copy_is_the_object_itself(name: str) -> None:
    x = COPIED[name]()
    assert copy.copy(x) is copy.deepcopy(x) is x
    assert x.__copy__() is x.__deepcopy__({}) is x
    assert copy.deepcopy({"a": [x]})["a"][0] is x


@pytest.mark.parametrize("name", IDENTITIES)
def test_dataclass_with_the_object_can_be_copied(name: str) -> None:
    x = IDENTITIES[name]()
    assert dataclasses.asdict(Settings(x, [x])) == {"device": x, "more": [x]}
    assert dataclasses.replace(Settings(x, [])).device is x


@pytest.mark.parametrize("name", IDENTITIES)
def test_object_is_the_key_of_a_weak_dictionary(name: str) -> None:
    """A program keeps in one what it knows about devices."""
    x = IDENTITIES[name]()
    assert weakref.WeakKeyDictionary({x: 1})[x] == 1


@pytest.mark.parametrize("name", IDENTITIES)
def test_pickle_is_refused_with_a_portable_form(name: str) -> None:
    x = IDENTITIES[name]()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match=r"belongs to this process; (send|register)"):
            pickle.dumps(x, protocol)


@pytest.mark.parametrize("name", ["root", "sub-device", "private context"])
def test_portable_form_of_a_device_finds_it_or_its_root(name: str) -> None:
    """A tile has a UUID of its own; a part of a CPU device, and a context, have none."""
    device = IDENTITIES[name]()
    with pytest.raises(TypeError) as refused:
        pickle.dumps(device)
    advice = str(refused.value).rpartition(": ")[2].partition(" finds")[0]
    root = sx.device(device.root_id)
    is_tile = device.kind == "sub_device" and device.backend == "level_zero"
    expected = device if is_tile and device.uuid != root.uuid else root
    assert eval(advice, {"sycl_ext": sx}) is expected


def test_module_of_torch_with_a_device_can_be_copied() -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(2, 2)
    module.device_of_sycl = sx.device()
    assert copy.deepcopy(module).device_of_sycl is sx.device()


def test_token_of_a_device_is_the_same_in_each_process() -> None:
    tokenize = pytest.importorskip("dask.base").tokenize
    devices = [IDENTITIES[name]() for name in ("root", "sub-device", "private context")]
    devices.append(halves()[0])
    tokens = [tokenize(device) for device in devices]
    assert tokens == [tokenize(device) for device in devices]
    assert len(set(tokens)) == len(tokens)
    code = (
        "import sycl_ext as sx; from dask.base import tokenize; from samples import halves; "
        "print(tokenize(sx.device()), tokenize(halves()[1]))"
    )
    assert environments.python(code, inherit=True).split() == tokens[:2]


def test_device_is_found_and_not_made() -> None:
    for arguments in (("cpu",), (0,), ()):
        with pytest.raises(TypeError, match="cannot be instantiated; call") as refused:
            sx.Device(*arguments)
        advice = str(refused.value).partition("call ")[2]
        assert isinstance(eval(advice, {"sycl_ext": sx}), sx.Device)
