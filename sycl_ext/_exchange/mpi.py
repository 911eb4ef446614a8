# SPDX-License-Identifier: Apache-2.0
"""`mpi.check`: test whether an MPI that claims to support GPU memory transfers it correctly.

It imports no mpi4py: everything is a method of the communicator.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sycl_ext import _core
from sycl_ext._devices.placement import device as find_device
from sycl_ext._negotiation.kinds import ALLOCATED
from sycl_ext._setup import child
from sycl_ext._tensor.host_view import host_view
from sycl_ext._tensor.tensor import empty, zeros

if TYPE_CHECKING:
    from sycl_ext._devices.device import Device

#: Bytes of the messages. MPI sends a small one at once; a large one is fetched by the receiver, or
#: goes from GPU to GPU.
SIZES = (1000, 4 << 20)
#: The names of MPI's memory kinds (MPI 4.1, "Memory Allocation Kinds"), by backend of SYCL.
NAMES = {"level_zero": "level_zero", "cuda": "cuda", "hip": "rocm"}
#: Variables that a launcher sets for its ranks; without them a process is an MPI job of its own.
LAUNCHERS = ("PMI", "PMIX_", "OMPI_", "PRTE_", "HYD", "PALS_", "SLURM_", "MPI_LOCAL", "I_MPI_HYDRA")
_keyvals: list[int] = []


@dataclass(frozen=True)
class Check:
    """The result of `mpi.check`; true if the communicator can use memory of the device directly.

    Attributes
    ----------
    reason : str
        The reason if it cannot, with the rank that found it; otherwise "".
    """

    reason: str

    def __bool__(self) -> bool:
        return not self.reason


def check(comm: Any, /, device: Any = None) -> Check:
    """Test whether MPI handles the memory of a device, for `staged` with this ``comm``.

    A GPU-aware MPI declares its support (``mpi_memory_alloc_kinds`` of MPI 4.1; ``I_MPI_OFFLOAD``
    of Intel MPI). To verify it, each rank starts a child process that sends every combination of
    USM kinds to itself, and the ranks send the same bytes to each other. The declaration is trusted
    only if all children survive and all bytes arrive. Otherwise `staged` uses plain memory, which
    MPI never mistakes for GPU memory.

    All ranks of ``comm`` must call it together, once, before they use `staged` with it.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    device : optional
        The device, in any form; None: the default device.

    Returns
    -------
    Check
        The same on every rank. It is true or has a `reason`.

    Raises
    ------
    TypeError
        If ``comm`` is not a communicator, or is an intercommunicator.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import sycl_ext as sx
    >>> result = sx.mpi.check(MPI.COMM_WORLD, "cpu")
    >>> bool(result), result.reason
    (False, 'rank 0: MPI has no name for memory of the backend opencl')
    """
    _require_communicator(comm)
    if comm.Is_inter():
        raise TypeError("comm is an intercommunicator; pass mpi.check the result of its Merge()")
    try:
        root = find_device(find_device(device).root_id)
    except Exception as error:
        _agreed(comm, str(error))  # the other ranks wait for an answer
        raise
    if unclaimed := _agreed(comm, _claim(comm, root)):
        return Check(unclaimed)
    verdict = Check(_agreed(comm, _try_apart(root)) or _agreed(comm, _compare(comm, root)))
    key = _keyval(comm)
    comm.Set_attr(key, {**(comm.Get_attr(key) or {}), root.id: verdict})
    return verdict


def verdict_on(comm: Any, root_id: int) -> Check | None:
    """Return the result of `mpi.check`; None: not called, or ``comm`` declares no support."""
    if comm is None:
        return None
    _require_communicator(comm)
    verdict: Check | None = (comm.Get_attr(_keyval(comm)) or {}).get(root_id)
    return verdict


def _require_communicator(comm: Any) -> None:
    if not hasattr(comm, "Get_attr"):
        raise TypeError(f"an object of type {type(comm).__name__} is not a communicator of mpi4py")


def _keyval(comm: Any) -> int:
    """Return the key under which a communicator keeps the results of `mpi.check`.

    A copy of the communicator has no results. There is one key for all classes of mpi4py, because
    one communicator can be an object of several.
    """
    if not _keyvals:
        _keyvals.append(comm.Create_keyval())
    return _keyvals[0]


def _agreed(comm: Any, reason: str) -> str:
    """Return the reason of the first rank that has one, or ""; all ranks call this together."""
    told = comm.allgather(reason)
    return next((f"rank {rank}: {text}" for rank, text in enumerate(told) if text), "")


def _claim(comm: Any, root: Device) -> str:
    """Return why the communicator declares no support for memory of the device, or ""."""
    name = NAMES.get(root.backend)
    if name is None:
        return f"MPI has no name for memory of the backend {root.backend}"
    if not root.usm_types:
        return f"the device {root.name!r} has no USM"
    said = comm.Get_info().Get("mpi_memory_alloc_kinds") or ""
    kinds = [kind.strip() for kind in said.split(",")]
    if any(kind == name or kind.startswith(f"{name}:") for kind in kinds):
        return ""
    if name == "level_zero" and os.environ.get("I_MPI_OFFLOAD", "0") not in ("", "0"):
        return ""
    return f"MPI says that it takes memory of {', '.join(filter(None, kinds)) or 'no kind'}"


def _try_apart(root: Device) -> str:
    """Return the reason if a child process with MPI and the device failed, or ""."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith(LAUNCHERS)}
    code = f"from sycl_ext._exchange import mpi; mpi.run_apart({root.id})"
    try:
        done = subprocess.run(
            child.command(code),
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",  # a driver may write anything
            timeout=300,
            check=False,
        )
    except OSError as error:
        return f"a process that sends itself memory of the device did not start: {error}"
    except subprocess.TimeoutExpired:
        return "a process that sends itself memory of the device did not end"
    if done.returncode == 0:
        return ""
    last = done.stderr.strip().splitlines()[-1:]
    why = ": ".join([f"exit code {done.returncode}", *last])
    return f"a process that sends itself memory of the device failed: {why}"


def run_apart(root_id: int) -> None:
    """Send to this process, which is the child, and exit with the first difference."""
    from mpi4py import MPI

    if wrong := _compare(MPI.COMM_SELF, find_device(root_id)):
        sys.exit(wrong)


def _compare(comm: Any, root: Device) -> str:
    """Send from rank to rank; return the data that arrived wrong, or ""."""
    rank, size = comm.Get_rank(), comm.Get_size()
    after, before = (rank + 1) % size, (rank - 1) % size
    # Each rank makes the same number of exchanges, even if its device has fewer kinds of USM.
    own = [kind for kind in ALLOCATED if kind in root.usm_types]
    kinds = [kind if kind in own else own[0] for kind in ALLOCATED]
    wrong = []  # an error does not end the loop, because the other ranks go on
    for nbytes, source, target in itertools.product(SIZES, kinds, kinds):
        what = f"{nbytes} bytes from {source} to {target} USM"
        sent: Any = _bytes_of(rank, nbytes)
        received: Any = np.zeros(nbytes, "uint8")
        try:
            usm = empty(nbytes, "uint8", usm_type=source, device=root).copy_from(sent)
            sent, received = usm, zeros(nbytes, "uint8", usm_type=target, device=root)
            for tensor in (sent, received):
                _core.synchronize(tensor)
        except Exception as error:  # plain memory is sent in its place, because the neighbours wait
            wrong.append(f"{what}: {error}")
        try:
            comm.Sendrecv(sent, after, recvbuf=received, source=before)
        except Exception as error:
            wrong.append(f"{what}: {error}")
            continue
        if not np.array_equal(host_view(received).to_numpy(), _bytes_of(before, nbytes)):
            wrong.append(f"{what} arrived changed")
    return wrong[0] if wrong else ""


def _bytes_of(rank: int, nbytes: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the data of a rank: other bytes than those of its neighbours, and not zero."""
    return ((np.arange(nbytes) * 7 + rank) % 251 + 1).astype(np.uint8)
