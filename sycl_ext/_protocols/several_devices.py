# SPDX-License-Identifier: Apache-2.0
"""Imports to the best of several acceptable devices."""

from dataclasses import replace
from typing import Any

from sycl_ext import _core
from sycl_ext._devices.placement import available_devices, place
from sycl_ext._negotiation.errors import CopyRefusedError, ExchangeError, message_of
from sycl_ext._negotiation.rules import cheapest
from sycl_ext._negotiation.usm_types import UsmType
from sycl_ext._protocols.moving import move
from sycl_ext._protocols.plans import plan_for


def import_to_any(
    x: Any, names: list[Any], *, copy: bool | None, usm_type: UsmType | None, dlpack_only: bool
) -> _core.TensorBase:
    """Import to the device of a list that takes the fewest copies; the first is preferred."""
    devices = available_devices(names)
    placements = [place(device) for device in devices]
    try:
        memory = _core.find_memory(x, copy=False, dlpack_only=dlpack_only)
    except BufferError:
        if copy is False or _core.is_capsule(x):
            raise
        memory = None
    if memory is None:  # no view, but the producer may copy to one of the devices
        return _import_to_first(x, devices, copy, usm_type, dlpack_only)
    facts = _core.array_facts(memory)
    where = [placement.device.__dlpack_device__() for placement in placements]
    plans = [
        replace(plan_for(facts, device, copy, ours=True, usm_type=usm_type), device=device)
        for device in where
    ]
    chosen = cheapest(plans).check()
    first = next(i for i, device in enumerate(where) if device == chosen.device)
    return move(memory, placements[first], copy, usm_type)


def _import_to_first(
    x: Any, devices: list[Any], copy: bool | None, usm_type: UsmType | None, dlpack_only: bool
) -> _core.TensorBase:
    """Let the producer copy to the first device of a list that it accepts."""
    refusals: list[BufferError] = []
    try:
        for device in devices:
            try:
                if dlpack_only:
                    return _core.from_dlpack(x, device=device, copy=copy)
                return _core.as_tensor(x, device=device, copy=copy, usm_type=usm_type)
            except BufferError as error:
                refusals.append(error)
        reasons = "; and ".join(dict.fromkeys(map(message_of, refusals)))
        first = type(refusals[0])  # perhaps of another library, with other arguments
        error_type = first if first in (ExchangeError, CopyRefusedError) else BufferError
        raise error_type(
            f"none of the {len(devices)} devices can be used: {reasons}"
        ) from refusals[0]
    finally:
        refusals.clear()  # as in `continue_import`
