# SPDX-License-Identifier: Apache-2.0
"""Known limitations of single functions of libraries: one row each. Pure Python.

A *function* of a library can read the protocols of an array in another order than the library's
``from_dlpack``: ``torch.asarray`` reads the buffer protocol, and takes every buffer for a flat one
of float32. So a function is given an array of its own library, which ``from_dlpack`` made, or a
NumPy array. `FUNCTIONS` has those that copy, that take something else, or that lose the dtype.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sycl_ext._negotiation.consumer_row import ALL, COMPLEX, NARROW


@dataclass(frozen=True)
class Function:
    """A public function of a library of the table, where it differs from the library."""

    name: str  # "package.module:function"
    limits: Mapping[str, Any] = field(default_factory=dict)  # the fields of `Consumer` that differ
    takes: Literal["own array", "NumPy array", "producer"] | None = None  # None: as all functions


COPIES: dict[str, Any] = {"copies": ALL}
ONE_DIM: dict[str, Any] = {"ndims": range(1, 2)}
C_ORDER: dict[str, Any] = {"ndims": range(1, 65), "keeps": "C"}
F_ORDER: dict[str, Any] = {"ndims": range(1, 65), "keeps": "F"}


def _reads_bytes(function: str, instead: str) -> Function:
    return Function(function, {"instead": instead})


#: All conversion functions of these libraries were tried (``tests/support/conversions.py``).
FUNCTIONS: tuple[Function, ...] = (
    Function("numpy:array", COPIES),
    Function("numpy:copy", COPIES),
    Function("numpy:ascontiguousarray", C_ORDER),
    Function("numpy:asfortranarray", F_ORDER),
    _reads_bytes("numpy:frombuffer", "numpy.asarray"),
    Function("torch:tensor", COPIES, takes="producer"),  # it warns about a tensor of torch
    Function("torch:from_numpy", {"lacks": NARROW}, takes="NumPy array"),
    _reads_bytes("torch:frombuffer", "torch.asarray"),
    Function("jax.numpy:array", COPIES),
    Function("jax.numpy:copy", COPIES),
    _reads_bytes("jax.numpy:frombuffer", "jax.numpy.asarray"),
    Function("dpnp:array", COPIES),
    Function("dpnp:copy", COPIES),
    Function("dpnp:ascontiguousarray", C_ORDER),
    Function("dpnp:asfortranarray", F_ORDER),
    _reads_bytes("dpnp:frombuffer", "dpnp.asarray"),
    Function("dpnp.tensor:from_numpy", COPIES, takes="NumPy array"),
    Function(
        "pyarrow:array",
        {**ONE_DIM, "keeps": "C", "copies": ("bool",), "lacks": (*COMPLEX, *NARROW)},
    ),
    Function("pyarrow:Tensor", takes="own array"),
    Function("pandas:Series", {**ONE_DIM, **COPIES}),
    Function("pandas:Index", {**ONE_DIM, **COPIES, "lacks": ("float16", *NARROW)}),
    Function("pandas:array", {**ONE_DIM, **COPIES}),
    Function("pandas:DataFrame", {"ndims": range(2, 3), **COPIES}),
    Function("polars:Series", {"ndims": range(1, 65), "copies": ("bool",)}),
    Function("polars:DataFrame", {"ndims": range(2, 3), **COPIES}),
    Function("sycl_ext:host_view", {"memory": "host"}),
    Function("sycl_ext:staged", {"memory": "any"}),
)
