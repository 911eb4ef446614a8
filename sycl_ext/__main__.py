# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_ext``."""

import sys

from sycl_ext._cli import main

if __name__ == "__main__":
    sys.exit(main())
