# SPDX-License-Identifier: Apache-2.0
"""The cases: small named functions, each with the clause of a specification that it tests.

`must_producer.py` and `must_consumer.py` have what a specification demands, `should.py` what it
recommends and what other libraries rely on, `robust.py` input from which a library may expect
nothing, and has to survive.
"""

from __future__ import annotations

from dlpack_conformance.cases import must_consumer, must_producer, registry, robust, should
from dlpack_conformance.cases.registry import Case, Clause

#: id -> case, in the order in which they run: what may damage a process comes last
CASES: dict[str, Case] = {
    case.id: case
    for level in ("must", "should", "robust")
    for side in ("producer", "consumer")
    for case in registry.CASES.values()
    if (case.level, case.side) == (level, side)
}

__all__ = ["CASES", "Case", "Clause", "must_consumer", "must_producer", "robust", "should"]
