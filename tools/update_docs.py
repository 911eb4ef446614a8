# SPDX-License-Identifier: Apache-2.0
"""Write what is generated in the documents again.

That is the demo's output in README.md with the picture that it draws, the table of the house in
CONTRIBUTING.md, the tables of rules and consumers in docs/exchange.md, the numbers of
docs/seen.json in docs/seen.md, and the versions in conda-recipe/recipe.yaml.

    python tools/update_docs.py
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # mypy brings it

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
EXCHANGE = ROOT / "docs" / "exchange.md"
SEEN = ROOT / "docs" / "seen.md"
RECIPE = ROOT / "conda-recipe" / "recipe.yaml"
PICTURE = ROOT / "docs" / "after.png"
OUTPUT = "build/demo"


# ---- a block between two markers -----------------------------------------------------------------


def markers(path: Path, name: str) -> tuple[str, str]:
    """Return the two lines around a generated block."""
    comment = "# {}\n" if path.suffix == ".yaml" else "<!-- {} -->\n"
    begin, end = f"{name}: written by tools/update_docs.py", f"end of {name}"
    return comment.format(begin), comment.format(end)


def read_block(path: Path, name: str) -> str:
    """Return what stands between the markers."""
    begin, end = markers(path, name)
    return path.read_text().split(begin)[1].split(end)[0]


def write_block(path: Path, name: str, block: str) -> None:
    """Replace what stands between the markers."""
    begin, end = markers(path, name)
    head, rest = path.read_text().split(begin)
    tail = rest.split(end)[1]
    path.write_text(head + begin + block + end + tail)


# ---- the demo ------------------------------------------------------------------------------------


def run_demo() -> str:
    """Return what ``make demo`` shows."""
    command = [sys.executable, "-m", "sycl_ext", "demo", "--output", OUTPUT]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def demo_block(output: str) -> str:
    """Return the output as the README shows it, on nobody's device."""
    output = re.sub(r"^(device \d+:) .* (\(.*\))$", r"\1 your CPU \2", output, flags=re.MULTILINE)
    return f"```text\n$ make demo\n{output}```\n"


def in_shape(block: str) -> str:
    """Take out of a block what differs from run to run; equal addresses stay equal."""
    addresses = list(dict.fromkeys(re.findall(r"0x[0-9a-f]+", block)))
    for number, address in enumerate(addresses):
        block = block.replace(address, f"address-{number}")
    block = re.sub(r"[\d,.]+ ms", "some ms", block)
    return re.sub(r" +", " ", block)


def save_picture() -> None:
    """Keep the drawing that the demo made, in a palette."""
    from PIL import Image

    image = Image.open(ROOT / OUTPUT / "after.png")
    image.quantize(128, dither=Image.Dither.NONE).save(PICTURE, optimize=True)


# ---- the rules of the exchange -------------------------------------------------------------------


def rules_block() -> str:
    """Return the table of the negotiation, from the code."""
    from sycl_ext._negotiation.rules import RULES

    head = "| | `copy=None` | `copy=False` | `copy=True` |\n|---|---|---|---|\n"
    rows = (
        f"| {relation.value} | " + " | ".join(route.value for route in routes) + " |\n"
        for relation, routes in RULES.items()
    )
    return head + "".join(rows)


def consumers_block() -> str:
    """Return the table of consumers, from the code."""
    from sycl_ext._negotiation.consumers import CONSUMERS

    head = "| consumer | takes | read-only memory | strides | why |\n|---|---|---|---|---|\n"
    memory = {"any": "USM and host memory", "usm": "USM", "host": "host memory"}
    rows = (
        f"| {row.package} | {memory[row.memory]}"
        + ("" if row.takes == "producer" else f", as a {row.takes}")
        + f" | {row.readonly} | {row.strides} | {row.reason} |\n"
        for row in CONSUMERS
    )
    return head + "".join(rows)


# ---- the tests of each environment ---------------------------------------------------------------


def seen() -> dict[str, Any]:
    """Return what tools/count_tests.py has counted."""
    result: dict[str, Any] = json.loads(SEEN.with_suffix(".json").read_text())
    return result


def with_numbers(text: str) -> str:
    """Return the page with the number of tests behind each ``<!-- tests: environment -->``."""
    found = seen()

    def number(match: re.Match[str]) -> str:
        return f"{match[0]}{found['environments'][match[1]]['passed']:,}"

    text = re.sub(r"(?<=<!-- date -->)[\w-]+", found["date"], text)
    text = re.sub(r"(<!-- tests: \w+ -->)[\d,]*\d", r"\1", text)
    return re.sub(r"<!-- tests: (\w+) -->", number, text)


def left_out_block() -> str:
    """Return the table of what cannot run where."""
    lines = (
        f"| `{name}` | {tests} | {reason} |\n"
        for name, entry in seen()["environments"].items()
        for reason, tests in entry["left_out"].items()
    )
    return "| environment | left out | because |\n|---|---|---|\n" + "".join(lines)


# ---- the conda recipe ----------------------------------------------------------------------------


def project() -> dict[str, Any]:
    """Return pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def name_of(requirement: str) -> str:
    """Return "numpy" for "numpy>=1.26"."""
    return re.split(r"[<>=!~ ]", requirement, maxsplit=1)[0]


def context_block() -> str:
    """Return what the package is, with its version."""
    text = (ROOT / "sycl_ext" / "__init__.py").read_text()
    version = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)[1]
    return f'  version: "{version}"\n  summary: {project()["project"]["description"]}\n'


def host_block() -> str:
    """Return what the build needs."""
    return "".join(
        f"    - {name_of(one)} {one.removeprefix(name_of(one))}\n"
        for one in project()["build-system"]["requires"]
    )


def run_block() -> str:
    """Return what the package needs; a library it was built with, of the same year or later."""
    built_with = {name_of(one) for one in project()["build-system"]["requires"]}
    pin = '${{{{ pin_compatible("{}", lower_bound="x.x", upper_bound="x") }}}}'
    lines = (
        pin.format(name_of(one))
        if name_of(one) in built_with
        else f"{name_of(one)} {one.removeprefix(name_of(one))}"
        for one in project()["project"]["dependencies"]
    )
    return "".join(f"    - {line}\n" for line in lines)


#: Blocks that depend on the code alone: (document, name, what writes it).
FROM_CODE = [
    (EXCHANGE, "rules", rules_block),
    (EXCHANGE, "consumers", consumers_block),
    (SEEN, "left out", left_out_block),
    (RECIPE, "context", context_block),
    (RECIPE, "host", host_block),
    (RECIPE, "run", run_block),
]


if __name__ == "__main__":
    write_block(README, "demo", demo_block(run_demo()))
    save_picture()
    for document, name, block in FROM_CODE:
        write_block(document, name, block())
    SEEN.write_text(with_numbers(SEEN.read_text()))
