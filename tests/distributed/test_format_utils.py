"""Checkpoints of many ranks as files of torch.save, and back."""

import pytest

import rushlight as torch
from rushlight.distributed import checkpoint
from rushlight.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp


def test_there_and_back(tmp_path):
    state = {"model": {"w": torch.rand(3, 4), "b": torch.arange(3)}, "step": 3, "names": ["a", "b"]}
    torch.save(state, tmp_path / "one.pt")
    torch_save_to_dcp(tmp_path / "one.pt", tmp_path / "many")
    dcp_to_torch_save(tmp_path / "many", tmp_path / "two.pt")
    again = torch.load(tmp_path / "two.pt", weights_only=False)
    assert torch.equal(again["model"]["w"], state["model"]["w"])
    assert torch.equal(again["model"]["b"], state["model"]["b"])
    assert (again["step"], again["names"]) == (3, ["a", "b"])


def test_rushlights_own_form_is_refused(tmp_path):
    checkpoint.save({"w": torch.ones(2), "step": 3}, checkpoint_id=tmp_path / "own", no_dist=True)
    with pytest.raises(checkpoint.CheckpointException, match="Rushlight's own form"):
        dcp_to_torch_save(tmp_path / "own", tmp_path / "file.pt")
