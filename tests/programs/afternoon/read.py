# SPDX-License-Identifier: Apache-2.0
"""Run the examples of pages, as their reader would: ``python read.py PAGE...``."""

import doctest
import re
import sys
from pathlib import Path

for page in map(Path, sys.argv[1:]):
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest("".join(blocks), {}, page.name, str(page), 0)
    assert examples.examples, f"{page} has no examples"
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    if runner.run(examples).failed:
        sys.exit(f"{page} does not do what it says")
