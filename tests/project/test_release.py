# SPDX-License-Identifier: Apache-2.0
"""A release is what its tag, the package and the changelog agree on."""

import re
import shutil

import pytest

import sycl_ext as sx
from repository import ROOT, tool


def test_version_and_changelog_have_their_form():
    """Where the version is read is where it stands, and the changelog has its form."""
    line = f'__version__ = "{sx.__version__}"'
    assert line in (ROOT / "sycl_ext" / "__init__.py").read_text().splitlines()
    heads = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heads[0] == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d", head) for head in heads[1:])


# ---- the distributions --------------------------------------------------------------------------

#: Name of an extra -> the folder and the package of its distribution.
EXTRAS = {
    package.removeprefix("sycl_ext_"): (folder, package)
    for folder, package in tool("release").PURE.items()
    if package.startswith("sycl_ext_")
}


def test_environment_of_make_setup_has_what_the_builds_require():
    """There the builds are not isolated, so that they compile only what has changed."""
    project = tool("generated").project
    required = set(project()["build-system"]["requires"])
    for folder in tool("release").PURE:
        text = (ROOT / folder / "pyproject.toml").read_text()
        required |= set(re.findall(r'^requires = \["(.*)"\]$', text, re.MULTILINE))
    assert "hatchling>=1.27" in required
    assert required <= set(project()["dependency-groups"]["build"])


@pytest.fixture
def release():
    return tool("release")


@pytest.fixture
def copy(release, tmp_path):
    """The files that a release changes, apart from this checkout."""
    others = ("CHANGELOG.md", "CITATION.cff", "conda-recipe/recipe.yaml", ".github/CODEOWNERS")
    for name in (*release.PACKAGES, *release.RANGES, *others):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_first_release_has_the_version_that_the_files_have(release, copy):
    release.bump(copy, sx.__version__, "2030-01-31")
    assert release.complaints(copy, sx.__version__, None) == []


def test_next_version_is_written_into_every_file(release, copy):
    release.bump(copy, "7.8.9", "2030-01-31")
    wrong = release.complaints(copy, "7.8.9", None)
    assert wrong == ["conda-recipe/recipe.yaml does not have 7.8.9: make generate"]
    assert '"sycl-ext-dask>=7.8,<7.9"' in (copy / "pyproject.toml").read_text()
    assert '"sycl-ext>=7.8,<7.9"' in (copy / "integrations/ray/pyproject.toml").read_text()
    assert "date-released: 2030-01-31\n" in (copy / "CITATION.cff").read_text()
    assert "### Added" in release.section(copy, "7.8.9")


def test_release_with_another_tag_or_a_placeholder_is_refused(release, copy):
    wrong = "\n".join(release.complaints(copy, "7.8.9", "https://host.example/owner/name"))
    for name in (*release.PACKAGES, "CHANGELOG.md", "CITATION.cff", "recipe.yaml", "CODEOWNERS"):
        assert name in wrong
    assert "https://host.example/owner/name" in wrong


@pytest.mark.parametrize("name", EXTRAS)
def test_distribution_has_the_version_of_the_package(name):
    """And it takes each version of the package with the same second number, as the extra does."""
    folder, package = EXTRAS[name]
    text = (ROOT / folder / package / "__init__.py").read_text()
    assert f'\n__version__ = "{sx.__version__}"\n' in text
    first, second = sx.__version__.split(".")[:2]
    versions = f">={first}.{second},<{first}.{int(second) + 1}"
    project = tool("generated").project()["project"]
    assert project["optional-dependencies"][name] == [f"sycl-ext-{name}{versions}"]
    text = (ROOT / folder / "pyproject.toml").read_text()
    assert f'  "sycl-ext{versions}",\n' in text


# ---- the page on a package index -----------------------------------------------------------------


@pytest.fixture(scope="module")
def absolute():
    return tool("absolute_links").absolute


WHERE = "https://host.example/owner/name"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[a](docs/a.md#part)", f"[a]({WHERE}/blob/v1/docs/a.md#part)"),
        ("![a](docs/a.png)", f"![a]({WHERE}/raw/v1/docs/a.png)"),
        ('<img src="docs/a.svg">', f'<img src="{WHERE}/raw/v1/docs/a.svg">'),
        ("[a](https://else.example/a.png)", "[a](https://else.example/a.png)"),
        ("[a](#part)", "[a](#part)"),
    ],
)
def test_link_becomes_absolute(absolute, before, after):
    assert absolute(before, WHERE, "v1") == after


def test_readme_of_a_release_has_no_relative_link(absolute):
    """And its code and prose are what they were."""
    text = (ROOT / "README.md").read_text()
    page = absolute(text, WHERE, "v1")
    targets = re.findall(r'\]\(([^)#]+)|\b(?:src|srcset|href)="([^"#]+)', page)
    assert len(targets) > 10
    assert all(target.startswith("https://") for pair in targets for target in pair if target)
    assert page.replace(f"{WHERE}/blob/v1/", "").replace(f"{WHERE}/raw/v1/", "") == text


#: What these pages say until something is released.
UNRELEASED = {
    "README.md": "There is no release on a package index yet.",
    "docs/stability.md": "There has been no release yet",
    "CHANGELOG.md": "Nothing has been released yet.",
}


def test_pages_agree_whether_something_was_released():
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {sx.__version__}\n" in citation
    dates = re.findall(r"^date-released: (.*)$", citation, re.MULTILINE)
    changelog = (ROOT / "CHANGELOG.md").read_text()
    released = re.findall(r"^## (\d.*)$", changelog, re.MULTILINE)
    assert released[:1] == [f"{sx.__version__} - {date}" for date in dates]
    for page, words in UNRELEASED.items():
        assert (words in (ROOT / page).read_text()) == (not released), page
