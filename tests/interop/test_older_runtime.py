# SPDX-License-Identifier: Apache-2.0
"""The tests of `test_two_runtimes` with a real older runtime: libsycl.so.8 of intel-sycl-rt 2025.

On the CPU device.  On the stand-in Level Zero driver 2025.3.3 does not live with 2026.2: its first
queue finds no device (adapter v1), or ends the process (v2).
"""

import pytest

from install import OLDER_RUNTIME, ROOT
from test_two_runtimes import (  # noqa: F401
    run,
    test_first_use_warns_of_two_runtimes,
    test_producer_of_the_other_runtime_is_never_handed_our_queue,
    test_producers_of_ours_keep_their_queues,
    test_queue_of_the_other_runtime_is_refused_by_name,
)
from two_runtimes.build import producer

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    prefix = ROOT / OLDER_RUNTIME
    library = prefix / "lib" / "libsycl.so.8"
    assert library.exists(), f"{OLDER_RUNTIME} is not there; tests/interop/install.py makes it"
    folder = tmp_path_factory.mktemp("older_runtime")
    return library, producer(folder, prefix / "lib", prefix / "include")
