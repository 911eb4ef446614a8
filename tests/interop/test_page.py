# SPDX-License-Identifier: Apache-2.0
"""``docs/develop/consumer_matrix.md`` has the results; SYCL_EXT_WRITE_MATRIX=1 writes it again."""

import os

import pytest

import matrix_page
from processes import ROOT

PAGE = ROOT / "docs" / "develop" / "consumer_matrix.md"


@pytest.mark.timeout(900)
def test_page():
    page = matrix_page.write()
    if os.environ.get("SYCL_EXT_WRITE_MATRIX") == "1":
        PAGE.write_text(page)
    assert PAGE.read_text() == page
