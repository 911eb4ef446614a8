# SPDX-License-Identifier: Apache-2.0
"""`Device`, an entry of the device table. There is one object for each entry."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sycl_ext import _core
from sycl_ext._devices import companion, pci
from sycl_ext._devices.description import DOMAINS
from sycl_ext._negotiation.arguments import check_word, is_int, is_unordered
from sycl_ext._negotiation.dlpack import DeviceType, DLDevice
from sycl_ext._negotiation.errors import SyclError
from sycl_ext._negotiation.identity import Identity
from sycl_ext._negotiation.usm_types import USM_TYPES

if TYPE_CHECKING:
    import dpctl


def _fact(name: str, text: str) -> Any:
    return property(operator.attrgetter(f"_entry.{name}"), doc=text)


class Device(Identity):
    """One entry of the device table: a device, a context and a queue.

    Devices are obtained from `devices`, `device` and `register_context`; there is one object per
    entry, so devices compare and hash by identity, and a copy of a device is the device itself. A
    device cannot be pickled: another process gets ``f"uuid:{device.uuid}"``, or `filter_string` if
    the device reports no UUID, and passes it to `device`. A filter string counts the devices that
    ``ONEAPI_DEVICE_SELECTOR`` and the like leave over, so it may be another device there.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> sx.device().__dlpack_device__()
    (14, 0)
    """

    __module__ = "sycl_ext"

    __slots__ = ("__weakref__", "_context", "_entry", "_queue", "_sycl_device")

    _entry: _core.Entry
    _queue: dpctl.SyclQueue | None
    _context: dpctl.SyclContext | None
    _sycl_device: dpctl.SyclDevice | None

    def __new__(cls, *args: Any, **keywords: Any) -> Device:
        given = ", ".join([*map(repr, args), *(f"{key}={keywords[key]!r}" for key in keywords)])
        raise TypeError(f"Device cannot be instantiated; call sycl_ext.device({given})")

    @classmethod
    def _of(cls, entry: _core.Entry) -> Device:
        device = object.__new__(cls)
        device._entry = entry
        device._queue = device._context = device._sycl_device = None
        return device

    id: int = _fact("id", "Number of the entry; for a root device the ``device_id`` of DLPack.")
    root_id: int = _fact("root_id", "Id of the root device; a root device has its own id.")
    kind: str = _fact("kind", '``"root"``, ``"sub_device"`` or ``"context"`` (a registered one).')
    name: str = _fact("name", "Name of the device, as its driver reports it.")
    backend: str = _fact("backend", '``"level_zero"``, ``"opencl"``, ...')
    device_type: str = _fact("device_type", '``"gpu"``, ``"cpu"`` or ``"accelerator"``.')
    driver_version: str = _fact("driver_version", "Version of the driver, as it reports it.")
    has_fp64: bool = _fact("fp64", "Whether the device supports float64.")
    default_context: bool = _fact(
        "default_context", "Whether the entry is bound to the default context of its platform."
    )
    usm_types: tuple[str, ...] = _fact(
        "usm_types", 'The kinds of USM that the device supports; ``"system"`` for any host memory.'
    )
    total_memory: int = _fact("total_memory", "Bytes of the device's own memory, used or free.")
    partition: str = _fact(
        "partition",
        """The partition that made a sub-device, such as ``"numa"`` or ``"equally 4"``.

        Empty for a sub-device of another library, because OpenCL does not report its partition.
        """,
    )

    @property
    def parent(self) -> Device | None:
        """The device it was partitioned from or registered for; None for a root device."""
        parent = self._entry.parent
        return None if parent is None else by_id(parent.id)

    @property
    def partition_index(self) -> int | None:
        """Number of a sub-device in its partition, from 0; None for other devices."""
        index = self._entry.partition_index
        return index if index >= 0 else None

    @property
    def uuid(self) -> str | None:
        """UUID of the device in the form 8-4-4-4-12, the same in every process and backend.

        None if the device does not report a UUID. Another program finds the same device by it, also
        a tile of a GPU, and where the tiles are root devices: ``sx.device("uuid:...")``. Only the
        CPU driver numbers its sub-devices as they are made, so theirs are those of one process.
        """
        uuid = self._entry.uuid
        return str(UUID(bytes=uuid)) if len(uuid) == 16 else None

    @property
    def pci_address(self) -> str | None:
        """Address on the PCI bus, such as ``"0000:03:00.0"``; None if not reported."""
        return self._entry.pci_address or None

    @property
    def free_memory(self) -> int | None:
        """Bytes of the device's memory that no process has allocated, at this moment.

        None if unknown: Level Zero reports it for discrete GPUs, but OpenCL does not. On CUDA and
        HIP it is not queried, because their adapters abort if the driver fails to answer; there,
        use ``torch.cuda.mem_get_info``.

        See Also
        --------
        sycl_ext.memory.statistics : what this package has allocated in this process

        References
        ----------
        `sycl_ext_intel_device_info, free memory
        <https://github.com/intel/llvm/blob/sycl/sycl/doc/extensions/supported/sycl_ext_intel_device_info.md>`_
        """
        return self._entry.free_memory()

    @property
    def numa_node(self) -> int | None:
        """Number of the NUMA node of the host that the device is attached to.

        None if the host has one node, or if the device is not on the PCI bus, as a CPU device.
        """
        return pci.numa_node(self.pci_address)

    @property
    def local_cpus(self) -> tuple[int, ...] | None:
        """Numbers of the host's processors that are attached to the same node as the device.

        Copies between host and device are fastest from these, so a process that works with one
        device pins itself to them: ``os.sched_setaffinity(0, device.local_cpus)``. None if the
        device is not on the PCI bus, as a CPU device.
        """
        return pci.local_cpus(self.pci_address)

    @property
    def filter_string(self) -> str:
        """The filter string of the root device, such as ``"opencl:cpu:0"``."""
        return _core.entry(self.root_id).filter_string

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
        check_word("usm_type", usm_type, USM_TYPES)
        return usm_type != "device" or self._entry.host_memory

    @property
    def sycl_queue(self) -> dpctl.SyclQueue:
        """The queue that dpctl keeps for the device and context of the entry.

        All users of dpctl in the process share it, for example dpnp. It is out of order. Without
        dpctl it is a queue of this package, with ``_get_capsule()`` and ``addressof_ref()``.
        """
        if self._queue is None:
            shared = self._entry.queue  # from now on, the core looks for work on it
            if isinstance(shared, _core.Queue):
                return shared
            self._queue = queue_of_dpctl(self.id)
        return self._queue

    @property
    def sycl_context(self) -> dpctl.SyclContext:
        """The context of the entry, as a ``dpctl.SyclContext``.

        Without dpctl it is an object with ``_get_capsule()`` and ``addressof_ref()``.
        """
        if self._context is not None:
            return self._context
        if (dpctl := companion.find_dpctl()) is None:
            return companion.SyclContext(self.id)
        context = dpctl.SyclContext(self._entry.context_capsule())
        # ``addressof_ref()`` stays valid.  A private context would be kept alive forever.
        if self.default_context:
            self._context = context
        return context

    @property
    def sycl_device(self) -> dpctl.SyclDevice:
        """The device of the entry, as a ``dpctl.SyclDevice``.

        Without dpctl it is an object with ``addressof_ref()``.
        """
        if self._sycl_device is None:
            if (dpctl := companion.find_dpctl()) is None:
                return companion.SyclDevice(self.id)
            # dpctl takes no capsule of a device.
            queue = dpctl.SyclQueue(self._entry.new_queue()._get_capsule())
            self._sycl_device = queue.sycl_device
        return self._sycl_device

    def create_sub_devices(self, partition: int | Sequence[int] | str) -> tuple[Device, ...]:
        """Partition the device into sub-devices, and add an entry for each.

        The same partition of the same device returns the same entries. On Level Zero they are bound
        to the default context, like their root device. On OpenCL each needs a context of its own.

        Parameters
        ----------
        partition : int, sequence of int or str
            The number of compute units of each sub-device; a list of these numbers; an affinity
            domain (``"numa"``, ``"L4_cache"``, ``"L3_cache"``, ``"L2_cache"``, ``"L1_cache"``,
            ``"next_partitionable"``); or ``"cslice"``, the compute slices of a GPU.

        Raises
        ------
        SyclError
            If the device cannot be partitioned in this way.
        TypeError, ValueError
            If `partition` is none of the above.

        Examples
        --------
        >>> import sycl_ext as sx
        >>> sub_devices = sx.device().create_sub_devices([1, 1])
        >>> sub_devices == sx.device().create_sub_devices([1, 1])
        True
        """
        entries = _core.create_sub_devices(self._entry, *_read_partition(partition))
        return tuple(by_id(entry.id) for entry in entries)

    def _whole(self) -> Device:
        """Return the entry of the same device that has no private context."""
        return by_id(self._entry.home.id)

    def __dlpack_device__(self) -> DLDevice:
        """Return ``(14, id)``."""
        return (int(DeviceType.ONE_API), self.id)

    def __repr__(self) -> str:
        whose = self.root_id if self.parent is None else self.parent.id
        what = {
            "root": self.filter_string,
            "sub_device": f"sub-device of device {whose}",
            "context": f"private context of device {whose}",
        }[self.kind]
        if self.partition:
            what += f": {self.partition}, number {self.partition_index}"
        return f"<Device {self.id}: {self.name} ({what})>"

    @property
    def _portable_uuid(self) -> bytes:
        """The UUID if it is the same in every process, else empty bytes.

        Level Zero gives each tile one. The CPU driver numbers its sub-devices as they are made.
        """
        if (parent := self.parent) is None:
            return self._entry.uuid
        if self.kind == "context" and not self._entry.composite:
            return parent._portable_uuid
        has_own = self.backend == "level_zero" and self._entry.uuid != parent._entry.uuid
        return self._entry.uuid if has_own else b""

    @property
    def _portable_form(self) -> str:  # type: ignore[override]
        is_sub_device = self.kind == "sub_device"
        named = self if is_sub_device and self._portable_uuid else by_id(self.root_id)
        name = named.filter_string
        # Two drivers of one CPU report one UUID, that of its model.
        if uuid := named._portable_uuid:
            same = [root for root in roots() if root._entry.uuid == uuid]
            if all(root is named or root.backend != named.backend for root in same):
                name = f"uuid:{named.uuid}"
        what = f"send {name!r}"
        if self.kind == "context":
            what = "send the name of its device, and register a context there"
        elif named is not self:
            what = "send the name of its root device, and partition it there"
        return f"{what}: sycl_ext.device({name!r}) finds it in every process"

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """Return what identifies the device for Dask, the same in each call and process.

        A private context, and a sub-device of another library, exist only in this process.
        """
        if self.parent is None:
            return ("sycl_ext.Device", self.filter_string, self.uuid)
        index = self.partition_index
        place = (self.kind, self.id) if index is None else (self.partition, index)
        return (*self.parent.__dask_tokenize__(), *place)


def _read_partition(partition: Any) -> tuple[str, list[int]]:
    """Read the ``partition=`` of `Device.create_sub_devices`."""
    if isinstance(partition, str):
        return check_word("partition", partition, DOMAINS), []
    equally = is_int(partition)
    try:
        if isinstance(partition, (bytes, bytearray)) or is_unordered(partition):
            raise TypeError
        counts = [operator.index(count) for count in ([partition] if equally else partition)]
    except TypeError:
        raise TypeError(
            f"partition is {partition!r}; it must be a number of compute units, a sequence of such "
            'numbers, or the name of an affinity domain such as "numa"'
        ) from None
    if not counts or not all(0 < count < 1 << 31 for count in counts):
        raise ValueError(
            f"partition is {partition!r}; it must name sub-devices of at least one compute unit"
        )
    return "equally" if equally else "counts", counts


#: The `Device` of each entry. The table keeps its entries until the process ends, and so does this.
_by_id: dict[int, Device] = {}
#: The entry id of each of these devices: the core looks up here what ``device=`` is given.
ids: dict[Device, int] = {}


def by_id(entry_id: int) -> Device:
    """Return the `Device` of an entry; ValueError if there is no such entry."""
    device = _by_id.get(entry_id)
    if device is None:
        if entry_id.bit_length() > 31:
            raise ValueError(
                f"a device id of {entry_id.bit_length()} bits is out of range; the device table "
                f"has {_core.entry_count()} entries"
            )
        # setdefault: two threads may arrive here together, and both must get one object.
        device = _by_id.setdefault(entry_id, Device._of(_core.entry(entry_id)))
        ids[device] = entry_id
    return device


def queue_of_dpctl(entry_id: int) -> dpctl.SyclQueue | None:
    """Return the queue that dpctl keeps for an entry, for the core; None: there is no dpctl."""
    if (dpctl := companion.find_dpctl()) is None:
        return None
    device = by_id(entry_id)
    try:
        return dpctl.get_device_cached_queue((device.sycl_context, device.sycl_device))
    except dpctl.SyclQueueCreationError as error:
        raise SyclError(f"dpctl cannot make a queue for device {entry_id}: {error}") from error


def roots() -> list[Device]:
    """Return the root devices, in id order."""
    return [by_id(entry_id) for entry_id in range(_core.root_count())]


def devices() -> tuple[Device, ...]:
    """Return every entry of the device table, in id order.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> sx.devices()[0].id
    0
    """
    return tuple(by_id(entry_id) for entry_id in range(_core.entry_count()))
