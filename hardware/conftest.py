# SPDX-License-Identifier: Apache-2.0
"""These tests have the setup of those of the package (``tests/support``)."""

from every_test import (  # noqa: F401
    nothing_leaks,
    pytest_fixture_post_finalizer,
    pytest_runtest_makereport,
    usm_type,
)
