# SPDX-License-Identifier: Apache-2.0
"""A conformance kit for DLPack: ``pytest --pyargs dlpack_conformance --dlpack=LIBRARY``.

It checks the producer and the consumer of any library that supports DLPack, on any type of device.
"""

from dlpack_conformance.adapter import Adapter
from dlpack_conformance.known import Known

__all__ = ["Adapter", "Known"]
__version__ = "0.1.0"
