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


def test_rushlights_own_form(tmp_path):
    """Planners read it as they read PyTorch's, nested as it was."""
    state = {"model": {"a.w": torch.arange(6.0).view(2, 3), "l": [torch.ones(2), {"x": 3}]}, "step": 3}
    checkpoint.save(state, checkpoint_id=tmp_path / "own", no_dist=True)
    dcp_to_torch_save(tmp_path / "own", tmp_path / "file.pt")
    again = torch.load(tmp_path / "file.pt", weights_only=False)
    assert torch.equal(again["model"]["a.w"], state["model"]["a.w"])
    assert torch.equal(again["model"]["l"][0], torch.ones(2))
    assert (again["model"]["l"][1], again["step"]) == ({"x": 3}, 3)
    filled = {"model": {"a.w": torch.zeros(2, 3), "l": [torch.zeros(2), {"x": 0}]}, "step": 0}
    checkpoint.load(
        filled, checkpoint_id=tmp_path / "own", planner=checkpoint.DefaultLoadPlanner(), no_dist=True
    )
    assert torch.equal(filled["model"]["a.w"], state["model"]["a.w"]) and filled["step"] == 3
    with pytest.raises(checkpoint.CheckpointException, match="Missing key in checkpoint state_dict: other"):
        checkpoint.load(
            {"other": torch.zeros(2)},
            checkpoint_id=tmp_path / "own",
            planner=checkpoint.DefaultLoadPlanner(),
            no_dist=True,
        )


def test_a_state_dict_is_made_from_what_is_there(tmp_path):
    """As programs do that have no model yet, by the name that they import from here."""
    from rushlight.distributed.checkpoint.format_utils import _EmptyStateDictLoadPlanner
    from rushlight.distributed.checkpoint.state_dict_loader import _load_state_dict

    state = {"model": {"w": torch.ones(2), "b": torch.zeros(3)}, "step": 3}
    checkpoint.save(state, checkpoint_id=tmp_path, no_dist=True)
    found = {}
    planner = _EmptyStateDictLoadPlanner(keys={"model.w"})
    _load_state_dict(found, checkpoint.FileSystemReader(tmp_path), planner=planner, no_dist=True)
    assert list(found) == ["model"] and torch.equal(found["model"]["w"], torch.ones(2))
