# SPDX-License-Identifier: Apache-2.0
"""Documents name every variable, and no command needs an index that lacks this package."""

import re
import runpy

from repository import ROOT, files, tool

VARIABLE = re.compile(r"(?<!DPCTL)\bSYCL_EXT_(?!ONEAPI)[A-Z0-9_]*[A-Z0-9]")


def test_the_page_of_environment_variables_is_complete():
    """Every SYCL_EXT_* of the repository, except macros of one file and extensions of SYCL."""
    page = (ROOT / "docs" / "environment_variables.md").read_text()
    macros = {"SYCL_EXT_DECLARE", "SYCL_EXT_HOOKS", "SYCL_EXT_TAKE"}
    used = set()
    for path in files():
        if path.suffix not in (".md", ".png") and "corpus" not in path.parts:
            used |= set(VARIABLE.findall(path.read_text()))
    assert len(used) > 15
    assert used - macros == set(VARIABLE.findall(page))


#: pip would look for the package on an index, where anybody could take the name.
ON_AN_INDEX = re.compile(r"pip install (?:[^\n`&;]*[\s\"'])?sycl_ext(?:\[\w+\])?(?!\w| @|/|\[)")


def test_no_command_wants_the_package_from_an_index():
    assert ON_AN_INDEX.search('pip install "sycl_ext[cpu]" dpnp')
    assert ON_AN_INDEX.search("pip install dpnp sycl_ext")
    assert not ON_AN_INDEX.search('pip install "sycl_ext[cpu] @ git+https://host.example/x" dpnp')
    texts = [path for path in files() if path.suffix in (".md", ".py", ".yml", ".yaml", ".rst")]
    found = {path.name for path in texts if ON_AN_INDEX.search(path.read_text())}
    assert found <= {"test_documents.py"}


def test_the_readme_has_the_address_of_the_repository():
    assert tool("generated").clone() in (ROOT / "README.md").read_text(), "make generate"


def test_each_program_of_a_report_has_an_expected_result():
    """The results are compared by `make test-interop`; a new report fails here, without it."""
    reports = runpy.run_path(str(ROOT / "tests" / "interop" / "reports.py"))
    pages = [page.stem for page in reports["REPORTS"].glob("*.md") if page.stem != "index"]
    found = {page: len(reports["programs"](page)) for page in pages}
    assert found == {report: len(seen) for report, seen in reports["SEEN"].items()}
