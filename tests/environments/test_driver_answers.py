# SPDX-License-Identifier: Apache-2.0
"""``make neo``: the stand-in driver of Level Zero answers like Intel's real one."""

import json
import subprocess

import environments

#: Shared USM as with a device; the other tests need it in one place.
TWO_PLACES = {"AllocateSharedAllocationsWithCpuAndGpuStorage": "1"}
PROGRAM = environments.HERE / "level_zero" / "questions.py"


def answers(name, scratch, **more):
    done = subprocess.run(
        [environments.ALL[name].python(), str(PROGRAM)],
        env={**environments.process_variables(name, scratch), **more},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return {
        (subject, question): answer
        for subject, answered in json.loads(done.stdout).items()
        for question, answer in answered.items()
    }


def test_stand_in_answers_like_the_real_driver(tmp_path):
    stand_in = answers("level_zero_v1", tmp_path)
    real = answers("neo_v1", tmp_path, **TWO_PLACES)
    assert len(real) > 150
    assert stand_in == real
