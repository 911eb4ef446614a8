# SPDX-License-Identifier: Apache-2.0
"""Weights from a trainer to the workers of vLLM, on one machine, by handle.

A worker opens the memory of the trainer and loads from there, so the weights are copied once, into
the model. Memory that cannot be shared is sent as bytes.
"""

from __future__ import annotations

import base64
import importlib
import os
import pickle
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from vllm.distributed.weight_transfer.base import (
    TrainerInitInfo,
    TrainerWeightTransferEngine,
    WeightTransferEngine,
    WeightTransferInitInfo,
    WeightTransferUpdateInfo,
)

import sycl_ext as sx
from sycl_ext_vllm import BACKEND

__all__ = ["SyclTrainerEngine", "SyclTrainerInitInfo", "SyclWeightTransferEngine"]

#: vLLM's switch for pickles, which can run any code of the sender.
ALLOW = "VLLM_ALLOW_INSECURE_SERIALIZATION"
#: Weights in a message.
AT_ONCE = 64


@dataclass
class SyclInitInfo(WeightTransferInitInfo):  # type: ignore[misc]
    """A worker needs nothing to begin."""


@dataclass
class SyclUpdateInfo(WeightTransferUpdateInfo):  # type: ignore[misc]
    """Some weights, as text, so that any client can send them."""

    names: list[str]
    packed: str
    """The pickle of a list of `sx.ipc.Packed`, one for each name, in base 64."""


@dataclass
class SyclTrainerInitInfo(TrainerInitInfo):  # type: ignore[misc]
    """The rank of the trainer; rank 0 sends."""

    backend: ClassVar[str] = BACKEND


class SyclWeightTransferEngine(WeightTransferEngine):  # type: ignore[misc]
    """The side of the worker, ``WeightTransferConfig(backend="sycl")``."""

    init_info_cls = SyclInitInfo
    update_info_cls = SyclUpdateInfo
    library: ClassVar[str] = "torch"
    """The module with ``from_dlpack`` that makes the tensors for the model."""

    def init_transfer_engine(self, init_info: SyclInitInfo) -> None:
        """Do nothing: each message says where its weights are."""

    def start_weight_update(self) -> None:
        """Prepare the model for weights in the format of a checkpoint."""
        from vllm.model_executor.model_loader import reload

        reload.initialize_layerwise_reload(self.model)

    def receive_weights(self, update_info: SyclUpdateInfo) -> None:
        """Load the weights out of the memory of the trainer, and wait for the copies.

        Raises
        ------
        ValueError
            If the environment does not allow pickles.
        """
        from vllm.model_executor.model_loader import mtp_validation

        if os.environ.get(ALLOW) != "1":
            raise ValueError(f"the weights come as a pickle; set {ALLOW}=1 if you trust the sender")
        opened = [packed.open() for packed in pickle.loads(base64.b64decode(update_info.packed))]
        tensors = [sx.exchange(usm, self.library, host_copy=False) for usm in opened]
        with mtp_validation.disable_mtp_completeness_check():  # other messages have other weights
            self.model.load_weights(list(zip(update_info.names, tensors, strict=True)))
        self._complete()

    def finish_weight_update(self) -> None:
        """Complete the model, which may have kept weights until now."""
        from vllm.model_executor.model_loader import reload

        reload.finalize_layerwise_reload(self.model, self.model_config)
        self._complete()

    def _complete(self) -> None:
        # The trainer may free its memory when a call returns, and nobody else asks this queue.
        accelerator = importlib.import_module(self.library).accelerator
        if accelerator.is_available():
            accelerator.synchronize()

    def shutdown(self) -> None:
        """Do nothing: no memory of the trainer is kept."""


class SyclTrainerEngine(TrainerWeightTransferEngine):  # type: ignore[misc]
    """The side of the trainer. Each rank calls it; rank 0 sends."""

    init_info_cls = SyclTrainerInitInfo

    @classmethod
    def trainer_init(
        cls, init_info: SyclTrainerInitInfo, *, client: Any, source: Any = None
    ) -> SyclTrainerEngine:
        """Return an engine, after the workers have made theirs.

        Raises
        ------
        ValueError
            If there is no source, or the sender does not have each parameter.
        TypeError
            If the source has no full tensors.
        """
        if source is None:
            raise ValueError("source=None: the engine sends the weights of a WeightSource")
        if not source.implements_iter_full():
            raise TypeError(
                f"{type(source).__name__} has no iter_full(), which yields what is sent"
            )
        owned, all_names = source.owned_names(init_info.rank), source.metadata
        if init_info.is_sender and len(owned) != len(all_names):
            raise ValueError(
                f"rank {init_info.rank} sends all weights, and owns {len(owned)} of "
                f"{len(all_names)}; gather them in iter_full()"
            )
        engine = cls(
            client=client, source=source, is_sender=init_info.is_sender, rank=init_info.rank
        )
        if engine.is_sender:
            client.init_weight_transfer_engine({})
        return engine

    def send_weights(self) -> None:
        """Bring the workers up to date; ranks that do not send take part in the collectives."""
        if not self.is_sender:
            for _ in self.source.iter_full():
                pass
            return
        self.client.start_weight_update()
        _send(self.client, self.source.iter_full())
        self.client.finish_weight_update()


def _send(client: Any, weights: Iterable[tuple[str, Any]]) -> None:
    """Send weights, some in each message; they are kept until the worker has loaded them."""
    rest = iter(weights)
    while some := list(islice(rest, AT_ONCE)):
        packed = [sx.ipc.pack(tensor.detach()) for _, tensor in some]
        text = base64.b64encode(pickle.dumps(packed)).decode()
        client.update_weights({"names": [name for name, _ in some], "packed": text})
