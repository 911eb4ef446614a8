# SPDX-License-Identifier: Apache-2.0
"""Workers with a device each: the options of a nanny, and a cluster of one machine.

The nannies are in this process, and their workers are its children. Only the workers load the SYCL
runtime.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from dask.utils import format_bytes, parse_bytes
from distributed import LocalCluster, Worker, WorkerPlugin
from distributed.worker_memory import parse_memory_limit

from sycl_ext_dask.devices import WorkerDevice, worker_devices

__all__ = ["LocalSYCLCluster", "OwnDevice", "device_bytes", "options_of"]

logger = logging.getLogger("distributed.worker")

#: Part of the memory of a GPU that stored data may take, as in dask-cuda.
PART = 0.8


def device_bytes(limit: int | float | str | None, device: WorkerDevice) -> int | None:
    """Return the bytes of stored data that may stay on a device; None: no limit.

    Parameters
    ----------
    limit : int, float, str or None
        Bytes, such as ``"12 GiB"``; a part of the memory of the device, up to 1.0; ``"auto"``, 0.8
        of the memory of a GPU, and no limit for a CPU, whose memory Dask limits; None or 0, no
        limit.
    device : WorkerDevice
        The device.

    Examples
    --------
    >>> gpu = WorkerDevice("GPU", "gpu", None, total_memory=1000)
    >>> device_bytes("auto", gpu), device_bytes(0.5, gpu), device_bytes("100 B", gpu)
    (800, 500, 100)
    """
    if limit == "auto":
        limit = PART if device.device_type == "gpu" else None
    if isinstance(limit, str):
        limit = float(limit) if limit.replace(".", "", 1).isdecimal() else parse_bytes(limit)
    if not limit:
        return None
    if limit < 0:
        raise ValueError(f"device_memory_limit={limit} is negative; give bytes, 0.0 to 1.0, or 0")
    return int(limit * device.total_memory) if limit <= 1 else int(limit)


def options_of(device: WorkerDevice, limit: int | float | str | None = "auto") -> dict[str, Any]:
    """Return the keyword arguments of a `distributed.Nanny` whose worker has this device."""
    nbytes = device_bytes(limit, device)
    options: dict[str, Any] = {"env": dict(device.environment), "plugins": (OwnDevice(device),)}
    if nbytes is not None:
        from sycl_ext_dask.spill import DeviceSpillBuffer

        options["data"] = (DeviceSpillBuffer, {"device_memory_limit": nbytes})
    return options


class OwnDevice(WorkerPlugin):  # type: ignore[misc]
    """Bind a worker to its device, and report the device to the scheduler.

    The table of workers on the dashboard, and ``client.scheduler_info()``, have these metrics:

    ==================  ==========================================================
    ``device``          the name of the device, and its PCI address
    ``device memory``   stored data on the device, of its limit or its memory
    ==================  ==========================================================
    """

    name = "sycl-device"

    def __init__(self, device: WorkerDevice) -> None:
        self.device = device

    def setup(self, worker: Worker) -> None:
        """Set the processors, load the runtime, and check that it shows this device alone."""
        near = set(self.device.cpus) & os.sched_getaffinity(0)
        if near:
            os.sched_setaffinity(0, near)  # threads that start later inherit it
        elif self.device.cpus:
            logger.warning(
                "no processor next to %s is allowed here: it is next to %s",
                self.device.name,
                self.device.cpus,
            )
        import sycl_ext as sx

        seen = sx.devices()
        if len(seen) != 1 or seen[0].uuid != self.device.uuid:
            listed = ", ".join(f"{device.filter_string} ({device.uuid})" for device in seen)
            raise RuntimeError(
                f"this worker is for {self.device.name} ({self.device.uuid}), and sees "
                f"{listed or 'no device'}; modules that it loads before this plug-in, such as a "
                "preload, must not set ONEAPI_DEVICE_SELECTOR or load the SYCL runtime"
            )
        address = seen[0].pci_address
        label = f"{self.device.name} ({address})" if address else self.device.name
        worker.metrics = {
            **worker.metrics,
            "device": lambda _worker: label,
            "device memory": self._memory,
        }

    def _memory(self, worker: Worker) -> str:
        tier = getattr(worker.data, "device", None)
        if tier is None:  # no DeviceSpillBuffer
            return str(format_bytes(self.device.total_memory))
        used = tier.fast.total_weight
        return f"{format_bytes(int(used))} of {format_bytes(int(tier.n))}"


class LocalSYCLCluster(LocalCluster):  # type: ignore[misc]
    """A cluster of this machine with one worker per GPU, or per tile of a GPU.

    Each worker is a process that sees its own device alone, as device 0.

    Parameters
    ----------
    per : {"tile", "card"}, default "tile"
        One worker per tile, or per card.
    device_type : {"gpu", "cpu"}, optional
        Only devices of this type. Without it the GPUs if there are any, or else the CPUs.
    n_workers : int, optional
        So many workers, of the first devices. Without it, one for each.
    threads_per_worker : int, default 1
        Threads of a worker that run tasks. dpnp can hang with more than one.
    memory_limit : int, float or str, default "auto"
        Memory of the process of a worker, as in `distributed.LocalCluster`. "auto" is an equal
        part for each device.
    device_memory_limit : int, float, str or None, default "auto"
        Stored data that stays on the device: bytes, or a part of the memory of the device. "auto"
        is 0.8 of a GPU, and no limit on a CPU.
    **kwargs
        Passed to `distributed.LocalCluster`.

    Raises
    ------
    ValueError
        If there is no device, or there are fewer than workers.

    Examples
    --------
    >>> from distributed import Client
    >>> from sycl_ext_dask.workers import LocalSYCLCluster
    >>> with LocalSYCLCluster() as cluster, Client(cluster) as client:  # doctest: +SKIP
    ...     client.run(lambda: sycl_ext.device().name)
    """

    def __init__(
        self,
        *,
        per: str = "tile",
        device_type: str | None = None,
        n_workers: int | None = None,
        threads_per_worker: int = 1,
        memory_limit: int | float | str | None = "auto",
        device_memory_limit: int | float | str | None = "auto",
        **kwargs: Any,
    ) -> None:
        if not kwargs.pop("processes", True):
            raise ValueError("processes=False: the SYCL runtime shows each device to one process")
        self.devices = worker_devices(per, device_type)
        self.device_memory_limit = device_memory_limit
        super().__init__(
            n_workers=0,
            processes=True,
            threads_per_worker=threads_per_worker,
            memory_limit=host_bytes(memory_limit, len(self.devices)),
            **kwargs,
        )
        self.scale(len(self.devices) if n_workers is None else n_workers)
        if not self.asynchronous:
            self.sync(self._correct_state)

    def new_worker_spec(self) -> dict[int, Any]:
        """Return the specification of the next worker, by the number of its device."""
        free = [n for n in range(len(self.devices)) if n not in self.worker_spec]
        if not free:
            raise ValueError(
                f"a worker more than there are devices: {len(self.devices)}; scale to fewer"
            )
        own = options_of(self.devices[free[0]], self.device_memory_limit)
        common = self.new_spec["options"]
        plugins = (*common.get("plugins", ()), *own.pop("plugins"))
        env = {**(common.get("env") or {}), **own.pop("env")}
        options = {**common, **{k: v for k, v in own.items() if k not in common}}
        return {free[0]: {**self.new_spec, "options": {**options, "env": env, "plugins": plugins}}}


def host_bytes(limit: int | float | str | None, workers: int) -> int | None:
    """Return the memory of each worker of a machine; "auto": an equal part."""
    nbytes: int | None = parse_memory_limit(limit, 1, workers, logger=logger)
    return nbytes
