# SPDX-License-Identifier: Apache-2.0
"""Make the links of README.md absolute, for the page of a package index, which has no other files.

The workflow `wheels` runs this before it builds; the file in the repository keeps relative links.

python tools/absolute_links.py https://github.com/OWNER/NAME v0.1.0
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: ](target) of Markdown, and src="target", srcset="target" of HTML.
LINK = re.compile(r"""(?P<before>\]\(|\b(?:src|srcset|href)=")(?P<target>[^)"\s#][^)"\s]*)""")
PICTURES = (".png", ".svg")


def absolute(text: str, repository: str, ref: str) -> str:
    """Return the text with absolute links to the files of the repository, at a tag or commit."""

    def absolute(match: re.Match[str]) -> str:
        target = match["target"]
        if re.match(r"[a-z]+:", target):
            return match[0]
        kind = "raw" if target.endswith(PICTURES) else "blob"
        return f"{match['before']}{repository}/{kind}/{ref}/{target}"

    return LINK.sub(absolute, text)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    readme = ROOT / "README.md"
    readme.write_text(absolute(readme.read_text(), *sys.argv[1:]))
