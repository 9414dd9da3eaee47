"""Checkpoints as safetensors files of Hugging Face's layout; ranks' parts, and whole tensors made of them."""

import json

import pytest

import rushlight as torch
from rushlight.distributed import checkpoint as dcp
from rushlight.distributed.checkpoint._consolidate_hf_safetensors import (
    consolidate_safetensors_files,
    consolidate_safetensors_files_on_every_rank,
)

safetensors = pytest.importorskip("safetensors")
pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
STATE = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(2, dtype=torch.bfloat16)}
NUMBERS = {"a": 1, "b": 2}


def check(folder):
    found = {name: torch.zeros_like(value) for name, value in STATE.items()}
    dcp.load(found, storage_reader=dcp.HuggingFaceStorageReader(str(folder)))
    assert all(found[name].equal(value) for name, value in STATE.items())


def test_whole_tensors(tmp_path):
    dcp.save(STATE, storage_writer=dcp.HuggingFaceStorageWriter(str(tmp_path), NUMBERS))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
        "model.safetensors.index.json",
    ]
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert index["metadata"] == {"total_size": 28}
    assert index["weight_map"] == {
        "a": "model-00001-of-00002.safetensors",
        "b": "model-00002-of-00002.safetensors",
    }
    check(tmp_path)


def test_parts_of_ranks_become_whole(tmp_path):
    writer = dcp.HuggingFaceStorageWriter(
        str(tmp_path), NUMBERS, save_distributed=True, enable_consolidation=True
    )
    dcp.save(STATE, storage_writer=writer)
    parts = tmp_path / "sharded"
    assert sorted(path.name for path in parts.iterdir())[0] == "shard-00001-model-00001-of-00002.safetensors"
    check(tmp_path)
    check(parts)


@pytest.mark.parametrize(
    "consolidate", [consolidate_safetensors_files, consolidate_safetensors_files_on_every_rank]
)
def test_boxes_of_a_tensor(tmp_path, consolidate):
    from rushlight._engine.serialization.safetensors import save_file

    (tmp_path / "in").mkdir()
    for rank, rows in enumerate((slice(0, 1), slice(1, 2))):
        told = json.dumps({"a": {"saved_offsets": [rank, 0]}})
        path = tmp_path / "in" / f"shard-{rank}.safetensors"
        save_file({"a": STATE["a"][rows].clone()}, path, {"DCP_SHARDING_INFO": told})
    metadata = dcp.HuggingFaceStorageReader(str(tmp_path / "in")).read_metadata()
    assert metadata.state_dict_metadata["a"].size == (2, 3)
    consolidate(str(tmp_path / "in"), str(tmp_path / "out"), {"a": 1})
    found = {"a": torch.zeros(2, 3)}
    dcp.load(found, storage_reader=dcp.HuggingFaceStorageReader(str(tmp_path / "out")))
    assert found["a"].equal(STATE["a"])


def test_what_is_no_tensor_is_refused(tmp_path):
    with pytest.raises(dcp.CheckpointException, match="n is no tensor"):
        dcp.save({"n": 3}, storage_writer=dcp.HuggingFaceStorageWriter(str(tmp_path)))
