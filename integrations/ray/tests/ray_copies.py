# SPDX-License-Identifier: Apache-2.0
"""Arrays through the transports of Ray in one process: ``python ray_copies.py DEVICE``.

It prints a line before each; ``SYCL_UR_TRACE=2`` shows the commands behind it.
"""

import sys

import sycl_ext_ray  # isort: skip (before dpctl, so that the SYCL runtime finds the CPU device)

import numpy as np

import sycl_ext as sx

TRANSPORTS = {"sycl_ext": sycl_ext_ray.Transport, "dpnp": sycl_ext_ray.DpnpTransport}


def layouts(usm_type, device):
    """Layout -> a tensor of the numbers from 0 to 23."""
    numbers = np.arange(24, dtype="int32")

    def filled(shape, order="C"):
        made = sx.empty(shape, "int32", order=order, usm_type=usm_type, device=device)
        return made.copy_from(numbers.reshape(shape))

    return {
        "C": filled((4, 6)),
        "F": filled((4, 6), "F"),
        "transposed": filled((2, 3, 4)).transpose(1, 0, 2),
        "with gaps": filled((4, 6))[::2, 1:5],
        "reversed": filled((4, 6))[::-1],
        "0-d": filled((24,))[5],
        "read-only": filled((4, 6)).as_readonly(),
    }


def axes_of(tensor):
    """The axes from the longest stride to the shortest."""
    return sorted(range(tensor.ndim), key=lambda axis: -abs(tensor.strides[axis]))


for library, transport in TRANSPORTS.items():
    for usm_type in ("device", "shared", "host"):
        for name, tensor in layouts(usm_type, sys.argv[1]).items():
            expected = tensor.to_numpy(copy=True)
            sent = sx.exchange(tensor, library) if library == "dpnp" else tensor
            sent = sx.as_tensor(sent, copy=False)
            print(f"=== {library} | {usm_type} | {name}", flush=True)
            received = transport()._arrive(sycl_ext_ray._open(sycl_ext_ray._offer(sent)))
            print("===", flush=True)
            assert type(received).__module__.partition(".")[0] == library
            arrived = sx.as_tensor(received, copy=False)
            assert np.array_equal(arrived.to_numpy(copy=True), expected)
            state = arrived.usm_type, arrived.readonly, arrived.device.id
            assert state == (usm_type, tensor.readonly, tensor.device.id), (state, name)
            orders = [axes_of(tensor), axes_of(arrived)]
            assert orders[0] == orders[1], (name, tensor.strides, arrived.strides)
print("all arrived", flush=True)
