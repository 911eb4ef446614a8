# SPDX-License-Identifier: Apache-2.0
"""``dask sycl worker``: one worker per GPU, or per tile, of a machine.

Dask loads this module for each of its commands, by the entry point ``dask_cli``.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import click
import dask
from distributed import Nanny
from distributed._signals import wait_for_signals
from distributed.cli.dask_worker import main as dask_worker
from distributed.compatibility import asyncio_run
from distributed.config import get_loop_factory
from distributed.proctitle import enable_proctitle_on_children, enable_proctitle_on_current

from sycl_ext_dask.devices import MODES, worker_devices
from sycl_ext_dask.workers import host_bytes, options_of

__all__ = ["sycl"]

logger = logging.getLogger("distributed.dask_worker")

#: Options of ``dask worker`` with the same meaning here.
SHARED = (
    *("scheduler", "scheduler_file", "tls_ca_file", "tls_cert", "tls_key", "scheduler_sni"),
    *("host", "interface", "protocol", "name", "memory_limit", "local_directory", "resources"),
    *("dashboard", "dashboard_address", "death_timeout"),
    *("lifetime", "lifetime_stagger", "lifetime_restart"),
    *("preload", "preload_argv", "preload_nanny"),
)

#: Names in `distributed.Security` -> options.
TLS = {"tls_ca_file": "tls_ca_file", "tls_worker_cert": "tls_cert", "tls_worker_key": "tls_key"}

OWN = (
    click.Option(
        ["--per"],
        type=click.Choice(tuple(MODES)),
        default="tile",
        show_default=True,
        help="One worker per tile, or per card with all its tiles",
    ),
    click.Option(
        ["--device-type"],
        type=click.Choice(["gpu", "cpu"]),
        default=None,
        help="Only devices of this type [default: GPUs if there are any, else CPUs]",
    ),
    click.Option(
        ["--nthreads"],
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Threads of each worker; dpnp can hang with more than one",
    ),
    click.Option(
        ["--device-memory-limit"],
        default="auto",
        show_default=True,
        help="Stored data that stays on the device of a worker: bytes (12GiB), a part of its "
        "memory (0.5), 0 for no limit, or 'auto', which is 0.8 of a GPU",
    ),
)


@click.group(name="sycl")
def sycl() -> None:
    """Workers on SYCL devices."""


def run_workers(
    *, per: str, device_type: str | None, device_memory_limit: str, **options: Any
) -> None:
    """Start one worker per GPU of this machine, or per tile.

    Each sees its own device alone, and runs on the processors next to it.
    """
    known = (
        options["scheduler"],
        options["scheduler_file"],
        dask.config.get("scheduler-address", None),
    )
    if not any(known):
        raise click.UsageError("name the scheduler: dask sycl worker ADDRESS, or --scheduler-file")
    try:
        devices = worker_devices(per, device_type)
        own = [options_of(device, device_memory_limit) for device in devices]
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    for device in devices:
        variables = " ".join(f"{key}={value}" for key, value in device.environment.items())
        logger.info("Worker for %s: %s", device.name, variables)
    enable_proctitle_on_current()
    enable_proctitle_on_children()
    common = common_options(len(devices), **options)
    names = names_of(len(devices), options["name"])
    asyncio_run(
        run_nannies(
            [{**common, "name": name, **limits} for name, limits in zip(names, own, strict=True)]
        ),
        loop_factory=get_loop_factory(),
    )


def common_options(count: int, **options: Any) -> dict[str, Any]:
    """Return the keyword arguments of each of `count` nannies, by the options of the command."""
    files = {name: options.pop(option) for name, option in TLS.items()}
    read = {
        "scheduler_ip": options.pop("scheduler"),
        "memory_limit": host_bytes(options.pop("memory_limit"), count),
        "resources": read_resources(options.pop("resources")),
        "security": {name: file for name, file in files.items() if file is not None},
    }
    return {**options, **read}


def names_of(count: int, name: str | None) -> list[str | None]:
    """Return the names of workers: the given one, with a number if there are several."""
    if not name or count == 1:
        return [name or None] * count
    return [f"{name}-{number}" for number in range(count)]


async def run_nannies(options: list[dict[str, Any]]) -> None:
    """Run nannies until all have ended, or a signal comes."""
    nannies = [Nanny(**keywords) for keywords in options]

    async def finish() -> None:
        await asyncio.gather(*nannies)
        await asyncio.gather(*(nanny.finished() for nanny in nannies))

    async def close() -> None:
        reason = f"signal-{await wait_for_signals()}"
        await asyncio.gather(*(nanny.close(timeout=10, reason=reason) for nanny in nannies))

    tasks = [asyncio.create_task(finish()), asyncio.create_task(close())]
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


def read_resources(text: str | None) -> dict[str, float] | None:
    """Read the resources of tasks, ``"GPU=1 MEM=10e9"`` for instance."""
    if not text:
        return None
    pairs = [pair.partition("=") for pair in text.replace(",", " ").split()]
    return {name: float(amount) for name, _, amount in pairs}


sycl.add_command(
    click.Command(
        "worker",
        callback=run_workers,
        params=[*(param for param in dask_worker.params if param.name in SHARED), *OWN],
        help=run_workers.__doc__,
        context_settings={"ignore_unknown_options": True},
    )
)
