# SPDX-License-Identifier: Apache-2.0
"""Tables of scikit-learn-intelex."""

from onedal import datatypes

from dlpack_conformance import Adapter, Known
from dlpack_conformance.known import (
    COMPACT,
    DAEMON,
    LEGACY,
    NULL_DATA,
    NULL_SHAPE,
    OFFSET,
    SUB_INTERPRETER,
    UNKNOWN_DEVICE,
)

adapter = Adapter(
    "scikit-learn-intelex",
    take=datatypes.to_table,
    host=datatypes.from_table,
    modules=("onedal",),
    known=(
        Known("consumer-null_shape", "an array of 0 dimensions ends the process"),
        Known("consumer-no_elements", "an array without elements loses its shape"),
        Known("consumer-dtype_of_0_lanes", "lanes are ignored"),
        *(LEGACY, COMPACT, UNKNOWN_DEVICE, NULL_SHAPE, OFFSET, NULL_DATA, DAEMON),
        SUB_INTERPRETER,
    ),
)
