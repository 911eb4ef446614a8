# SPDX-License-Identifier: Apache-2.0
"""An object that is not a queue is an error that says so: never a crash, and never a capsule."""

import json
import runpy

import pytest

import sycl_ext as sx
from lab import HERE, STREAM_FORMS, alone

cases = runpy.run_path(str(HERE / "wrong_streams.py"))


@pytest.fixture(scope="module")
def outcomes():
    """Case -> (name of the exception, its text), from one process; a crash ends the list."""
    done = alone("import wrong_streams; wrong_streams.main()")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {case: (error, text) for case, error, text in found}, done


def outcome_of(outcomes, case):
    found, done = outcomes
    assert case in found, f"the process ended with {done.returncode} before this\n{done.stderr}"
    return found[case]


@pytest.mark.parametrize("export", cases["EXPORTS"])
@pytest.mark.parametrize("name", cases["INTS"])
def test_address_of_no_queue(outcomes, name, export):
    error, text = outcome_of(outcomes, f"{export}: {name}")
    assert error == "ValueError"
    assert "sycl::queue" in text


@pytest.mark.parametrize("export", cases["EXPORTS"])
@pytest.mark.parametrize("name", cases["OTHERS"])
def test_object_that_is_no_queue(outcomes, name, export):
    error, text = outcome_of(outcomes, f"{export}: {name}")
    assert error in ("TypeError", "ValueError")
    assert text


@pytest.mark.parametrize("export", cases["EXPORTS"])
@pytest.mark.parametrize("name", cases["FOREIGN"])
def test_what_an_object_raises_comes_out(outcomes, name, export):
    assert outcome_of(outcomes, f"{export}: {name}") == ("RuntimeError", "the stream is lost")


def test_no_crash(outcomes):
    found, done = outcomes
    assert done.returncode == 0, done.stderr
    assert list(found) == cases["NAMES"]


@pytest.mark.parametrize("form", STREAM_FORMS)
def test_the_host_takes_no_stream(bench, form):
    """A copy or view for the host is finished when it is handed out; there is no queue to order."""
    tensor = bench.tensor("shared")
    stream = STREAM_FORMS[form](bench.queue("in_order"))
    for call in (
        lambda: tensor.__dlpack__(stream=stream, dl_device=(1, 0)),
        lambda: sx.host_view(tensor).__dlpack__(stream=stream),
        lambda: sx.host_view(tensor).__dlpack__(stream=-1),
    ):
        with pytest.raises(BufferError, match="stream"):
            call()
