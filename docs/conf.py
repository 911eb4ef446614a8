# SPDX-License-Identifier: Apache-2.0
"""The documentation site.  `make html` builds it: no network, and every warning is an error."""

import importlib.util
import re
import sys
from pathlib import Path

import tomllib

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

import inventories  # noqa: E402
import numpydoc.xref  # noqa: E402
import words  # noqa: E402
from docutils import nodes  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402

import sycl_ext  # noqa: E402

project = "sycl_ext"
author = "the sycl_ext authors"
copyright = "the sycl_ext authors; Apache-2.0"  # noqa: A001 (the name is Sphinx's)
version = release = sycl_ext.__version__

extensions = [
    "myst_nb",  # pages in Markdown, and notebooks
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
# Of a block with prompts, the button copies what was typed: neither prompts nor output.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
exclude_patterns = ["_*"]
templates_path = ["_templates"]  # of the pages that autosummary makes, one for each public name
nitpicky = True
smartquotes = False  # quotes are part of the code
# `name` in a docstring is a link when it is a name, and else an argument.
default_role = "autolink"

# ---- pages in Markdown ---------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
#: What the notebooks import. Without it the site shows their code alone.
RUN_BY_NOTEBOOKS = ("dpnp", "matplotlib", "torch")
nb_execution_mode = "cache" if all(map(importlib.util.find_spec, RUN_BY_NOTEBOOKS)) else "off"
nb_execution_cache_path = str(HERE.parent / "build" / "notebooks")
nb_execution_raise_on_error = True
#: Files outside docs/ that are pages of the site: the name in the repository -> the page.
PAGES_OF_FILES = {
    "../CHANGELOG.md": "changelog.md",
    "../CONTRIBUTING.md": "develop/design.md",
    "../README.md": "index.md",
    "../SECURITY.md": "security.md",
}

# ---- the API -------------------------------------------------------------------------------------

autosummary_filename_map = {"sycl_ext.Device": "sycl_ext.Device-class"}  # beyond device
autodoc_typehints = "none"  # the docstrings have the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
#: Words of a "Parameters" or "Returns" section that are links.
numpydoc.xref.DEFAULT_LINKS.pop("array")  # it may be of any library
numpydoc_xref_aliases = {
    name: f"sycl_ext.{name}"
    for name in sycl_ext.__all__
    if isinstance(getattr(sycl_ext, name), type)
} | {"memoryview": "memoryview"}
numpydoc_class_members_toctree = False
intersphinx_mapping = inventories.write(HERE.parent / "build" / "inventories")

# ---- how it looks --------------------------------------------------------------------------------

html_theme = "furo"
pygments_dark_style = "github-dark"
html_title = f"sycl_ext {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(HERE / "_ext" / "scorer.js")
#: The one place that has the address of the repository is pyproject.toml.
URLS = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]["urls"]
html_context = {"repository": URLS["Repository"]}
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/repository.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#2c5aa0", "color-brand-content": "#2c5aa0"},
    "dark_css_variables": {"color-brand-primary": "#8fb8f6", "color-brand-content": "#8fb8f6"},
}


def link_pages(_: Sphinx, docname: str, source: list[str]) -> None:
    """Let links to Markdown files outside docs/ lead to their pages."""
    up = "../" * docname.count("/")
    for file, page in PAGES_OF_FILES.items():
        source[0] = source[0].replace(f"]({up}{file}", f"]({up}{page}")


#: Cells of the consumer matrix -> their class, which has a colour in site.css.
CELLS = {
    "good": re.compile(r"view|yes|no copy"),
    "fair": re.compile(r"copy|one copy"),
    "bad": re.compile(r"writes|\w+Error"),
}


def color_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Colour the cells of the consumer matrix."""
    if app.env.docname == "develop/consumer_matrix":
        for cell in doctree.findall(nodes.entry):
            for name, words in CELLS.items():
                if words.fullmatch(cell.astext()):
                    cell["classes"].append(name)


def group_heads(_: Sphinx, doctree: nodes.document) -> None:
    """Put neighbouring heads "title: first" and "title: second" under one head "title"."""
    for head in doctree.findall(nodes.thead):
        (row,) = head.children
        heads = [cell.astext().partition(": ") for cell in row.children]
        titles = [title for title, colon, _ in heads if colon]
        if len(titles) == len(set(titles)):
            continue
        upper, lower = nodes.row(), nodes.row()
        for cell, (title, colon, rest) in zip(row.children, heads, strict=True):
            if not colon:
                upper += nodes.entry("", *cell.children, morerows=1)
                continue
            if upper.children and upper.children[-1].astext() == title:
                upper.children[-1]["morecols"] = upper.children[-1].get("morecols", 0) + 1
            else:
                upper += nodes.entry("", nodes.paragraph("", title), classes=["group"])
            lower += nodes.entry("", nodes.paragraph("", rest))
        head.children = []
        head += [upper, lower]


def setup(app: Sphinx) -> None:
    """Add to Sphinx what no extension does."""
    app.connect("doctree-read", color_cells)
    app.connect("doctree-read", group_heads)
    app.connect("source-read", link_pages)
    app.connect("source-read", words.add_words)
