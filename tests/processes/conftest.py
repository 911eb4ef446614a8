# SPDX-License-Identifier: Apache-2.0
"""``make test-processes``: clusters and ranks, which take their time to start."""

import os

if os.environ.get("SYCL_EXT_PROCESSES") != "1":
    collect_ignore_glob = ["test_*.py"]
