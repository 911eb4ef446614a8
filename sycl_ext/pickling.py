# SPDX-License-Identifier: Apache-2.0
"""Pickles: arrays of other libraries, and the device of unpickled arrays."""

from sycl_ext._exchange.libraries import register
from sycl_ext._setup.public import publish
from sycl_ext._tensor.pickling import to_device

__all__ = ["register", "to_device"]

publish(__name__, register, to_device)
