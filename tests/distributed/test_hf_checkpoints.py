"""Checkpoints as safetensors files of Hugging Face's layout; ranks' parts, and whole tensors made of them."""

import json

import pytest

import rushlight as torch
from rushlight.distributed import checkpoint as dcp
from rushlight.distributed.checkpoint._consolidate_hf_safetensors import (
    consolidate_safetensors_files,
    consolidate_safetensors_files_on_every_rank,
)
from tests.distributed.cases import told

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


def test_a_part_that_is_missing_is_told(tmp_path):
    from rushlight._engine.serialization.safetensors import save_file

    for row in (0, 2):
        told = json.dumps({"a": {"saved_offsets": [row, 0]}})
        save_file({"a": torch.ones(1, 3)}, tmp_path / f"{row}.safetensors", {"DCP_SHARDING_INFO": told})
    with pytest.raises(ValueError, match=r"a: parts are missing of \(3, 3\)"):
        dcp.HuggingFaceStorageReader(str(tmp_path)).read_metadata()
    with pytest.raises(ValueError, match=r"a: parts are missing of \(3, 3\)"):
        consolidate_safetensors_files(str(tmp_path), str(tmp_path / "out"), {"a": 1})
    assert not any((tmp_path / "out").iterdir())


def test_parts_of_a_larger_world_are_not_left(tmp_path):
    parts = tmp_path / "sharded"
    parts.mkdir()
    for name in ("shard-00002-model-00001-of-00002.safetensors", "user.txt"):
        (parts / name).write_bytes(b"older")
    test_parts_of_ranks_become_whole(tmp_path)
    assert (parts / "user.txt").exists()


def test_ranks_that_write_by_themselves_keep_their_files_apart(tmp_path):
    for rank, name in enumerate(STATE):
        writer = dcp.HuggingFaceStorageWriter(str(tmp_path), save_distributed=True)
        writer.set_up_storage_writer(True, rank=rank, use_collectives=False)
        planner = dcp.DefaultSavePlanner()
        planner.set_up_planner({name: STATE[name]}, is_coordinator=True)
        (plan,) = writer.prepare_global_plan([planner.create_local_plan()])
        metadata = dcp.Metadata({})
        writer.finish(metadata, [writer.write_data(plan, planner).value()])
    assert [path.name[:11] for path in sorted(tmp_path.iterdir())] == ["shard-00001", "shard-00002"]
    check(tmp_path)


def test_several_ranks_do_not_write_one_file(tmp_path):
    plans = []
    for name in STATE:
        planner = dcp.DefaultSavePlanner()
        planner.set_up_planner({name: STATE[name]}, is_coordinator=True)
        plans.append(planner.create_local_plan())
    assert len(dcp.HuggingFaceStorageWriter(str(tmp_path), NUMBERS).prepare_global_plan(plans)) == 2
    writer = dcp.HuggingFaceStorageWriter(str(tmp_path), save_distributed=True)
    assert len(writer.prepare_global_plan(plans)) == 2
    with pytest.raises(ValueError, match="save_distributed=True is needed"):
        dcp.HuggingFaceStorageWriter(str(tmp_path)).prepare_global_plan(plans)


def test_what_is_no_tensor_is_refused(tmp_path):
    with pytest.raises(dcp.CheckpointException, match="n is no tensor"):
        dcp.save({"n": 3}, storage_writer=dcp.HuggingFaceStorageWriter(str(tmp_path)))


def test_a_rank_that_fails_alone_tells_the_others(tmp_path):
    words = {"1": "Held: a lock"}
    assert told("failing_saves.py", tmp_path) == [[words, words, {"1": "'missing'"}]] * 2
