# SPDX-License-Identifier: Apache-2.0
"""Starts an example of several processes, as a user does."""

import subprocess

import environments

EXAMPLES = environments.ROOT / "examples"


def run(*command, variables=None, status=0):
    """The output of an example, which ends with the exit status; None: with any."""
    variables = {**environments.clean_environment(), **(variables or environments.cpu())}
    done = subprocess.run(
        [str(word) for word in command],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=280,
    )
    assert status is None or done.returncode == status, done.stdout
    return done.stdout
