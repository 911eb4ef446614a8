# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_ext_pytest cpu|gpu`` prints the variables, for programs that are not pytest."""

import signal
import sys

from sycl_ext_pytest.devices import variables

if __name__ == "__main__":
    if sys.argv[1:] not in (["cpu"], ["gpu"]):
        sys.exit("usage: python -m sycl_ext_pytest cpu|gpu")
    signal.signal(
        signal.SIGPIPE, signal.SIG_DFL
    )  # a closed pipe, such as that of `head`, ends this process
    try:
        selection = variables(sys.argv[1])  # type: ignore[arg-type]
    except FileNotFoundError as error:
        sys.exit(f"python -m sycl_ext_pytest {sys.argv[1]}: {error}")
    for name, value in selection.items():
        print(f"{name}={value}")
