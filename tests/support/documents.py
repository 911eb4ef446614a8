# SPDX-License-Identifier: Apache-2.0
"""The examples of a document, as a user would type them one after the other."""

import builtins
import doctest
import multiprocessing
import re
from pathlib import Path
from typing import Any

PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def run_examples(document: Path) -> None:
    """Run them in this process; AssertionError: one shows something else than the document."""
    text = document.read_text()
    names = {"__name__": "__main__"}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for block in PYTHON_BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        if ">>>" in block[1]:
            test = doctest.DocTestParser().get_doctest(
                block[1], names, document.name, str(document), line
            )
            failed: list[str] = []
            runner.run(test, out=failed.append, clear_globs=False)
            names = test.globs
            assert not failed, "".join(failed)
        else:
            exec(compile("\n" * line + block[1], str(document), "exec"), names)
    names.clear()
    vars(builtins).pop("_", None)  # the last value that an example showed
    left = multiprocessing.active_children()
    assert not left, f"{document.name} left {left}"  # workers of a cluster, for example


def run_notebook(notebook: Path) -> list[str]:
    """Run it in a kernel of its own, and return what each cell shows; a picture is "image/png"."""
    import nbformat
    from nbclient import NotebookClient

    done = nbformat.read(notebook, as_version=4)
    NotebookClient(done, timeout=100, kernel_name="python3").execute()
    return [
        "\n".join(_text(output) for output in cell.outputs)
        for cell in done.cells
        if cell.cell_type == "code"
    ]


def _text(output: Any) -> str:
    """Return a picture by its type, and anything else by its text."""
    data = output.get("data", {})
    return "image/png" if "image/png" in data else data.get("text/plain", output.get("text", ""))
