# SPDX-License-Identifier: Apache-2.0
"""``sycl-ext-hardware``: which promises of sycl_ext hold on a device, as a report.

- ``__main__``: the command line; ``machine``: the facts of the doctor of sycl_ext
- ``table``: the parts of the report, each with its question; ``report`` examines a device by them
- ``processes``: the process of a part, and its rows when it crashes or hangs; ``child`` runs there
- ``parts``: a module for each part, which yields the rows
- ``setup``: the device, its queues and its memory; ``late`` and ``kernel``: work that stays pending
- ``samples``: the results of a row; ``scenes``: processes that a row starts
- ``page``: the page, a pure function of the JSON
"""

__version__ = "0.1.0"
