# SPDX-License-Identifier: Apache-2.0
"""Registers the weight transfer "sycl" with vLLM.

vLLM calls `register` by its entry point ``vllm.general_plugins`` in each of its processes. A
trainer calls it itself. This module imports neither vLLM nor sycl_ext.
"""

from contextlib import suppress

__all__ = ["BACKEND", "register"]

__version__ = "0.1.0"

#: The name for ``WeightTransferConfig(backend=...)``.
BACKEND = "sycl"


def register() -> None:
    """Add both engines to the factories of vLLM; again, it does nothing."""
    from vllm.distributed.weight_transfer import factory

    engines = "sycl_ext_vllm.engines"
    with suppress(ValueError):  # it is there
        factory.WeightTransferEngineFactory.register_engine(
            BACKEND, engines, "SyclWeightTransferEngine"
        )
    with suppress(ValueError):
        factory.WeightTransferTrainerFactory.register_engine(BACKEND, engines, "SyclTrainerEngine")
