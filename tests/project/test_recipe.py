# SPDX-License-Identifier: Apache-2.0
"""The conda recipe renders, and agrees with what pip is told (``make conda`` builds it)."""

import pytest

import sycl_ext as sx
from repository import ROOT, tool

rattler_build = pytest.importorskip("rattler_build")


@pytest.fixture(scope="module")
def recipe():
    return tool("conda_package")


@pytest.fixture(scope="module")
def project():
    return tool("generated").project()


def test_recipe_builds_for_the_pythons_of_the_wheels(recipe, project):
    versions = [
        python.partition(".*")[0] for python in map(recipe.python_of, recipe.render()) if python
    ]
    wheels = [build.removeprefix("cp3").removesuffix("-*") for build in builds_with_dpctl(project)]
    assert versions == [f"3.{minor}" for minor in wheels]
    assert project["project"]["requires-python"] == f">={versions[0]}"


def builds_with_dpctl(project):
    """A conda package needs one of dpctl; the wheels for newer Pythons do without it."""
    wheels = project["tool"]["cibuildwheel"]
    without = {override["select"] for override in wheels["overrides"]}
    return [build for build in wheels["build"] if build not in without]


def test_recipe_needs_what_pip_needs(recipe, project):
    """Besides Python and the tools of conda's own; the versions are generated (test_docs)."""
    names = tool("generated").name_of
    required = {
        section: {requirement.split()[0] for requirement in what}
        for section, what in needs(recipe).items()
    }
    assert required["host"] == {"python", "pip", *map(names, project["build-system"]["requires"])}
    assert required["run"] == {"python", *map(names, project["project"]["dependencies"])}
    assert required["build"] == {"gxx_linux-64", "sysroot_linux-64", "cmake", "ninja"}


def needs(recipe):
    return recipe.needs(packages(recipe)["sycl_ext"])


def packages(recipe):
    return {variant.recipe.package.name: variant for variant in recipe.render()}


def test_each_distribution_has_a_package_of_its_version(recipe):
    variants = packages(recipe)
    others = {package.replace("_", "-") for package in tool("release").PURE.values()}
    assert set(variants) == {"sycl_ext", *others}
    assert {str(variant.recipe.package.version) for variant in variants.values()} == {
        sx.__version__
    }
    for name in others - {"dlpack-conformance"}:
        assert any(need.startswith("sycl_ext >=") for need in recipe.needs(variants[name])["run"])


def test_recipe_is_shown_as_rendered(recipe):
    assert (
        recipe.described(packages(recipe)["sycl_ext"])
        .splitlines()[-1]
        .startswith("  run: python, ")
    )


@pytest.mark.parametrize(
    ("before", "after"), [(" requirements:\n", " requirement:\n"), (" number:", " numbr:")]
)
def test_unknown_recipe_field_is_an_error(recipe, tmp_path, before, after):
    text = (ROOT / "conda-recipe" / "recipe.yaml").read_text()
    assert before in text
    (tmp_path / "recipe.yaml").write_text(text.replace(before, after))
    with pytest.raises(rattler_build.RattlerBuildError, match="unknown"):
        rattler_build.Stage0Recipe.from_file(str(tmp_path / "recipe.yaml"))
