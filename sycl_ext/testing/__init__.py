# SPDX-License-Identifier: Apache-2.0
"""A conformance kit for DLPack: ``pytest --pyargs sycl_ext.testing --dlpack=LIBRARY``.

It checks producer and consumer of any library that speaks DLPack, on any type of device.  Nothing
here uses the rest of the package: the kit works where there is no SYCL device, with NumPy alone.
"""

from sycl_ext.testing.adapter import Adapter

__all__ = ["Adapter"]
