# SPDX-License-Identifier: Apache-2.0
"""``pytest --pyargs dlpack_conformance --dlpack=fields_adapter:adapter``."""

from __future__ import annotations

from typing import Any

import fields
import numpy as np

import sycl_ext as sx
from dlpack_conformance import Adapter


def make(values: np.ndarray[Any, Any]) -> fields.Field:
    """Return a field of these elements."""
    return fields.Field(sx.empty(values.shape, values.dtype).copy_from(values))


adapter = Adapter(
    "fields",
    make,
    fields.from_dlpack,
    host=lambda field: np.from_dlpack(sx.host_view(field)),
    modules=("fields",),
)
