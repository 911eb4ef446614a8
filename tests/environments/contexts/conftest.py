# SPDX-License-Identifier: Apache-2.0
"""The places to exchange between: a root device, its tiles, a private context, other devices."""

import contextlib
import os
from dataclasses import dataclass, field

import dpctl
import pytest

import sycl_ext as sx


@dataclass
class Places:
    """The features of this environment and its runtime; written down, not queried."""

    root: sx.Device
    tile: sx.Device
    sibling: sx.Device
    private: sx.Device
    other_platform: sx.Device
    other_device: sx.Device | None  # of the same platform
    tiles_use_the_default_context: bool
    peers: bool  # the other device's memory can be copied to directly
    host_memory: bool  # all memory is the host's
    across_contexts: bool  # one command copies device USM of one context to another
    counted: bool  # somebody counts the copies
    sources: dict[str, sx.Device] = field(init=False)

    def __post_init__(self):
        self.sources = {"root": self.root, "sub-device": self.tile, "private": self.private}

    def to_the_default_context(self, source):
        """Device USM of a source goes to the default context unasked, or that is refused."""
        if source == "root" or self.across_contexts:
            return contextlib.nullcontext()
        return pytest.raises(BufferError, match="two copies, through the host.*pass copy=True")


@pytest.fixture(scope="session")
def places():
    name = os.environ["SYCL_EXT_ENVIRONMENT"]
    stand_in = name.startswith("level_zero")
    level_zero = stand_in or name.startswith("neo_v")
    root = sx.device(1)
    tile, sibling = root.create_sub_devices("numa" if level_zero else 1)[:2]
    return Places(
        root=root,
        tile=tile,
        sibling=sibling,
        private=sx.register_context(dpctl.SyclContext([root.sycl_device])),
        other_platform=sx.device(0),
        other_device=sx.device(2) if level_zero else None,
        tiles_use_the_default_context=level_zero,
        peers=name == "level_zero_no_pools",
        host_memory=name == "two_platforms",
        across_contexts=name != "opencl_gpu",
        counted=stand_in,
    )


@pytest.fixture
def count_copies(places):
    """A function that says how many copy commands were carried out since it was last called."""
    if not places.counted:
        return lambda: None
    from level_zero import control

    adapter = control.loaded()
    last = [adapter.fakegpu_copies()]

    def count():
        before, last[0] = last[0], adapter.fakegpu_copies()
        return last[0] - before

    return count
