# SPDX-License-Identifier: Apache-2.0
"""The documents say what the doctor says: its errors, and the fields of its report."""

from dataclasses import fields

import pytest

import environments
from doctor_facts import BROKEN, EMPTY, NO_LIBSYCL, ROOT
from sycl_ext._doctor.facts import (
    DeviceFacts,
    Driver,
    Facts,
    Finding,
    Gpu,
    Library,
    Measurement,
    Missing,
    Node,
    Step,
    User,
)
from sycl_ext._setup import startup


@pytest.mark.parametrize("error", ["no device", "no libsycl"])
def test_the_errors_page_quotes_what_is_said(error):
    """Its other messages are examples that run."""
    if error == "no device":
        said = environments.python(
            "import sycl_ext as sx\ntry: sx.device()\nexcept sx.SyclError as error: print(error)",
            {"SYCL_EXT_NO_ICD": "1", "OCL_ICD_VENDORS": EMPTY},
        )
    else:
        said = startup.remedy(ImportError(NO_LIBSYCL.removeprefix("ImportError: ")))
    page = " ".join((ROOT / "docs" / "errors.md").read_text().split())
    assert " ".join(said.split()) in page


def test_the_report_is_documented():
    """The fields are what programs rely on: new ones are described, none goes away unseen."""
    text = (ROOT / "docs" / "doctor.md").read_text()
    for record in (
        Facts,
        Finding,
        DeviceFacts,
        Driver,
        Gpu,
        Library,
        Measurement,
        Missing,
        Node,
        Step,
        User,
    ):
        for field in fields(record):
            assert f"`{field.name}`" in text, f"{record.__name__}.{field.name}"
    ids = {row[1] for row in BROKEN.values()}
    for name in ids:
        assert f"`{name}`" in text, name
