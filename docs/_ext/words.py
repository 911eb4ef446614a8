# SPDX-License-Identifier: Apache-2.0
"""Words that users in trouble type into the search -> the page that answers.

Sphinx searches entries of the index first, so a word of this table finds its page first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

WORDS = {
    "concurrency": [
        *("hang", "hangs", "deadlock", "freeze"),
        *("thread", "threads", "thread safe", "fork"),
    ],
    "contexts": ["multi gpu", "multiple gpus", "several gpus", "tile", "tiles", "device id"],
    "doctor": ["no device", "no device found", "no devices", "default device is unavailable"],
    "environment_variables": ["environment variables", "ONEAPI_DEVICE_SELECTOR"],
    "errors": [
        *("segmentation fault", "segfault", "crash", "core dumped", "wrong numbers"),
        *("wrong results", "undefined symbol", "out of memory", "libsycl.so.9"),
    ],
    "get_started": ["install", "installation", "pip install"],
    "interoperability": ["masked array", "xgboost", "openvino"],
    "platforms": ["windows", "wsl", "macos", "mac", "arm", "aarch64"],
    "recipes/checkpoints": ["checkpoint", "savez", "torch save", "state dict"],
    "recipes/dataframes": ["pandas", "polars", "dataframe"],
    "recipes/fft": ["fft", "fourier"],
    "recipes/float64_on_the_host": ["float64 not supported", "fp64", "double precision"],
    "recipes/larger_than_memory": ["larger than memory", "chunks", "out of core", "mmap"],
    "recipes/torch_dataloader": ["dataloader", "batches", "pin_memory"],
    "recipes/torch": ["torch xpu", "xpu", "pytorch"],
    "stability": ["license", "maintainer", "versions", "deprecation"],
}


def add_words(_: Sphinx, docname: str, source: list[str]) -> None:
    """Put the words of a page behind its title, as entries of the index."""
    if words := WORDS.get(docname):
        title, _, rest = source[0].partition("\n")
        entries = ", ".join(f"! {word}" for word in words)
        source[0] = f"{title}\n\n```{{index}} {entries}\n```\n{rest}"
