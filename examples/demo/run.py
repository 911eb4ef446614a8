# SPDX-License-Identifier: Apache-2.0
"""The demo, next to any installation of sycl_ext: ``python examples/demo/run.py [--help]``.

``make demo`` sets everything up. Needs ``sycl_ext[cpu]``, dpnp and pillow.
"""

import sys

from sycl_ext._cli import main

if __name__ == "__main__":
    sys.exit(main(["demo", *sys.argv[1:]]))
