# SPDX-License-Identifier: Apache-2.0
"""Ranks for the tests of groups and symmetric memory: processes, or a group of a user."""

import contextlib
import pickle
import subprocess
import sys

import sycl_ext as sx

#: A rank that is another process.
OTHER = """
import os, pickle, signal, sys, time
import numpy as np
import sycl_ext as sx
group = pickle.loads(bytes.fromhex(sys.argv[1]))
"""
#: The same, with memory as that of `symmetric_with`.
WITH_MEMORY = OTHER + 'memory = sx.ipc.symmetric(4, "int32", group, device="cpu")\n'


@contextlib.contextmanager
def other_ranks(*codes):
    """Yield rank 0 of a group, and the processes of the others."""
    mine, *theirs = sx.ipc.groups(len(codes) + 1, timeout=60)
    with contextlib.ExitStack() as stack:
        started = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-W", "error", "-c", code, pickle.dumps(group).hex()],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
            )
            for code, group in zip(codes, theirs, strict=True)
        ]
        try:
            yield mine, started
        finally:
            for process in started:
                process.stdin.close()


def shared_with(group, **how):
    return sx.ipc.symmetric(4, "int32", group, device="cpu", **how)


def ended_well(process):
    assert process.wait(60) == 0, process.stdout.read()


class Recorded:
    """A group that a user wrote: of one rank."""

    rank, size = 0, 1

    def all_gather(self, data):
        return [data]
