"""Switches of libraries that take no part: kept, set for a block, and frozen where a program asks for it."""

from __future__ import annotations

import pytest

import rushlight as torch


def test_a_block_sets_switches_and_gives_them_back():
    cudnn = torch.backends.cudnn
    with cudnn.flags(enabled=True, benchmark=True):
        assert (cudnn.enabled, cudnn.benchmark, cudnn.allow_tf32) == (True, True, True)
    assert (cudnn.enabled, cudnn.benchmark) == (True, False)
    assert torch.backends.mkldnn.set_flags(False) == (True, False, True, "none")
    assert torch.backends.mkldnn.set_flags(True)[0] is False
    with pytest.raises(TypeError, match="unexpected keyword argument 'fast'"), cudnn.flags(fast=True):
        pass


def test_frozen_switches_are_set_by_blocks_alone():
    backends = torch.backends
    try:
        backends.disable_global_flags()
        assert backends.flags_frozen()
        with pytest.raises(RuntimeError, match="not allowed to set torch.backends.cudnn flags"):
            backends.cudnn.enabled = False
        with backends.cudnn.flags(enabled=False):
            assert not backends.cudnn.enabled
        with getattr(backends, "__allow_nonbracketed_mutation")():
            backends.cudnn.benchmark = False
        assert backends.cudnn.enabled
    finally:
        backends.switches.FROZEN[0] = False
