# SPDX-License-Identifier: Apache-2.0
"""Ray: tensors and dpnp arrays from actor to actor, by handle, and through the object store.

**Experimental**: the interface of Ray Direct Transport is alpha, and the call that sends the bytes
to another machine is not documented.  This is written for, and tested with, Ray 2.60.0 alone.
Ray schedules, counts references and sends messages; this package makes and opens handles of
`sycl_ext.ipc`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

# Before Ray, which lists the devices by dpctl: from then on, the CPU device cannot be added.
import sycl_ext as sx

# isort: split
import ray
from ray.experimental import (
    CommunicatorMetadata,
    TensorTransportManager,
    TensorTransportMetadata,
    register_tensor_transport,
)
from ray.experimental.rdt.rdt_store import __ray_fetch_rdt_object__ as fetch
from ray.experimental.rdt.util import transport_manager_info

__all__ = ["DpnpTransport", "Transport", "setup"]

__version__ = "0.1.0"

#: So long a receiver waits for the bytes of another machine: as Ray's own transports by default.
FETCH_SECONDS = 60


def setup() -> None:
    """Register the transports ``"SYCL"`` (tensors) and ``"DPNP"``, and pickles of dpnp arrays.

    Call it in the driver before classes name the transports, and let Ray call it in each worker:
    ``ray.init(runtime_env={"worker_process_setup_hook": "sycl_ext_ray.setup"})``.
    A second call changes nothing.
    """
    if "SYCL" not in transport_manager_info:
        register_tensor_transport("SYCL", ["sycl"], Transport, sx.Tensor)
    if "DPNP" not in transport_manager_info and importlib.util.find_spec("dpnp"):
        import dpnp

        sx.pickling.register("dpnp")
        register_tensor_transport("DPNP", ["sycl"], DpnpTransport, dpnp.ndarray)


@dataclass
class Offer(TensorTransportMetadata):  # type: ignore[misc]
    """The description of the source's arrays: where they are, and on which machine."""

    # An ipc.Handle, a `Copied`, an array without elements, or the reason why neither can be made.
    offers: list[Any] = field(default_factory=list)
    node: str = ""


@dataclass
class Copied:
    """A copy in memory that can be shared; the receiver copies it into USM as the source has."""

    handle: sx.ipc.Handle
    usm_type: Any  # the kind of the source: "device", "shared", "host" or "system"


@dataclass
class Source(CommunicatorMetadata):  # type: ignore[misc]
    """The actor that sends the bytes to another machine; None for the driver and `ray.get`."""

    actor: Any = None


class Transport(TensorTransportManager):  # type: ignore[misc]
    """Sends tensors: a handle on one machine, one message of Ray between machines.

    The receiver works on the memory of the source where that can be shared (see `ipc.handle`).
    Other memory is copied twice: into memory of `ipc.empty` when the source returns it, and from
    there into USM of the same kind by the receiver.  It is sent as a message if the device has no
    such memory (a GPU of CUDA or HIP), or if elements are repeated.  The class of each
    actor, the receiver's included, needs ``@ray.remote(enable_tensor_transport=True)``, or a method
    with a transport: Ray makes the threads that receive with the class, not by ``.options()``.
    """

    def __init__(self) -> None:
        self._kept: dict[str, list[Any]] = {}  # object -> handles, which keep the memory

    def tensor_transport_backend(self) -> str:
        """Return the name that Ray knows this by."""
        return "SYCL"

    @staticmethod
    def is_one_sided() -> bool:
        """Return True: the receiver opens the memory by itself."""
        return True

    @staticmethod
    def can_abort_transport() -> bool:
        """Return True: a receiver never waits longer than Ray does, so no actor must be killed."""
        return True

    def actor_has_tensor_transport(self, actor: Any) -> bool:  # noqa: ARG002
        """Return True: Ray registers the transport on each actor that it is used with."""
        return True

    def extract_tensor_transport_metadata(self, obj_id: str, rdt_object: list[Any]) -> Offer:
        """Make the handles, which are kept until Ray collects the object."""
        tensors = [sx.as_tensor(x, copy=False) for x in rdt_object]
        offers = self._kept[obj_id] = [_offer(t) for t in tensors]
        return Offer(
            tensor_meta=[(t.shape, t.dtype) for t in tensors],
            tensor_device="sycl",
            offers=offers,
            node=ray.get_runtime_context().get_node_id(),
        )

    def get_communicator_metadata(
        self,
        src_actor: Any,
        dst_actor: Any,  # noqa: ARG002
        backend: str | None = None,  # noqa: ARG002
    ) -> Source:
        """Return the actor that has the arrays."""
        return Source(src_actor)

    def recv_multiple_tensors(
        self,
        obj_id: str,
        tensor_transport_metadata: Offer,
        communicator_metadata: Source,
        target_buffers: list[Any] | None = None,
    ) -> list[Any]:
        """Open the handles; if that is impossible, request the bytes from the source."""
        if target_buffers:
            raise ValueError("the transports of sycl_ext do not receive into buffers")
        refused: BufferError | None = None
        if tensor_transport_metadata.node == ray.get_runtime_context().get_node_id():
            try:
                return [self._arrive(_open(x)) for x in tensor_transport_metadata.offers]
            except BufferError as error:
                refused = error
        if communicator_metadata.actor is None:
            raise BufferError(
                f"object {obj_id} cannot be opened here ({refused or 'it is on another machine'}); "
                "ray.get(ref, _use_object_store=True) copies the arrays of an actor; the driver "
                "sends a copy if it calls ray.put without _tensor_transport"
            ) from refused
        # Not in the group "_ray_system": there the source may be waiting for this actor.
        call = communicator_metadata.actor.__ray_call__.options(
            concurrency_group="_ray_system_error"
        )
        fetched: list[Any] = ray.get(call.remote(fetch, obj_id), timeout=FETCH_SECONDS)
        return fetched

    def _arrive(self, tensor: sx.Tensor) -> Any:
        """Return the array that the receiver gets."""
        return tensor

    def send_multiple_tensors(self, *_: Any) -> None:
        """Raise NotImplementedError: Ray does not call it on a one-sided transport."""
        raise NotImplementedError("the transport is one-sided")

    def garbage_collect(
        self,
        obj_id: str,
        tensor_transport_meta: Offer,  # noqa: ARG002
        tensors: list[Any],  # noqa: ARG002
    ) -> None:
        """Drop the handles; a receiver that has opened the memory keeps it."""
        self._kept.pop(obj_id, None)

    def abort_transport(self, obj_id: str, communicator_metadata: Source) -> None:
        """Do nothing: see `can_abort_transport`."""


class DpnpTransport(Transport):
    """Sends dpnp arrays, which arrive as dpnp arrays."""

    def tensor_transport_backend(self) -> str:
        """Return the name that Ray knows this by."""
        return "DPNP"

    def _arrive(self, tensor: sx.Tensor) -> Any:
        return sx.exchange(tensor, "dpnp")


def _offer(tensor: sx.Tensor) -> Any:
    """Return a handle of the tensor or of a copy that can be shared; an empty tensor as it is."""
    if tensor.size == 0:
        return tensor
    try:
        return sx.ipc.handle(tensor)
    except BufferError:
        if any(n > 1 and step == 0 for n, step in zip(tensor.shape, tensor.strides, strict=True)):
            return "a copy of it would have each repeated element"
        try:
            shared = _copy_as_it_lies(tensor, sx.ipc.empty)
        except BufferError as error:
            return str(error)
        return Copied(sx.ipc.handle(shared), tensor.usm_type)


def _open(offer: Any) -> sx.Tensor:
    if isinstance(offer, str):
        raise BufferError(offer)
    if isinstance(offer, sx.ipc.Handle):
        return sx.ipc.open(offer)
    if not isinstance(offer, Copied):
        return offer  # type: ignore[no-any-return]
    shared = sx.ipc.open(offer.handle)
    if offer.usm_type in (shared.usm_type, "system"):
        return shared
    return _copy_as_it_lies(shared, partial(sx.empty, usm_type=offer.usm_type))


def _copy_as_it_lies(tensor: sx.Tensor, make: Callable[..., sx.Tensor]) -> sx.Tensor:
    """Return a copy with the axes in the same order of memory, read-only if the tensor is."""
    axes = sorted(range(tensor.ndim), key=lambda axis: -abs(tensor.strides[axis]))
    lying = tensor.transpose(*axes) if axes else tensor
    copy = make(lying.shape, tensor.dtype, device=tensor.device).copy_from(lying)
    if axes:
        copy = copy.transpose(*(axes.index(axis) for axis in range(tensor.ndim)))
    return copy.as_readonly() if tensor.readonly else copy
