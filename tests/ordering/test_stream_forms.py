# SPDX-License-Identifier: Apache-2.0
"""A form of ``stream=`` is in every place that lists the forms, or in none."""

import pytest

import stream_forms
import ways
from environments import ROOT
from sycl_ext._devices.queues import FORMS
from test_streams import ALMOST

#: Form -> the word by which each text names it.
WORDS = {
    "a dpctl.SyclQueue": "dpctl.SyclQueue`",
    "a 'SyclQueueRef' capsule": '"SyclQueueRef"',
    "the address of a sycl::queue as an int": "sycl::queue`",
    "an object with _get_capsule()": "_get_capsule()`",
    "an object with sycl_queue": "`sycl_queue`",
}
#: Text -> where the forms begin and end in it.
TEXTS = {
    "docs/streams.md": ("## Forms of a queue", "\n\n```python\n>>> t.__dlpack__(stream=42)"),
    "docs/recipes/hand_over_without_waiting.md": ("The queue is a ", "\n\n"),
    "src/python/docstrings.hpp": ("A queue (a ``dpctl", "): work"),
}


def in_text(name):
    begin, end = TEXTS[name]
    _, is_there, rest = (ROOT / name).read_text().partition(begin)
    assert is_there, f"{name} does not say {begin!r}"
    text = begin + rest.partition(end)[0]
    return [form for form, word in WORDS.items() if word in text]


PLACES = {
    "ALMOST, what only looks like a form": lambda: ALMOST,
    "the rows of ways": lambda: [
        form for form in FORMS if f"Tensor.__dlpack__(stream={form})" in ways.WAYS
    ],
    "the tests of consumers with pending work": lambda: stream_forms.FORMS,
    "the words in this file": lambda: WORDS,
    **{name: lambda name=name: in_text(name) for name in TEXTS},
}


@pytest.mark.parametrize("place", PLACES)
def test_forms_of_a_stream_are_those_of_the_parser(place):
    assert sorted(PLACES[place]()) == sorted(FORMS)
