# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_ext_pytest cpu|gpu`` prints the variables, for programs that are not pytest."""

import signal
import sys

from sycl_ext_pytest.devices import variables

if __name__ == "__main__":
    if sys.argv[1:] not in (["cpu"], ["gpu"]):
        sys.exit("usage: python -m sycl_ext_pytest cpu|gpu")
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has ended ends it
    for name, value in variables(sys.argv[1]).items():  # type: ignore[arg-type]
        print(f"{name}={value}")
