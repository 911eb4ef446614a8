# SPDX-License-Identifier: Apache-2.0
"""Documents name every variable, and no command needs an index that lacks this package."""

import ast
import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest

from repository import ROOT, files, tool

VARIABLE = re.compile(r"(?<!DPCTL)\bSYCL_EXT_(?!ONEAPI)[A-Z0-9_]*[A-Z0-9]")


def test_environment_variables_page_is_complete():
    """Every SYCL_EXT_* of the repository, except macros of one file and extensions of SYCL."""
    page = (ROOT / "docs" / "environment_variables.md").read_text()
    macros = {f"SYCL_EXT_{name}" for name in ("DECLARE", "EXCHANGE_HOOKS", "HOOKS", "TAKE")}
    used = set()
    for path in files():
        if path.suffix not in (".md", ".png") and "corpus" not in path.parts:
            used |= set(VARIABLE.findall(path.read_text()))
    assert len(used) > 15
    assert used - macros == set(VARIABLE.findall(page))


#: pip would look for the package on an index, where anybody could take the name.
ON_AN_INDEX = re.compile(
    r"pip install (?:[^\n`&;]*[\s\"'])?"
    r"(?:sycl_ext(?:\[\w+\])?(?!\w| @|/|\[)|sycl-ext-"
    r"|[./\w]*\[[\w,]*(?:dask|hardware|mpi|ray|symmetric|xarray)\b)"
)


def test_commands_do_not_need_the_package_in_an_index():
    assert ON_AN_INDEX.search('pip install "sycl_ext[cpu]" dpnp')
    assert ON_AN_INDEX.search("pip install dpnp sycl_ext")
    assert ON_AN_INDEX.search("pip install sycl-ext-dask")  # and so do the extras that name it
    assert ON_AN_INDEX.search('pip install ".[cpu,dask]"')
    assert not ON_AN_INDEX.search('pip install "sycl_ext[cpu] @ git+https://host.example/x" dpnp')
    texts = [path for path in files() if path.suffix in (".md", ".py", ".yml", ".yaml", ".rst")]
    names = {path.name for path in texts if ON_AN_INDEX.search(path.read_text())}
    assert names <= {"test_documents.py"}


def test_readme_has_the_address_of_the_repository():
    assert tool("generated").clone() in (ROOT / "README.md").read_text(), "make generate"


def test_programs_of_reports_have_expected_results():
    """The results are compared by `make test-interop`; a new report fails here, without it."""
    reports = runpy.run_path(str(ROOT / "tests" / "interop" / "reports.py"))
    pages = [page.stem for page in reports["REPORTS"].glob("*.md") if page.stem != "index"]
    counts = {page: len(reports["programs"](page)) for page in pages}
    assert counts == {report: len(seen) for report, seen in reports["SEEN"].items()}


CONTAINERS = {"dict", "set", "list", "WeakValueDictionary", "WeakKeyDictionary", "WeakSet"}
CONTAINERS |= {"defaultdict", "OrderedDict", "Counter", "deque"}


def called(node):
    """The last name of what a decorator or a call names, without its arguments."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def tables(tree):
    """Yield the names of empty containers of a module or class, and of functions with a cache."""
    for scope in ast.walk(tree):
        if not isinstance(scope, ast.Module | ast.ClassDef):
            continue
        for node in scope.body:
            if isinstance(node, ast.FunctionDef) and node.decorator_list:
                decorators = {called(decorator) for decorator in node.decorator_list}
                assert "cache" not in decorators or not node.args.args, f"{node.name} has no bound"
                if decorators & {"cache", "lru_cache"}:
                    yield node.name
            if not isinstance(node, ast.Assign | ast.AnnAssign):
                continue
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            value, name = node.value, getattr(target, "id", "")
            is_empty = value is not None and ast.unparse(value) in ("{}", "[]")
            is_made = isinstance(value, ast.Call) and called(value) in CONTAINERS and not value.args
            if (is_empty or is_made) and not name.startswith("__"):
                yield name


def test_tables_and_caches_have_their_bound_on_the_page():
    names = {
        name
        for folder, package in {".": "sycl_ext", **tool("release").PURE}.items()
        if folder != "conformance"
        for path in files(f"{folder}/{package}")
        if path.suffix == ".py"
        for name in tables(ast.parse(path.read_text()))
    }
    page = (ROOT / "docs" / "develop" / "design.md").read_text()
    section = page.partition("## Tables and caches")[2].partition("\n## ")[0]
    shown = set(re.findall(r"`(\w+)`", re.sub(r"\|[^|]*\|[^|]*\|$", "", section, flags=re.M)))
    assert "opened_images" in names
    assert names == shown & names, sorted(names - shown)
    assert not {name for name in shown - names if name.startswith("_")} - {"_negotiation"}


# ---- the picture of the idea ---------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def texts_in_boxes():
    """Yield each text that begins in a box of the picture, its right end, and that of the box."""
    mpl = pytest.importorskip("matplotlib")
    from PIL import ImageFont

    fonts = Path(mpl.get_data_path(), "fonts", "ttf")  # DejaVu, the first font of the picture
    root = ElementTree.parse(ROOT / "docs" / "idea.svg").getroot()
    boxes = [
        [float(box.get(name, 0)) for name in ("x", "y", "width", "height")]
        for box in root.iter(f"{SVG}rect")
    ]
    in_code = {id(text) for group in root.iter(f"{SVG}g") if group.get("class") == "code"
               for text in group}  # fmt: skip
    for text in root.iter(f"{SVG}text"):
        if text.get("text-anchor"):
            continue
        kind = text.get("class") or ("code" if id(text) in in_code else "text")
        size = float(text.get("font-size") or {"small": 12, "code": 12.5}.get(kind, 14))
        file = {"name": "DejaVuSans-Bold.ttf", "code": "DejaVuSansMono.ttf"}
        font = ImageFont.truetype(fonts / file.get(kind, "DejaVuSans.ttf"), 100)
        x, y = float(text.get("x")), float(text.get("y"))
        around = [
            (width * height, left + width)
            for left, top, width, height in boxes
            if left <= x <= left + width and top <= y <= top + height
        ]
        yield text.text, x + font.getlength(text.text) * size / 100, min(around)[1]


def test_text_of_the_picture_stays_in_its_box():
    texts = list(texts_in_boxes())
    assert len(texts) > 30
    assert not [(text, end, edge) for text, end, edge in texts if end > edge - 4]
