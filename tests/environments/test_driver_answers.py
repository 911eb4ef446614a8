# SPDX-License-Identifier: Apache-2.0
"""``make neo``: the stand-in driver of Level Zero answers like Intel's real one."""

import json
import re
import subprocess

import pytest

import environments
from level_zero import build
from stand_in_build import installed

#: Shared USM as with a device; the other tests need it in one place.
TWO_PLACES = {"AllocateSharedAllocationsWithCpuAndGpuStorage": "1"}
PROGRAM = environments.HERE / "level_zero" / "questions.py"
EXTENSION = re.compile(rb"\bZE[XT]?_(?:extension|experimental|intel)\w+\b")
#: Extensions that the adapters look for, and Intel's driver has and the stand-in does not.
NOT_THERE = {
    "kernels": {"ZE_experimental_global_offset", "ZE_experimental_module_program"},
    "lists that are recorded": {
        "ZE_experimental_immediate_command_list_append",
        "ZE_experimental_mutable_command_list",
        "ZE_experimental_record_replay_graph",
        "ZE_extension_record_replay_graph",
    },
    "semaphores of other interfaces": {"ZE_extension_external_semaphores"},
}


def answers(name, scratch, **more):
    done = subprocess.run(
        [environments.ALL[name].python(), str(PROGRAM)],
        env={**environments.process_variables(name, scratch), **more},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """The answers of the stand-in, and those of Intel's driver."""
    scratch = tmp_path_factory.mktemp("answers")
    return answers("level_zero_v1", scratch), answers("neo_v1", scratch, **TWO_PLACES)


def without_extensions(answered):
    return {
        (subject, question): answer
        for subject, answers in answered.items()
        if subject != "extensions"
        for question, answer in answers.items()
    }


def test_stand_in_answers_like_the_real_driver(answered):
    stand_in, real = map(without_extensions, answered)
    assert len(real) > 160
    assert stand_in == real


def test_stand_in_has_the_extensions_that_the_adapters_look_for(answered):
    stand_in, real = (answers["extensions"] for answers in answered)
    adapters = [installed("intel-sycl-rt", f"lib/lib{name}") for name in build.CALLERS[:2]]
    looked_for = {
        name.decode() for adapter in adapters for name in EXTENSION.findall(adapter.read_bytes())
    }
    absent = set().union(*NOT_THERE.values())
    assert stand_in == {
        name: version for name, version in real.items() if name in looked_for and name not in absent
    }
    assert absent <= looked_for & set(real)
