# SPDX-License-Identifier: Apache-2.0
"""Parses every form of ``device=`` into a device, and a queue if one was given."""

import re
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn
from uuid import UUID

from sycl_ext import _core
from sycl_ext._devices.companion import SyclContext, SyclDevice
from sycl_ext._devices.device import Device, by_id, devices, roots
from sycl_ext._devices.queues import address_in_dpctl, is_queue, queue_from
from sycl_ext._negotiation.arguments import is_int
from sycl_ext._negotiation.dlpack import DeviceType, DLDevice, as_dl_device
from sycl_ext._negotiation.errors import SyclError
from sycl_ext._negotiation.loaded import loaded


class NamedDevice(NamedTuple):
    """What a DLPack device is (``resolve`` in ``src/runtime/devices/dl_device.cpp``)."""

    is_host: bool  # (1, any id)
    may_be_host: bool  # pinned or managed memory of CUDA or ROCm, where the host can read it
    entry: _core.Entry | None  # the device of SYCL
    kind: str | None  # of USM, which a device type of CUDA or ROCm names

    @property
    def native(self) -> tuple[_core.Entry, str] | None:
        """The entry and the kind of USM of a device type of CUDA or ROCm; None: another type."""
        return None if self.entry is None or self.kind is None else (self.entry, self.kind)


def resolve(device: DLDevice) -> NamedDevice:
    """Return the meaning of a DLPack device; the rule for the host is in the core."""
    if not all(-(1 << 31) <= number < 1 << 31 for number in device):
        return NamedDevice(is_host=False, may_be_host=False, entry=None, kind=None)
    return NamedDevice(*_core.resolve(*device))


def is_host(spec: object) -> bool:
    """Whether a ``device=`` form is the host: a DLPack pair such as (1, 0), or torch's "cpu"."""
    if is_torch_device(spec):
        return bool(spec.type == "cpu")  # type: ignore[attr-defined]
    if not isinstance(spec, tuple) or len(spec) != 2:
        return False
    return resolve(as_dl_device(spec)).is_host


class Placement(NamedTuple):
    """The place of a tensor: a device, and the queue that was given in its place, if any."""

    device: Device
    queue: _core.Queue | None = None


def device(spec: Any = None) -> Device:
    """Return the device that `spec` describes.

    Parameters
    ----------
    spec : optional
        None for the default device; a `Device`; an id; a DLPack pair ``(14, id)``; a filter string
        such as ``"level_zero:gpu:1"`` or ``"cpu"``; ``"uuid:"`` and a `Device.uuid`; a
        ``dpctl.SyclDevice``, ``SyclQueue`` or ``SyclContext``; ``"xpu"``, ``"xpu:1"`` or a
        ``torch.device`` of that type, for that device of PyTorch; any object with ``sycl_queue`` or
        ``__dlpack_device__``.

    Raises
    ------
    ValueError
        If there is no such device.
    TypeError
        If `spec` has none of these forms.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> sx.device((14, 0)) is sx.device(0) is sx.devices()[0]
    True
    """
    return place(spec).device


def place(spec: Any) -> Placement:
    """Read any ``device=`` form; a queue becomes the queue of the tensor."""
    if spec is None:
        return Placement(by_id(_core.default_entry().id))
    if isinstance(spec, Device):
        return Placement(spec)
    if isinstance(spec, str):
        return Placement(_by_filter(spec))
    if isinstance(spec, tuple):
        return Placement(_by_pair(spec))
    if is_queue(spec):
        queue = queue_from(spec)
        return Placement(by_id(_core.entry_of_queue(queue).id), queue)
    if isinstance(spec, (SyclContext, SyclDevice)):
        return Placement(by_id(spec.entry_id))
    address = address_in_dpctl(spec, "SyclDevice")
    if address is not None:
        return Placement(by_id(_core.entry_of_device(address).id))
    if address_in_dpctl(spec, "SyclContext") is not None:
        return Placement(register_context(spec))
    if is_int(spec):
        return Placement(by_id(int(spec)))
    if is_torch_device(spec):
        if spec.type == "xpu":
            return Placement(_by_xpu(spec.index))
        if spec.type == "cpu":
            raise _is_host(spec)
        raise ValueError(f"device is {spec!r}; the only SYCL device of torch is 'xpu'")
    if hasattr(spec, "sycl_queue"):
        queue = queue_from(spec.sycl_queue)  # an int is an address here, not an id
        return Placement(by_id(_core.entry_of_queue(queue).id), queue)
    if hasattr(spec, "__dlpack_device__"):
        return Placement(_by_pair(spec.__dlpack_device__()))
    hint = "; only from_dlpack, as_tensor and exchange accept a list"
    raise TypeError(
        f"device is of type {type(spec).__name__}; use None, a Device, an id, (14, id), a filter "
        "string, a torch.device, or a dpctl.SyclDevice, SyclQueue or SyclContext"
        + (hint if isinstance(spec, list) else "")
    )


def register_context(context_or_queue: Any, device: Any = None) -> Device:
    """Append an entry for a private context to the device table.

    Parameters
    ----------
    context_or_queue : dpctl.SyclContext, dpctl.SyclQueue or "SyclContextRef" capsule
    device : optional
        The device of the context, in any form; required if the context has several.

    Returns
    -------
    Device
        The same entry for the same context and device.

    Raises
    ------
    ValueError
        If the context has several devices and none is given, or if it does not have the device.

    Examples
    --------
    >>> import dpctl, sycl_ext as sx
    >>> private = dpctl.SyclContext([sx.device(0).sycl_device])
    >>> entry = sx.register_context(private)
    >>> entry.kind, entry is sx.register_context(private)
    ('context', True)
    """
    wanted = None if device is None else place(device).device
    address = address_in_dpctl(context_or_queue, "SyclContext")
    if isinstance(context_or_queue, SyclContext):
        context_or_queue = context_or_queue._get_capsule()
    if _core.is_capsule(context_or_queue):
        address = _core.context_in_capsule(context_or_queue)
    elif address is None:
        queue = queue_from(context_or_queue)
        registered = by_id(_core.entry_of_queue(queue).id)
        if wanted is not None and wanted._whole() is not registered._whole():
            raise ValueError(f"the queue belongs to {registered!r}, but device is {wanted!r}")
        _core.register_context_of(registered._entry)
        return registered
    wanted_entry = None if wanted is None else wanted._entry
    entry = _core.entry_of_context(address, wanted=wanted_entry)
    _core.register_context_of(entry)
    return by_id(entry.id)


def _by_pair(pair: Any) -> Device:
    device_type, entry_id = device = as_dl_device(pair)
    if device_type == DeviceType.ONE_API:
        return by_id(entry_id)
    named = resolve(device)
    if named.is_host:
        raise _is_host(device)
    if named.entry is None:
        raise ValueError(
            f"device is {device}; it must be a kDLOneAPI device (14, id), or a CUDA or ROCm "
            "device that SYCL lists"
        )
    return by_id(named.entry.id)


def _is_host(spec: object) -> ValueError:
    return ValueError(
        f"device is {spec!r}, the host, which is not a SYCL device; use host_view() or to_numpy() "
        'for the data on the host, and "cpu" for the SYCL CPU device'
    )


_FILTER = (
    r"(?:(?P<backend>opencl|level_zero|cuda|hip|native_cpu)(?::|$))?"
    r"(?:(?P<type>cpu|gpu|accelerator)(?::|$))?"
    r"(?P<number>\d{1,9})?"
)
_XPU = r"xpu(?::(?P<number>\d{1,9}))?"
_UUID = r"uuid:(?P<uuid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"


def names_device(text: str) -> bool:
    """Whether a string has the form of a device: a filter string, or a name of PyTorch."""
    forms = (_FILTER, _XPU, _UUID, "host")
    return any(re.fullmatch(form, text.strip().lower()) for form in forms)


def is_torch_device(spec: object) -> bool:
    """Whether `spec` is a ``torch.device``; torch is not imported for that."""
    cls = loaded("torch", "device")
    return isinstance(cls, type) and isinstance(spec, cls)


def _by_xpu(number: int | None) -> Device:
    """Find the device with this number in PyTorch.

    PyTorch counts GPUs of Level Zero and may leave some of them out. So if it is loaded, the device
    is that of its queue.
    """
    xpu = loaded("torch", "xpu")
    name = "xpu" if number is None else f"xpu:{number}"
    if xpu is not None and xpu.is_available():
        if number is not None and number >= xpu.device_count():
            raise ValueError(f"device is {name!r}, but torch.xpu has only {xpu.device_count()}")
        queue = queue_from(xpu.current_stream(number).sycl_queue)
        return by_id(_core.entry_of_queue(queue).root_id)
    gpus = [root for root in roots() if (root.backend, root.device_type) == ("level_zero", "gpu")]
    return gpus[number or 0] if (number or 0) < len(gpus) else _refuse(name)


def devices_with_uuid(uuid: bytes) -> list[Device]:
    """Return the devices with a UUID: root devices, and sub-devices, which a driver may not list.

    A tile has no entry before its card is partitioned, so the cards are partitioned.
    """

    def matches() -> list[Device]:
        return [device for device in devices() if device._entry.uuid == uuid]

    if not matches():
        for root in roots():
            if root.device_type == "gpu":
                with suppress(SyclError):
                    root.create_sub_devices("numa")
    known = matches()
    whole = [device for device in known if device.kind != "context" or device._entry.composite]
    return whole or [device._whole() for device in known]


def _by_uuid(uuid: str) -> Device:
    """Find the device with a UUID: a root device, or a tile.

    Level Zero and OpenCL report the same UUID for a GPU; the device of Level Zero comes first.
    """
    matches = devices_with_uuid(UUID(uuid).bytes)
    if matches:
        return min(matches, key=lambda device: device.backend != "level_zero")
    known = ", ".join(f"{root.filter_string} is {root.uuid}" for root in roots())
    raise ValueError(
        f"device is 'uuid:{uuid}', but no device has that UUID; the UUIDs are: {known}"
    )


def _by_filter(text: str) -> Device:
    """Find a root device by its filter string: backend, type and number, each optional."""
    lowered = text.strip().lower()
    if (xpu := re.fullmatch(_XPU, lowered)) is not None:
        return _by_xpu(None if xpu["number"] is None else int(xpu["number"]))
    if (uuid := re.fullmatch(_UUID, lowered)) is not None:
        return _by_uuid(uuid["uuid"])
    match = re.fullmatch(_FILTER, lowered)
    if match is not None and any(match.groups()):
        fitting = [
            root
            for root in roots()
            if match["backend"] in (None, root.backend)
            and match["type"] in (None, root.device_type)
        ]
        number = int(match["number"] or 0)
        if number < len(fitting):
            return fitting[number]
    return _refuse(text)


def _refuse(spec: str | list[Any]) -> NoReturn:
    hint = " (for the data on the host, use host_view() or to_numpy())" if "host" in spec else ""
    there = ", ".join(root.filter_string for root in roots())
    advice = "`python -m sycl_ext doctor` explains why a device is missing"
    raise ValueError(
        f"device is {spec!r}, but no root device matches{hint}; the root devices are: "
        + (f"{there}; {advice}" if there else f"none; {_core.no_device_advice()}")
    )


def is_absent(spec: Any) -> bool:
    """Whether `spec` is the filter string of a device that is not among the root devices."""
    if not isinstance(spec, str) or not names_device(spec):
        return False
    try:
        _by_filter(spec)
    except ValueError:
        return True
    return False


def available_devices(devices: list[Any]) -> list[Any]:
    """Return the acceptable devices that exist: without a GPU, ``["gpu", "cpu"]`` is the CPU."""
    if not devices:
        raise ValueError("device is an empty list; pass at least one device, or None for any")
    return [device for device in devices if not is_absent(device)] or _refuse(devices)
