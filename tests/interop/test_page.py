# SPDX-License-Identifier: Apache-2.0
"""``docs/consumer_matrix.md`` has the results; SYCL_EXT_WRITE_MATRIX=1 writes it again."""

import os

import pytest

import matrix_page
import seen
from processes import ROOT

PAGE = ROOT / "docs" / "consumer_matrix.md"


@pytest.mark.timeout(900)
def test_page():
    page = matrix_page.write()
    assert all(
        cases["sycl_ext"]["outcome"] in ("view", "yes") for cases in seen.features().values()
    )
    if os.environ.get("SYCL_EXT_WRITE_MATRIX") == "1":
        PAGE.write_text(page)
    assert PAGE.read_text() == page
