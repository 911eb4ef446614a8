# SPDX-License-Identifier: Apache-2.0
"""The facts of an array that a decision of `exchange` depends on. Pure Python."""

from collections.abc import Sequence
from typing import NamedTuple

from sycl_ext._negotiation.kinds import USM_TYPES


class ArrayFacts(NamedTuple):
    """The facts of an array that a decision may use; the core keeps a decision for each set."""

    on_host: bool  # whether it is offered as host memory
    host_reachable: bool  # whether the host may read it
    readonly: bool
    reversed: bool  # whether a stride is negative
    c_contiguous: bool
    f_contiguous: bool
    empty: bool  # whether it has no elements
    own_queue: bool  # whether it has a queue other than that of its device
    usm_type: str
    dtype: str
    ndim: int
    alignment: int  # the power of two that divides its address, at most `MAX_ALIGNMENT`
    entry: int | None  # the entry that its memory is bound to; None: no entry


#: The bits of each field, the lowest first (``array_facts`` in ``src/python/decisions.cpp``).
_WIDTHS = (1, 1, 1, 1, 1, 1, 1, 1, 2, 6, 7, 4, 17)


def read_facts(bits: int, dtypes: Sequence[str]) -> ArrayFacts:
    """Return the facts in a number of the core; `dtypes` are the names in the dtype table.

    Examples
    --------
    >>> facts = read_facts(0b110 | 1 << 8 | 2 << 16, ["bool"])
    >>> facts.host_reachable, facts.readonly, facts.usm_type, facts.ndim, facts.entry
    (True, True, 'shared', 2, None)
    """
    fields = []
    for width in _WIDTHS:
        fields.append(bits & (1 << width) - 1)
        bits >>= width
    *flags, kind, dtype, ndim, alignment, entry = fields
    place = entry - 1 if entry else None
    rest = (USM_TYPES[kind], dtypes[dtype], ndim, 1 << alignment, place)
    return ArrayFacts._make((*map(bool, flags), *rest))
