# SPDX-License-Identifier: Apache-2.0
"""``make test-interop``: real libraries, each in a process of its own.  README.md says how.

Nothing is skipped here: a library that is missing fails its tests.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

if os.environ.get("SYCL_EXT_INTEROP") != "1":
    collect_ignore_glob = ["test_*.py"]
