"""Backends by name, and those that other packages register."""

import pytest

import rushlight as torch
from rushlight.distributed import Backend


def test_a_backend_of_a_program_s_own_is_known_by_its_name(monkeypatch):
    for name in ("backend_list", "default_device_backend_map", "backend_capability", "_plugins"):
        monkeypatch.setattr(Backend, name, getattr(Backend, name).copy())
    Backend.register_backend("Mine", lambda *args: None, devices=["npu"])
    assert Backend.MINE == "mine" and Backend("MINE") == "mine"
    assert "mine" in Backend.backend_list and Backend.backend_capability["mine"] == ["npu"]
    assert Backend.default_device_backend_map["npu"] == "mine"
    with pytest.warns(UserWarning, match="Device capability of other unspecified"):
        Backend.register_backend("other", lambda *args: None)
    del Backend.MINE, Backend.OTHER


def test_names_of_the_c_module():
    from rushlight._C._distributed_c10d import ReduceOp, Store

    assert ReduceOp is torch.distributed.ReduceOp and Store is torch.distributed.Store
