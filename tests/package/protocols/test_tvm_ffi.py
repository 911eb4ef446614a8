# SPDX-License-Identifier: Apache-2.0
"""Direct calls of TVM FFI, which reads the C exchange table, and `exchange` with its functions.

What such a function writes has to arrive: the result is a view wherever one is possible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpctl
import numpy as np
import pytest

import samples
import sycl_ext as sx
from needs import needs

tvm_ffi = pytest.importorskip("tvm_ffi")
echo = tvm_ffi.get_global_func("testing.echo")


def private(usm_type: str = "shared") -> Any:
    context = dpctl.SyclContext([sx.device().sycl_device])
    return sx.zeros(4, usm_type=usm_type, device=sx.register_context(context))


def of_system(array: Any) -> Any:
    return sx.as_tensor(array, device="cpu", copy=False)


def on_a_part() -> Any:
    return sx.zeros(4, usm_type="shared", device=samples.halves()[0])


MEMORY: dict[str, Callable[[], Any]] = {
    "device USM": lambda: sx.zeros(4),
    "shared USM": lambda: sx.zeros(4, usm_type="shared"),
    "host USM": lambda: sx.zeros(4, usm_type="host"),
    "NumPy's": lambda: of_system(np.zeros(4, "float32")),
    "a bytearray": lambda: of_system(np.frombuffer(bytearray(16), "float32")),
    "shared between processes": lambda: sx.ipc.empty(4).copy_from(np.zeros(4, "float32")),
    "of a private context": private,
    "of a sub-device": on_a_part,
    "a host view": lambda: sx.host_view(np.zeros(4, "float32")),
    "a slice": lambda: of_system(np.zeros(8, "float32"))[::2],
    "without elements": lambda: sx.as_tensor(np.zeros((0, 3), "float32")),
}


@needs("device_copies")
@pytest.mark.parametrize("name", MEMORY)
def test_direct_call_gets_a_view(name: str) -> None:
    tensor = MEMORY[name]()
    back = echo(tensor)
    assert back.shape == tensor.shape
    if tensor.size:
        back[0].copy_from(np.float32(7))
        assert tensor.tolist()[0] == 7


@needs("device_copies")
@needs("system_usm", "from_dlpack1-a host view")
@pytest.mark.parametrize("name", MEMORY)
@pytest.mark.parametrize("consumer", [tvm_ffi, tvm_ffi.from_dlpack, echo, sx.from_dlpack])
def test_exchange_is_a_view_where_one_is_possible(consumer: Any, name: str) -> None:
    tensor = MEMORY[name]()
    assert sx.explain(tensor, consumer).copies == 0
    result = sx.exchange(tensor, consumer)
    of_host = isinstance(tensor, sx.HostView)
    back = sx.as_tensor(result, device="cpu" if of_host else tensor.device, copy=False)
    if tensor.size:
        back[0].copy_from(np.float32(7))
        assert tensor.tolist()[0] == 7


def test_refused_direct_call_names_a_copy_that_works() -> None:
    tensor = of_system(np.arange(4, dtype="float32"))[::-1]
    with pytest.raises(BufferError, match="a stride is negative.* x.to_device") as refused:
        echo(tensor)
    advice = str(refused.value).partition("; pass ")[2]
    assert echo(eval(advice, {"x": tensor})).tolist() == [3, 2, 1, 0]
