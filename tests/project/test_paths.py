# SPDX-License-Identifier: Apache-2.0
"""Every file that the documents, the comments and the docstrings name is there."""

import ast
import re

from repository import ROOT, files

#: Roots that a path may begin at, besides the folder of the file that names it.
ROOTS = (ROOT, ROOT / "sycl_ext" / "include")
FOLDERS = "|".join(sorted(path.name for path in ROOT.iterdir() if path.is_dir()))
NAMED = re.compile(rf"(?<![\w/.<~}}-])(?:{FOLDERS})/[\w/.-]*\w\.(?:cpp|hpp|h|py|pyi|md|sh|toml)\b")


def prose(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        nodes = (
            node
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        )
        return "\n".join(
            [*(ast.get_docstring(node) or "" for node in nodes), *re.findall(r"#.*", text)]
        )
    return text if path.suffix == ".md" else "\n".join(re.findall(r"//.*", text))


def test_named_files_exist():
    missing = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in files()
        if path.suffix in (".md", ".py", ".cpp", ".hpp")
        for name in NAMED.findall(prose(path))
        if not any((root / name).exists() for root in (*ROOTS, path.parent))
    }
    assert not missing, sorted(missing)
