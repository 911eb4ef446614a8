# SPDX-License-Identifier: Apache-2.0
"""The generated parts of the documents: the functions that their cog blocks name.

``make generate`` runs them; cog (https://cog.readthedocs.io) puts the results between ``[[[cog
...]]]`` and ``[[[end]]]``. tests/programs/test_docs.py compares them.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # mypy brings it

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = "build/demo"

sys.path.insert(0, str(ROOT / "tools"))

from release import PURE  # noqa: E402


def table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table in Markdown."""
    heads = list(heads)
    lines = [" | ".join(heads), *(" | ".join(map(str, row)) for row in rows)]
    head, *body = (f"| {line.lstrip()} |\n" for line in lines)
    return head + "|" + "---|" * len(heads) + "\n" + "".join(body)


# ---- README.md -----------------------------------------------------------------------------------


def demo() -> str:
    """Return the output of ``make demo``, without the name of the device.

    Addresses and times differ in each run. The block in README stays if nothing else does.
    """
    command = [sys.executable, "-m", "sycl_ext", "demo", "--output", OUTPUT]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    output = re.sub(r"^(device \d+:) .* (\(.*\))$", r"\1 your CPU \2", done.stdout, flags=re.M)
    block = f"```text\n$ make demo\n{output}```\n"
    blocks = re.findall(r"^```text\n.*?^```\n", (ROOT / "README.md").read_text(), re.M | re.S)
    return next((old for old in blocks if _without_chance(old) == _without_chance(block)), block)


def _without_chance(output: str) -> str:
    return re.sub(r" +[\d.]+ ms|0x[0-9a-f]+", "", output)


def repository() -> str:
    """Return the address of the repository."""
    return project()["project"]["urls"]["Repository"]


#: Behind the address while it is none.
PLACEHOLDER = "# a placeholder: the repository is not public yet"


def clone() -> str:
    """Return how a checkout is made and installed with the CPU device."""
    placeholder = f"  {PLACEHOLDER}" if ".example/" in repository() else ""
    return f"""```console
$ git clone {repository()}{placeholder}
$ pip install "./sycl_ext[cpu]" dpnp
```
"""


def ci() -> str:
    """Return the command of a project that tests with dpnp."""
    placeholder = f"{PLACEHOLDER}\n" if ".example/" in repository() else ""
    return f"""```console
{placeholder}$ pip install "sycl_ext[cpu] @ git+{repository()}" dpnp pytest
$ pytest -p sycl_ext
```
"""


def workflow() -> str:
    """Return steps of a workflow, by the action and by hand."""
    name = repository().partition("://")[2].partition("/")[2]
    return f"""```yaml
      - uses: {name if "/" in name else "OWNER/" + name}/.github/actions/sycl-device@main
        with:
          device: gpu
      - run: pip install dpnp scikit-learn && pytest
```

By hand:

```yaml
jobs:
  dpnp:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v7
      - uses: actions/setup-python@v7
        with:
          python-version: "3.13"
      - run: pip install "sycl_ext[cpu] @ git+{repository()}" dpnp scikit-learn pytest
      - run: pytest -p sycl_ext
        env:
          SCIPY_ARRAY_API: "1"
```
"""


# ---- docs/develop/design.md ----------------------------------------------------------------------


def arrows() -> str:
    """Return the folders of the package, and the folders that each imports."""
    sys.path.append(str(ROOT / "tests" / "project"))
    from test_architecture import PYTHON_ARROWS

    return table(
        ("`sycl_ext/`", "imports"),
        (
            (f"`{name}`", ", ".join(f"`{target}`" for target in to))
            for name, to in PYTHON_ARROWS.items()
        ),
    )


def import_steps(first: int = 8) -> str:
    """Return the steps of an import in Python, by the first lines of their docstrings."""
    tree = ast.parse((ROOT / "sycl_ext" / "_protocols" / "imports.py").read_text())
    lines, names = {}, []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            lines[node.name] = (ast.get_docstring(node) or "").partition("\n")[0]
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.target).endswith("_STEPS"):
            names += re.findall(r"\w+", ast.unparse(node.value))
    return "".join(f"{n}. `{name}`: {lines[name]}\n" for n, name in enumerate(names, first))


# ---- docs/exchange.md ----------------------------------------------------------------------------


def rules() -> str:
    """Return the rules of the exchange."""
    from sycl_ext._negotiation.rules import RULES

    return table(
        ("", "`copy=None`", "`copy=False`", "`copy=True`"),
        (
            (relation.value, *(route.value for route in routes))
            for relation, routes in RULES.items()
        ),
    )


def consumers() -> str:
    """Return the known limitations of consumers."""
    from sycl_ext._negotiation.consumers import CONSUMERS

    memory = {"any": "USM and host memory", "usm": "USM", "host": "host memory"}
    return table(
        ("consumer", "takes", "read-only memory", "strides", "why"),
        (
            (
                row.package if row.since is None else f"{row.package} >= {row.since}",
                memory[row.memory] + ("" if row.takes == "producer" else f", as a {row.takes}"),
                *(row.readonly, row.strides, row.reason),
            )
            for row in CONSUMERS
            if row.importer
        ),
    )


# ---- docs/conformance.md, docs/your_library.md ---------------------------------------------------


def source(path: str) -> str:
    """Return the code of a Python file, without its license and its docstring."""
    code = (ROOT / path).read_text().partition('"""\n\n')[2]
    return f"```python\n{code}```\n"


# ---- conda-recipe/recipe.yaml --------------------------------------------------------------------


def project() -> dict[str, Any]:
    """Return pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def name_of(requirement: str) -> str:
    """Return "numpy" for "numpy>=1.26"."""
    return re.split(r"[<>=!~ ]", requirement, maxsplit=1)[0]


def _spec(requirement: str) -> str:
    """Return the line of a recipe, without a marker: the package is built where dpctl is."""
    name = name_of(requirement)
    versions, *_marker = requirement.removeprefix(name).split(";")
    return f"        - {name} {versions}\n"


def context() -> str:
    """Return the description of the package, with its version."""
    text = (ROOT / "sycl_ext" / "__init__.py").read_text()
    version = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)[1]
    return f'  version: "{version}"\n  summary: {project()["project"]["description"]}\n'


def host() -> str:
    """Return the requirements of the build."""
    return "".join(map(_spec, project()["build-system"]["requires"]))


#: Distribution -> its package in conda-forge, where the names differ.
CONDA_NAMES = {"sycl-ext": "sycl_ext", "ray": "ray-core"}
PIP = "${{ PYTHON }} -m pip install"


def outputs() -> str:
    """Return the packages of the other distributions, with their requirements."""
    return "\n".join(map(output, PURE))


def output(folder: str) -> str:
    """Return the package of a distribution without an extension module."""
    about = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())
    python = f"python {about['project']['requires-python']}"
    host = [python, "pip", *map(conda_spec, about["build-system"]["requires"])]
    run = [python, *map(conda_spec, about["project"]["dependencies"])]
    (package,) = (path.parent.name for path in (ROOT / folder).glob("*_*/__init__.py"))
    lines = [
        *("  - package:", f"      name: {about['project']['name']}"),
        *("    build:", "      number: 0", "      noarch: python"),
        f"      script: {PIP} ./{folder} -vv --no-deps --no-build-isolation",
        *("    requirements:", "      host:", *(f"        - {spec}" for spec in host)),
        *("      run:", *(f"        - {spec}" for spec in run)),
        *("    tests:", "      - package_contents:", "          site_packages:"),
        f"            - {package}",
        *("    about:", f'      summary: "{about["project"]["description"]}"'),
        *("      license: Apache-2.0", "      license_file: LICENSE"),
    ]
    return "\n".join(lines) + "\n"


def conda_spec(requirement: str) -> str:
    """Return "numpy >=1.26" for "numpy>=1.26", under the name that conda-forge has."""
    name = name_of(requirement)
    return f"{CONDA_NAMES.get(name, name)} {requirement.removeprefix(name)}".strip()


def run() -> str:
    """Return the requirements of the package; libraries of the build keep the same year."""
    built_with = {name_of(requirement) for requirement in project()["build-system"]["requires"]}
    pin = '        - ${{{{ pin_compatible("{}", lower_bound="x.x", upper_bound="x") }}}}\n'
    return "".join(
        pin.format(name_of(requirement))
        if name_of(requirement) in built_with
        else _spec(requirement)
        for requirement in project()["project"]["dependencies"]
    )
