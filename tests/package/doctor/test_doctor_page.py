# SPDX-License-Identifier: Apache-2.0
"""The documents have the errors of the doctor, and the fields of its report."""

from dataclasses import fields, is_dataclass

import pytest

import environments
from doctor_facts import BROKEN, EMPTY, NO_LIBSYCL, ROOT, well
from sycl_ext._doctor import machine
from sycl_ext._doctor.finding import Finding
from sycl_ext._setup import startup


@pytest.mark.parametrize("error", ["no device", "no libsycl"])
def test_errors_page_quotes_the_messages(error):
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


def test_report_fields_are_documented():
    """The fields are what programs rely on: new ones are described, none goes away unseen."""
    text = (ROOT / "docs" / "doctor.md").read_text()
    own = (value for value in vars(machine).values() if is_dataclass(value))
    records = [Finding, *(value for value in own if value.__module__ == machine.__name__)]
    names = {field.name for record in records for field in fields(record)}
    ids = (row[1] for row in BROKEN.values())
    for name in (*well().facts(), *names, *ids):
        assert f"`{name}`" in text, name
