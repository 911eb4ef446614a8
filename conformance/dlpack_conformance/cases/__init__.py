# SPDX-License-Identifier: Apache-2.0
"""The cases: small named functions, each with the clause of a specification that it tests.

`must_producer.py`, `must_table.py` (its C exchange table) and `must_consumer.py` test requirements
of a specification, `should.py` tests recommendations and the assumptions of other libraries, and
`robust.py` tests bad input, which a library has to survive.
"""

from __future__ import annotations

from dlpack_conformance.cases import (
    must_consumer,
    must_producer,
    must_table,
    registry,
    robust,
    should,
)
from dlpack_conformance.cases.registry import Case, Clause

#: id -> case, in the order in which they run: cases that may damage a process come last
CASES: dict[str, Case] = {
    case.id: case
    for level in ("must", "should", "robust")
    for side in ("producer", "consumer")
    for case in registry.CASES.values()
    if (case.level, case.side) == (level, side)
}

__all__ = [
    "CASES",
    "Case",
    "Clause",
    "must_consumer",
    "must_producer",
    "must_table",
    "robust",
    "should",
]
