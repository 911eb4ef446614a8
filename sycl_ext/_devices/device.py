# SPDX-License-Identifier: Apache-2.0
"""`Device`, an entry of the device table, and the one parser of every ``device=`` form."""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

from sycl_ext import _core
from sycl_ext._devices.queues import address_in_dpctl, is_dpctl_queue, queue_from
from sycl_ext._negotiation.dlpack import HOST, DeviceType, DLDevice

if TYPE_CHECKING:
    import dpctl

__all__ = [
    "Device",
    "Placement",
    "device",
    "devices",
    "is_torch_device",
    "names_device",
    "place",
    "register_context",
]


class Device:
    """One entry of the device table: a device, a context and an in-order queue.

    Devices are obtained from `devices`, `device` and `register_context`; there is one object per
    entry, so devices compare and hash by identity.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> sx.device().__dlpack_device__()
    (14, 0)
    """

    __slots__ = ("_context", "_entry", "_queue", "_sycl_device")

    def __init__(self, entry: _core.Entry) -> None:
        self._entry = entry
        self._queue: dpctl.SyclQueue | None = None
        self._context: dpctl.SyclContext | None = None
        self._sycl_device: dpctl.SyclDevice | None = None

    @property
    def id(self) -> int:
        """Number of the entry; for a root device the ``device_id`` of DLPack."""
        return self._entry.id

    @property
    def root_id(self) -> int:
        """Id of the root device that this device is, or is a part of."""
        return self._entry.root_id

    @property
    def kind(self) -> str:
        """``"root"``, ``"sub_device"`` or ``"context"`` (a registered context)."""
        return self._entry.kind.name

    @property
    def parent(self) -> Device | None:
        """The device this one was cut from or registered for; None for a root device."""
        parent = self._entry.parent_id
        return None if parent is None else by_id(parent)

    @property
    def partition(self) -> str:
        """How a sub-device was cut, such as ``"numa"`` or ``"equally 4"``.

        Empty for a sub-device that somebody else cut: OpenCL does not tell which part it is.
        """
        return self._entry.partition

    @property
    def part(self) -> int | None:
        """Number of a sub-device among the parts of its partition, from 0; else None."""
        return self._entry.part if self._entry.part >= 0 else None

    @property
    def name(self) -> str:
        """Name of the device, as its driver gives it."""
        return self._entry.name

    @property
    def backend(self) -> str:
        """``"level_zero"``, ``"opencl"``, ..."""
        return self._entry.backend

    @property
    def device_type(self) -> str:
        """``"gpu"``, ``"cpu"`` or ``"accelerator"``."""
        return self._entry.device_type

    @property
    def driver_version(self) -> str:
        """Version of the driver, as it gives it."""
        return self._entry.driver_version

    @property
    def filter_string(self) -> str:
        """The filter string of the root device, such as ``"opencl:cpu:0"``."""
        return _core.entry(self.root_id).filter_string

    @property
    def default_context(self) -> bool:
        """Whether the entry is bound to the default context of its platform."""
        return self._entry.default_context

    @property
    def has_fp64(self) -> bool:
        """Whether the device computes in float64."""
        return self._entry.fp64

    @property
    def usm_types(self) -> tuple[str, ...]:
        """The kinds of USM that the device offers; ``"system"`` when it reads any host memory."""
        kinds = ("device", "shared", "host", "system")
        return tuple(kind for kind in kinds if getattr(self._entry, f"usm_{kind}"))

    def host_accessible(self, usm_type: str) -> bool:
        """Whether the host may read and write memory of this kind.

        Parameters
        ----------
        usm_type : {"device", "shared", "host", "system"}

        Examples
        --------
        >>> import sycl_ext as sx
        >>> sx.device().host_accessible("shared")
        True
        """
        if usm_type not in ("device", "shared", "host", "system"):
            raise ValueError(
                f"usm_type is {usm_type!r}; it must be 'device', 'shared', 'host' or 'system'"
            )
        return usm_type != "device" or self._entry.host_memory

    @property
    def sycl_queue(self) -> dpctl.SyclQueue:
        """The in-order queue of the entry, as a ``dpctl.SyclQueue``."""
        if self._queue is not None:
            return self._queue
        import dpctl

        queue = dpctl.SyclQueue(self._entry.queue().capsule())
        if self.default_context:  # an object kept here would keep a private context in use for ever
            self._queue = queue
        return queue

    @property
    def sycl_context(self) -> dpctl.SyclContext:
        """The context of the entry, as a ``dpctl.SyclContext``."""
        if self._context is not None:
            return self._context
        import dpctl

        context = dpctl.SyclContext(self._entry.context_capsule())
        if self.default_context:  # as above
            self._context = context
        return context

    @property
    def sycl_device(self) -> dpctl.SyclDevice:
        """The device of the entry, as a ``dpctl.SyclDevice``."""
        if self._sycl_device is None:
            import dpctl

            # dpctl takes no capsule of a device.  The entry's own queue would have other users from
            # then on, and be asked for pending work by each export.
            self._sycl_device = dpctl.SyclQueue(self._entry.new_queue().capsule()).sycl_device
        return self._sycl_device

    def create_sub_devices(self, partition: int | Sequence[int] | str) -> tuple[Device, ...]:
        """Cut the device into sub-devices, and give each of them an entry.

        The same device cut in the same way gives the same entries.  On Level Zero they are bound to
        the default context, as their root device is; OpenCL wants a context of its own for each.

        Parameters
        ----------
        partition : int, sequence of int or str
            Compute units of each sub-device; the list of them; the affinity domain (``"numa"``,
            ``"L4_cache"``, ``"L3_cache"``, ``"L2_cache"``, ``"L1_cache"``,
            ``"next_partitionable"``); or ``"cslice"``, the compute slices of a GPU.

        Returns
        -------
        tuple of Device

        Raises
        ------
        SyclError
            When the device cannot be cut in this way.
        TypeError, ValueError
            When `partition` is nothing of the above.

        Examples
        --------
        >>> import sycl_ext as sx
        >>> parts = sx.device().create_sub_devices([1, 1])
        >>> parts == sx.device().create_sub_devices([1, 1])
        True
        """
        ids = _core.create_sub_devices(self._entry, *_read_partition(partition))
        return tuple(by_id(entry_id) for entry_id in ids)

    def _whole(self) -> Device:
        """Return the entry of this very device without a private context."""
        if self._entry.composite:
            return by_id(_core.entry_of_device(self._entry.device_address).id)
        parent = self.parent
        return parent if self.kind == "context" and parent is not None else self

    def __dlpack_device__(self) -> DLDevice:
        """Return ``(14, id)``."""
        return (int(DeviceType.ONE_API), self.id)

    def __repr__(self) -> str:
        whose = self.root_id if self.parent is None else self.parent.id
        what = {
            "root": self.filter_string,
            "sub_device": f"part of device {whose}",
            "context": f"private context of device {whose}",
        }[self.kind]
        if self.partition:
            what += f": {self.partition}, number {self.part}"
        return f"<Device {self.id}: {self.name} ({what})>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            f"{self!r} is bound to a context of this process; send its filter_string instead"
        )


def _read_partition(partition: Any) -> tuple[_core.PartitionKind, list[int], str]:
    """Read the ``partition=`` of `Device.create_sub_devices`."""
    if isinstance(partition, str):
        if partition == "cslice":
            return _core.PartitionKind.cslice, [], ""
        return _core.PartitionKind.affinity_domain, [], partition
    equally = isinstance(partition, Integral) and not isinstance(partition, bool)
    try:
        counts = [operator.index(count) for count in ([partition] if equally else partition)]
    except TypeError:
        raise TypeError(
            f"partition is {partition!r}; it must be a number of compute units, a sequence of such "
            'numbers, or the name of an affinity domain such as "numa"'
        ) from None
    if not counts or not all(0 < count < 1 << 31 for count in counts):
        raise ValueError(
            f"partition is {partition!r}; there must be a part, and each part needs at least one "
            "compute unit"
        )
    kind = _core.PartitionKind.equally if equally else _core.PartitionKind.counts
    return kind, counts, ""


class Placement(NamedTuple):
    """Where a tensor goes: a device, and the queue that was given in its place, if any."""

    device: Device
    queue: _core.Queue | None = None


_by_id: dict[int, Device] = {}
#: Entry id of every `Device`; the fast path looks devices up here.
ids: dict[Device, int] = {}


def by_id(entry_id: int) -> Device:
    """Return the one `Device` of an entry; ValueError when there is no such entry."""
    found = _by_id.get(entry_id)
    if found is None:
        if entry_id.bit_length() > 31:
            raise ValueError(
                f"there is no device {entry_id}; the table has {_core.entry_count()} entries"
            )
        # setdefault: two threads may arrive here together, and both must get one object.
        found = _by_id.setdefault(entry_id, Device(_core.entry(entry_id)))
        ids[found] = entry_id
    return found


def devices() -> tuple[Device, ...]:
    """Return every entry of the device table, in id order.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> sx.devices()[0].id
    0
    """
    return tuple(by_id(entry_id) for entry_id in range(_core.entry_count()))


def device(spec: Any = None) -> Device:
    """Return the device that `spec` stands for.

    Parameters
    ----------
    spec : optional
        None for the default device; a `Device`; an id; a DLPack pair ``(14, id)``; a filter string
        such as ``"level_zero:gpu:1"`` or ``"cpu"``; a ``dpctl.SyclDevice``, ``SyclQueue`` or
        ``SyclContext``; ``"xpu"``, ``"xpu:1"`` or a ``torch.device`` of that type, for the device
        that PyTorch calls so; anything with ``sycl_queue`` or ``__dlpack_device__``.

    Returns
    -------
    Device

    Raises
    ------
    ValueError
        When there is no such device.
    TypeError
        When `spec` is in none of these forms.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> sx.device((14, 0)) is sx.device(0) is sx.devices()[0]
    True
    """
    return place(spec).device


def place(spec: Any) -> Placement:
    """Read any ``device=`` form; a queue given there becomes the queue of the tensor."""
    if spec is None:
        return Placement(by_id(_core.default_entry().id))
    if isinstance(spec, Device):
        return Placement(spec)
    if isinstance(spec, str):
        return Placement(_by_filter(spec))
    if isinstance(spec, tuple):
        return Placement(_by_pair(spec))
    if is_dpctl_queue(spec):
        queue = queue_from(spec)
        return Placement(by_id(_core.entry_of_queue(queue).id), queue)
    address = address_in_dpctl(spec, "SyclDevice")
    if address is not None:
        return Placement(by_id(_core.entry_of_device(address).id))
    if address_in_dpctl(spec, "SyclContext") is not None:
        return Placement(register_context(spec))
    if isinstance(spec, Integral) and not isinstance(spec, bool):
        return Placement(by_id(int(spec)))
    if is_torch_device(spec):
        return Placement(_of_torch(spec))
    if hasattr(spec, "sycl_queue"):
        queue = queue_from(spec.sycl_queue)  # an int is an address here, and no id
        return Placement(by_id(_core.entry_of_queue(queue).id), queue)
    if hasattr(spec, "__dlpack_device__"):
        return Placement(_by_pair(spec.__dlpack_device__()))
    raise TypeError(
        f"device is a {type(spec).__name__}; use None, a Device, an id, (14, id), a filter string, "
        "a torch.device, or a dpctl.SyclDevice, SyclQueue or SyclContext"
    )


def register_context(context_or_queue: Any, device: Any = None) -> Device:
    """Append an entry for a context that is not a default context.

    Parameters
    ----------
    context_or_queue : dpctl.SyclContext, dpctl.SyclQueue or "SyclContextRef" capsule
    device : optional
        Which device of the context, in any form; needed when it has several.

    Returns
    -------
    Device
        The same entry for the same context and device.

    Raises
    ------
    ValueError
        When the context has several devices and none is named, or lacks the device.

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
    if type(context_or_queue).__name__ == "PyCapsule":
        address = _core.context_in_capsule(context_or_queue)
    elif address is None:
        queue = queue_from(context_or_queue)
        found = by_id(_core.entry_of_queue(queue).id)
        if wanted is not None and wanted._whole() is not found._whole():
            raise ValueError(f"the queue belongs to {found!r}, and device is {wanted!r}")
        return found
    of = 0 if wanted is None else wanted._entry.device_address
    return by_id(_core.entry_of_context(address, of).id)


def _by_pair(pair: Any) -> Device:
    """Find the device of a DLPack pair."""
    ok = len(pair) == 2 and all(isinstance(x, int) and not isinstance(x, bool) for x in pair)
    if not ok:
        raise TypeError(f"device is {pair!r}; a DLPack device is a pair of ints such as (14, 0)")
    device_type, entry_id = (int(x) for x in pair)
    if device_type == HOST[0]:
        raise ValueError(
            f"device is {(device_type, entry_id)}, the host, which is no SYCL device; use "
            'host_view() or to_numpy() to reach the host, and "cpu" for the SYCL CPU device'
        )
    if device_type != DeviceType.ONE_API:
        fits = all(0 <= number < 1 << 31 for number in (device_type, entry_id))
        native = _core.entry_of_native(device_type, entry_id) if fits else None
        if native is None:
            raise ValueError(
                f"device is {(device_type, entry_id)}; only kDLOneAPI devices (14, id) are SYCL "
                "devices, and those of CUDA and ROCm that SYCL lists"
            )
        return by_id(native.id)
    return by_id(entry_id)


_FILTER = (
    r"(?:(?P<backend>opencl|level_zero|cuda|hip|native_cpu)(?::|$))?"
    r"(?:(?P<type>cpu|gpu|accelerator)(?::|$))?"
    r"(?P<number>\d+)?"
)


_XPU = r"xpu(?::(?P<number>\d+))?"


def names_device(text: str) -> bool:
    """Whether a string is in the form of a device: a filter string, or what PyTorch calls one."""
    text = text.strip().lower()
    return any(re.fullmatch(form, text) for form in (_FILTER, _XPU)) or text in ("host", "cuda")


def is_torch_device(spec: object) -> bool:
    """Whether `spec` is a ``torch.device``; torch is not imported for that."""
    cls = getattr(sys.modules.get("torch"), "device", None)
    return isinstance(cls, type) and isinstance(spec, cls)


def _of_torch(spec: Any) -> Device:
    """Find the device that a ``torch.device`` stands for."""
    if spec.type == "xpu":
        return _by_xpu(spec.index)
    if spec.type == "cpu":
        raise ValueError(
            f"device is {spec!r}, the host, which is no SYCL device; use host_view() or to_numpy() "
            'to reach the host, and "cpu" for the SYCL CPU device'
        )
    raise ValueError(f"device is {spec!r}; of the devices of torch only 'xpu' is one of SYCL")


def _by_xpu(number: int | None) -> Device:
    """Find the device that PyTorch numbers so.

    PyTorch counts GPUs of Level Zero, and may leave some of them out, so it is asked when it is
    there: its queue tells the device.
    """
    xpu = getattr(sys.modules.get("torch"), "xpu", None)
    name = "xpu" if number is None else f"xpu:{number}"
    if xpu is not None and xpu.is_available():
        if number is not None and number >= xpu.device_count():
            raise ValueError(f"device is {name!r}, and torch has {xpu.device_count()} of them")
        queue = queue_from(xpu.current_stream(number).sycl_queue)
        return by_id(_core.entry_of_queue(queue).root_id)
    roots = [by_id(entry_id) for entry_id in range(_core.root_count())]
    gpus = [root for root in roots if (root.backend, root.device_type) == ("level_zero", "gpu")]
    if (number or 0) < len(gpus):
        return gpus[number or 0]
    raise ValueError(
        f"device is {name!r}, a GPU of Level Zero, and there are {len(gpus)} of them among the "
        "root devices: " + (", ".join(root.filter_string for root in roots) or "none")
    )


def _by_filter(text: str) -> Device:
    """Find a root device by its filter string: backend, type and number, each optional."""
    lowered = text.strip().lower()
    if (xpu := re.fullmatch(_XPU, lowered)) is not None:
        return _by_xpu(None if xpu["number"] is None else int(xpu["number"]))
    match = re.fullmatch(_FILTER, lowered)
    roots = [by_id(entry_id) for entry_id in range(_core.root_count())]
    if match is not None and any(match.groups()):
        fitting = [
            root
            for root in roots
            if match["backend"] in (None, root.backend)
            and match["type"] in (None, root.device_type)
        ]
        number = int(match["number"] or 0)
        if number < len(fitting):
            return fitting[number]
    hint = " (the host is reached through host_view() or to_numpy())" if "host" in text else ""
    raise ValueError(
        f"device is {text!r}, and no root device fits{hint}; there are: "
        + (", ".join(root.filter_string for root in roots) or f"none; {_core.no_device_advice()}")
    )


def is_absent(spec: Any) -> bool:
    """Whether it is the filter string of a device that is not among the root devices."""
    if not isinstance(spec, str) or not names_device(spec):
        return False
    try:
        _by_filter(spec)
    except ValueError:
        return True
    return False


def as_dl_device(pair: Any) -> DLDevice:
    """Check a pair that somebody calls a DLPack device, and return it as plain ints."""
    try:
        device_type, device_id = pair
        return (operator.index(device_type), operator.index(device_id))
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"a DLPack device is a pair of ints such as (14, 0), not {pair!r}"
        ) from error
