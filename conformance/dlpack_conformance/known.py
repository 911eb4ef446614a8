# SPDX-License-Identifier: Apache-2.0
"""Known defects of a library, as data of its adapter, and defects that several libraries share."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

__all__ = ["Known"]

LEVELS = ("must-", "should-", "robust-")
#: A case as pytest prints it: the file, the function and the library before the id.
PRINTED = re.compile(rf"^(?:.*\[)?[^\[\]]*-((?:{'|'.join(LEVELS)})[^\[\]]*)\]?$")


def _name(case: str) -> str:
    """Return an id without its group."""
    return case.partition("-")[2]


def _matches(pattern: str, case: str, memory: str) -> bool:
    return any(fnmatchcase(id_, pattern) for id_ in (_name(case), case, f"{case}-{memory}"))


@dataclass(frozen=True)
class Known:
    """Cases that a library fails. They must fail, so that a version that fixes one is noticed.

    Parameters
    ----------
    cases : str
        Ids, separated by spaces, with or without their group: "consumer-good_struct" or
        "must-consumer-good_struct". Wildcards are allowed. The name that pytest prints is also
        taken. Each must match a case of the kit.
    reason : str
        The defect.
    issue : str, optional
        Link to the report.
    versions : str, optional
        The affected versions of the library, as a specifier of pip.
    memory : {"*", "host", "own"}, optional
        Place of the elements of hand-made structs.
    sometimes : bool, optional
        Whether a case may also pass, as with a race.
    """

    cases: str
    reason: str
    issue: str = ""
    versions: str = ""
    memory: str = "*"
    sometimes: bool = False

    @property
    def patterns(self) -> list[str]:
        """Return the ids, without what pytest prints before them."""
        return [PRINTED.sub(r"\1", pattern) for pattern in self.cases.split()]

    def covers(self, case: str, memory: str) -> bool:
        """Return whether it matches a case."""
        return self.memory in ("*", memory) and any(
            _matches(pattern, case, memory) for pattern in self.patterns
        )

    def check(self, cases: Collection[str]) -> None:
        """Raise ValueError for a pattern that matches no case of the kit, in any memory."""
        for pattern in self.patterns:
            if any(_matches(pattern, case, at) for case in cases for at in ("host", "own")):
                continue
            ids = cases if pattern.startswith(LEVELS) else map(_name, cases)
            near = ", ".join(get_close_matches(pattern, list(ids), cutoff=0))
            raise ValueError(f"Adapter.known: {pattern} matches no case; near are {near}")

    def in_version(self, version: str) -> Known | None:
        """Return the entries for a version; a build from source may have any version."""
        if not self.versions:
            return self
        try:
            return self if SpecifierSet(self.versions).contains(Version(version), True) else None
        except InvalidVersion:
            return replace(self, sometimes=True)


#: A daemon thread is unwound at the exit, through the library's C++ code, which ends the process.
DAEMON = Known(
    "consumer-daemon_at_the_exit" if sys.version_info < (3, 14) else "",
    "CPython before 3.14 unwinds the stack of a daemon thread at the exit",
    "https://github.com/python/cpython/issues/87135",
    sometimes=True,
)
SUB_INTERPRETER = Known(
    "consumer-imported_in_a_sub_interpreter",
    "its import in a sub-interpreter ends the process, or hangs",
)
UNKNOWN_DEVICE = Known(
    "consumer-unsupported_device_is_a_buffer_error",
    "an exception other than BufferError for an unknown device",
)
LEGACY = Known(
    "consumer-asks_for_version_1 consumer-readonly_is_taken",
    "it asks for the struct of DLPack 0.x, which has no read-only flag",
)
STREAMS = Known(
    "producer-stream_is_* producer-stream_on_the_host_is_refused "
    "producer-stream_for_the_host_is_none",
    "stream is ignored",
)
COMPACT = Known(
    "consumer-takes_gaps consumer-takes_negative_strides consumer-takes_zero_strides",
    "compact arrays only",
)
NO_ELEMENTS = Known(
    "producer-no_elements_are_null", "data of an array without elements is not NULL"
)
NULL_SHAPE = Known("consumer-null_shape_of_a_matrix", "a shape that is NULL is read")
NULL_DATA = Known("consumer-null_data", "NULL data is read, or replaced by uninitialised memory")
OFFSET = Known("consumer-offset_overflows", "the end of the memory is not computed")
SHORT_VERSION = Known(
    "producer-max_version_is_short", "only the first part of max_version is checked"
)
NULL_DELETER = Known("consumer-null_deleter", "a deleter that is NULL ends the process")
#: Of libraries that check no field, and pass all fields on.
UNCHECKED = Known(
    "consumer-negative_length consumer-null_shape_of_a_matrix consumer-extent_overflows "
    "consumer-strides_overflow consumer-count_overflows consumer-offset_overflows "
    "consumer-unknown_dtype consumer-float_of_80_bits consumer-dtype_of_0_bits "
    "consumer-dtype_of_0_lanes consumer-float4_as_6_bits consumer-null_data",
    "passes all fields on without a check",
)
#: Of libraries that take arrays through nanobind.
NANOBIND = (
    Known("consumer-other_major_version", "the major version is not looked at (nanobind)"),
    Known(
        "consumer-buffer_error_goes_through consumer-exit_goes_through",
        "an exception of the producer becomes a TypeError (nanobind)",
    ),
    Known("consumer-consumed_capsule", "the capsule of a producer keeps its name (nanobind)"),
    Known("consumer-producer_recurses", "each error is answered with several calls (nanobind)"),
)
