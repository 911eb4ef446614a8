# SPDX-License-Identifier: Apache-2.0
"""What the adapter uses of vLLM, by the public interface of its 02f250b0.

The modules have the names of vLLM's.  The functions of ``reload`` only note that they were called.
"""

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from types import ModuleType


class WeightTransferConfig:
    pass


class WeightTransferInitInfo:
    pass


class WeightTransferUpdateInfo:
    pass


@dataclass
class TrainerInitInfo(WeightTransferInitInfo):
    rank: int = field(kw_only=True)

    @property
    def is_sender(self):
        return self.rank == 0


class WeightTransferEngine(ABC):
    def __init__(self, config, vllm_config, device, model):
        self.model_config, self.model = vllm_config, model

    def update_weights(self, update_info):
        try:
            parsed = self.update_info_cls(**update_info)
        except TypeError as error:
            raise ValueError(f"Invalid update_info: {error}") from error
        self.receive_weights(parsed)

    @abstractmethod
    def init_transfer_engine(self, init_info): ...

    @abstractmethod
    def start_weight_update(self): ...

    @abstractmethod
    def finish_weight_update(self): ...

    @abstractmethod
    def receive_weights(self, update_info): ...

    @abstractmethod
    def shutdown(self): ...

    @staticmethod
    @abstractmethod
    def trainer_send_weights(iterator, trainer_args): ...


class TrainerWeightTransferEngine(ABC):
    def __init__(self, config, *, client, source, is_sender=True):
        self.config, self.client, self.source = config, client, source
        self.is_sender = is_sender

    @classmethod
    @abstractmethod
    def trainer_init(cls, config, init_info, *, client, source): ...

    @abstractmethod
    def send_weights(self): ...


def initialize_layerwise_reload(model):
    model.notes.append("start")


def finalize_layerwise_reload(model, model_config):
    model.notes.append("finish")


def provide(name, *things):
    """Make a module of that name, with these classes and functions."""
    module = sys.modules[name] = ModuleType(name)
    for thing in things:
        setattr(module, thing.__name__, thing)
    return module


provide("vllm.config.weight_transfer", WeightTransferConfig)
provide(
    "vllm.distributed.weight_transfer.base",
    TrainerInitInfo,
    TrainerWeightTransferEngine,
    WeightTransferEngine,
    WeightTransferInitInfo,
    WeightTransferUpdateInfo,
)
provide("vllm.model_executor.model_loader").reload = provide(
    "vllm.model_executor.model_loader.reload",
    initialize_layerwise_reload,
    finalize_layerwise_reload,
)
