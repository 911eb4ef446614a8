# SPDX-License-Identifier: Apache-2.0
"""Tests that fail in an environment, and why: each has to fail there until the table is mended."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KnownFailure:
    environments: tuple[str, ...]
    tests: str  #: the beginning of their names
    reason: str
    run: bool = True  #: False: it would hang


KNOWN_FAILURES: tuple[KnownFailure, ...] = ()


def known_failure(environment: str, test: str) -> KnownFailure | None:
    """The entry for a test, or None."""
    for entry in KNOWN_FAILURES:
        if environment in entry.environments and test.startswith(entry.tests):
            return entry
    return None
