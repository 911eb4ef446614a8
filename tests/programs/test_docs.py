# SPDX-License-Identifier: Apache-2.0
"""The documents are true: examples run, and generated blocks are up to date."""

import doctest
import importlib
import importlib.util
import pkgutil
import re
import runpy
import subprocess
import sys
import xml.etree.ElementTree

import pytest

import environments
import recipes
import sycl_ext
from documents import PYTHON_BLOCK, run_examples
from sycl_ext._cli import make_parser

ROOT = environments.ROOT
EXAMPLES = ROOT / "examples"
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ALL_DOCUMENTS = [*sorted(ROOT.glob("*.md")), *DOCUMENTS[1:]]
MODULES = ["sycl_ext"] + [
    module.name
    for module in pkgutil.walk_packages(sycl_ext.__path__, "sycl_ext.")
    if module.name not in ("sycl_ext._core", "sycl_ext.__main__") and "hook-" not in module.name
]
#: Once used, they stand in the package, where doctest looks for its classes.
PUBLIC = {name: getattr(sycl_ext, name) for name in sycl_ext.__all__}

#: The language of a fence -> the test that runs it, or the reason why none does.
LANGUAGES = {
    "python": "this file",
    "pycon": "test_recipes.py or its like, with other devices or libraries",
    "c": "compiled for the page, in recipes.py",
    "cpp": "a part of an example, which is built, or compiled for a recipe; see below",
    "cmake": "a part of an example, which is built; see below",
    "console": "commands for the reader; their subcommands and targets are checked below",
    "text": "shown, not run",
    "yaml": "shown, not run",
}
FENCE = re.compile(r"^```(?P<language>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#]+?)(#[^)]*)?\)")


@pytest.fixture(scope="module")
def generated():
    spec = importlib.util.spec_from_file_location("generated", ROOT / "tools" / "generated.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def name_of(path):
    return str(path.relative_to(ROOT))


#: Their examples show what other libraries do wrong, which may end the process.
REPORTS = ROOT / "docs" / "develop" / "reports"


@pytest.mark.parametrize(
    "document", [path for path in DOCUMENTS if REPORTS not in path.parents], ids=name_of
)
def test_examples_of_a_document(document):
    pytest.importorskip("dpnp")
    run_examples(document)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_doctest_finds_the_examples_of_the_public_api():
    """A decorator can hide a function from doctest."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests = [test for name in MODULES for test in finder.find(importlib.import_module(name))]
    names = {test.name.rpartition(".")[2] for test in tests if test.examples}
    with_examples = {name for name, value in PUBLIC.items() if ">>>" in (value.__doc__ or "")}
    assert len(with_examples) > 8
    assert with_examples <= names


def test_example_of_the_export():
    """A method of the core, whose docstring no module of Python holds."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    (test,) = finder.find(sycl_ext.Tensor.__dlpack__, "Tensor.__dlpack__", module=False, globs={})
    assert doctest.DocTestRunner().run(test) == (0, 2)


@pytest.mark.parametrize("document", ALL_DOCUMENTS, ids=name_of)
def test_shown_code_is_run(document):
    examples = "".join(
        path.read_text() for path in sorted(EXAMPLES.rglob("*")) if path.suffix in (".cpp", ".txt")
    )
    text = document.read_text()
    if document.parent.name == "recipes":  # its comment says who runs it, and so does the language
        assert ("<!-- run: cpu -->" in text) == bool(PYTHON_BLOCK.search(text))
    for block in FENCE.finditer(text):
        if block["language"].startswith("{"):  # of MyST
            continue
        assert block["language"] in LANGUAGES, block[0]
        if block["body"] in recipes.libraries(text).values():
            continue
        if (
            document.name == "cpp_reference.md"
        ):  # test_cpp_reference.py compares it with the headers
            continue
        if block["language"] in ("cpp", "cmake"):
            assert block["body"] in examples, block[0]


@pytest.mark.parametrize("document", ALL_DOCUMENTS, ids=name_of)
def test_commands_exist(document):
    text = document.read_text()
    targets = set(re.findall(r"^([a-z-]+(?: [a-z-]+)*):", (ROOT / "Makefile").read_text(), re.M))
    targets = {target for line in targets for target in line.split()}
    assert len(targets) > 10
    for target in re.findall(r"(?:^|`|\$ )make ([a-z-]+)", text, re.MULTILINE):
        assert target in targets, f"make {target}"
    (shown,) = re.findall(r"^  COMMAND\n((?:    .*\n)+)", make_parser().format_help(), re.MULTILINE)
    commands = set(re.findall(r"^    (\w+)", shown, re.MULTILINE))
    for command in re.findall(r"python -m sycl_ext ([a-z]+)", text):
        assert command in commands, f"python -m sycl_ext {command}"


def test_api_page_has_the_public_names():
    """Sphinx says when a name is there that does not exist."""
    page = (ROOT / "docs" / "api.rst").read_text()
    tables = re.findall(r"^\.\. autosummary::\n(?:   :.*\n)*\n((?:   [\w.]+\n)+)", page, re.M)
    shown = [name for table in tables for name in table.split()]
    public = set(sycl_ext.__all__) - set(sycl_ext._NAMESPACES)
    for namespace in sycl_ext._NAMESPACES:
        public |= {f"{namespace}.{name}" for name in getattr(sycl_ext, namespace).__all__}
    assert sorted(shown) == sorted(public)
    assert page.count(":toctree: reference") == len(tables)  # a page each
    template = (ROOT / "docs" / "_templates" / "autosummary" / "class.rst").read_text()
    members = set(re.findall(r"^   \.\. auto(?:attribute|method):: (\w+)", template, re.MULTILINE))
    tensor = sycl_ext.Tensor
    public = {name for name in dir(tensor) if not name.startswith("_") and hasattr(tensor, name)}
    assert public - {"is_host_copy"} <= members


@pytest.mark.parametrize("document", ALL_DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(document):
    for target, _ in LINK.findall(FENCE.sub("", document.read_text())):
        if not target.startswith(("https://", "http://")):
            assert (document.parent / target).exists(), target


@pytest.mark.parametrize("drawing", sorted((ROOT / "docs").rglob("*.svg")), ids=name_of)
def test_drawings_are_well_formed(drawing):
    root = xml.etree.ElementTree.parse(drawing).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.find("{http://www.w3.org/2000/svg}title") is not None


def test_thread_pool_example_runs():
    """In a process of its own: without the lock it may hang."""
    pytest.importorskip("dpnp")
    command = [sys.executable, str(EXAMPLES / "thread_pool" / "run.py"), "8", "5"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 threads" in done.stdout


def in_shape(demo):
    """The output of the demo without what differs from run to run; equal addresses stay equal."""
    for number, address in enumerate(dict.fromkeys(re.findall(r"0x[0-9a-f]+", demo))):
        demo = demo.replace(address, f"address-{number}")
    return re.sub(r" +", " ", re.sub(r"[\d,.]+ ms", "some ms", demo))


def test_readme_shows_the_demo(generated):
    pytest.importorskip("dpnp")
    pytest.importorskip("PIL")
    shown = (ROOT / "README.md").read_text().split("cog.out(demo()) ]]] -->\n")[1]
    assert in_shape(shown.split("<!-- [[[end]]]")[0]) == in_shape(generated.demo()), "make generate"


GENERATED = re.search(r"^GENERATED := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]


def cog(*files):
    command = [sys.executable, "-m", "cogapp", "-I", "tools", "-p", "from generated import *"]
    command += ["--check", "--diff", *map(str, files)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_generated_tables_are_up_to_date():
    pytest.importorskip("cogapp")
    done = cog(*GENERATED.split())
    assert done.returncode == 0, f"make generate\n{done.stdout}{done.stderr}"
    assert done.stdout.count("Checking") >= 3


def test_generated_blocks_are_written_by_make_generate():
    with_blocks = [path for path in ALL_DOCUMENTS if "[[[cog" in path.read_text()]
    assert {name_of(path) for path in with_blocks} <= {"README.md", *GENERATED.split()}


@pytest.mark.parametrize("document", ALL_DOCUMENTS, ids=name_of)
def test_code_is_shown_where_pages_are_plain_markdown(document):
    """A code host shows nothing of a file that only Sphinx includes; cog copies it."""
    assert "literalinclude" not in document.read_text()


def test_stacks_page_names_each_environment_once():
    stacks = (ROOT / "docs" / "develop" / "seen.md").read_text().partition("[[[cog")[0]
    shown = [row.split("|")[-2] for row in re.findall(r"^\|.*$", stacks, re.MULTILINE)]
    every = ["cpu", *environments.ALL, "two_runtimes"]
    assert sorted(re.findall(r"`(\w+)`", " ".join(shown))) == sorted(every)


def test_words_of_the_search_name_pages_that_exist():
    """Each word once: it is an entry of the index, which the search of the site finds first."""
    pages = runpy.run_path(str(ROOT / "docs" / "_ext" / "words.py"))["WORDS"]
    assert all((ROOT / "docs" / f"{page}.md").exists() for page in pages)
    words = [word for page in pages.values() for word in page]
    assert len(words) == len(set(words))
