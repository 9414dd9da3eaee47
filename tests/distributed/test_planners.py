"""torch.distributed.checkpoint by planners and storages, in one process: plans, PyTorch's form, refusals."""

import io
import os
import pickle

import pytest

import rushlight as torch
import rushlight.distributed.checkpoint as dcp
from rushlight.distributed.checkpoint import default_planner
from rushlight.distributed.checkpoint.api import _wrap_exception
from rushlight.distributed.checkpoint.metadata import ChunkStorageMetadata, Metadata, MetadataIndex
from rushlight.distributed.communication.work import Future


def state():
    return {"a": torch.arange(6.0).reshape(2, 3), "n": {"x": 3, "l": [torch.ones(2), "s"]}, "t": "text"}


def empty():
    return {"a": torch.zeros(2, 3), "n": {"x": 0, "l": [torch.zeros(2), "?"]}, "t": ""}


def test_plans_are_pytorch_s(tmp_path):
    planned, resolved, read = [], [], []

    class Saving(dcp.DefaultSavePlanner):
        def create_local_plan(self):
            plan = super().create_local_plan()
            planned.extend((i.index.fqn, i.type.name, i.index.offset) for i in plan.items)
            return plan

        def resolve_data(self, write_item):
            resolved.append(write_item.index.fqn)
            return super().resolve_data(write_item)

    class Loading(dcp.DefaultLoadPlanner):
        def create_local_plan(self):
            plan = super().create_local_plan()
            read.extend((i.dest_index.fqn, i.type.name, tuple(i.lengths)) for i in plan.items)
            return plan

    metadata = dcp.save(state(), checkpoint_id=tmp_path, planner=Saving())
    assert planned == [
        ("a", "TENSOR", (0, 0)),
        ("n.x", "BYTE_IO", None),
        ("n.l.0", "TENSOR", (0,)),
        ("n.l.1", "BYTE_IO", None),
        ("t", "BYTE_IO", None),
    ]
    assert resolved == ["n.x", "n.l.1", "t", "a", "n.l.0"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".metadata", "__0_0.distcp"]
    assert metadata.planner_data["n.l.0"] == ("n", "l", 0)
    found = empty()
    dcp.load(found, checkpoint_id=tmp_path, planner=Loading())
    assert read == [
        ("a", "TENSOR", (2, 3)),
        ("n.x", "BYTE_IO", (0,)),
        ("n.l.0", "TENSOR", (2,)),
        ("n.l.1", "BYTE_IO", (0,)),
        ("t", "BYTE_IO", (0,)),
    ]
    assert found["a"].tolist() == state()["a"].tolist() and found["n"]["x"] == 3 and found["t"] == "text"
    assert found["n"]["l"][0].tolist() == [1, 1] and found["n"]["l"][1] == "s"


def test_metadata_is_found_again_with_pytorch_s_names(tmp_path):
    dcp.save(state(), storage_writer=dcp.FileSystemWriter(tmp_path), planner=dcp.DefaultSavePlanner())
    written = (tmp_path / ".metadata").read_bytes()
    assert b"torch.distributed.checkpoint.metadata" in written and b"rushlight" not in written
    metadata = dcp.FileSystemReader(tmp_path).read_metadata()
    entry = metadata.state_dict_metadata["a"]
    assert entry.properties.dtype == torch.float32 and entry.size == torch.Size([2, 3])
    assert [tuple(chunk.sizes) for chunk in entry.chunks] == [(2, 3)]
    assert MetadataIndex("a", (0, 0)) in metadata.storage_data
    found = empty()
    dcp.load(found, checkpoint_id=tmp_path)  # without a planner, too
    assert found["a"].tolist() == state()["a"].tolist()


@pytest.mark.parametrize("sync_files", [True, False])
def test_metadata_is_whole_and_on_the_disk(tmp_path, monkeypatch, sync_files):
    writer = dcp.FileSystemWriter(tmp_path, sync_files=sync_files)
    dcp.save(state(), storage_writer=writer, planner=dcp.DefaultSavePlanner())
    synced, sync = [], os.fsync

    def noting(descriptor):
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    writer.finish(Metadata({}), [])
    assert any(".metadata" in name for name in synced) and str(tmp_path) in synced
    with pytest.raises(OSError, match="full"), writer.fs.replacing(tmp_path / ".metadata") as file:
        file.write(b"half")
        raise OSError("full")
    assert dcp.FileSystemReader(tmp_path).read_metadata().state_dict_metadata == {}
    assert [path.name for path in tmp_path.iterdir()] == [".metadata"]  # which names no other file


@pytest.mark.parametrize("single_file", [True, False])
@pytest.mark.parametrize("use_collectives", [True, False])
def test_a_save_that_ends_before_its_metadata_leaves_the_checkpoint_before(
    tmp_path, single_file, use_collectives
):
    class Killed(dcp.FileSystemWriter):
        def finish(self, metadata, results):
            raise KeyboardInterrupt

    def save(writer, value):
        dcp.save(
            {"a": torch.full((3,), value), "n": value},
            storage_writer=writer(tmp_path, single_file_per_rank=single_file),
            use_collectives=use_collectives,
        )

    def loaded():
        found = {"a": torch.zeros(3), "n": 0.0}
        dcp.load(found, checkpoint_id=tmp_path)
        return [*found["a"].tolist(), found["n"]]

    save(dcp.FileSystemWriter, 1.0)
    count = len(os.listdir(tmp_path))
    with pytest.raises(dcp.CheckpointException, match="KeyboardInterrupt"):
        save(Killed, 2.0)
    assert loaded() == [1.0] * 4 and len(os.listdir(tmp_path)) > count
    (tmp_path / "__notes_1.distcp").write_text("another's")
    save(dcp.FileSystemWriter, 3.0)
    assert loaded() == [3.0] * 4 and len(os.listdir(tmp_path)) == count + 1


def test_a_view_is_saved_without_the_memory_around_it(tmp_path):
    whole = torch.arange(100_000.0)
    dcp.save({"a": whole[7:9], "b": torch.arange(6.0).view(2, 3).t()}, checkpoint_id=tmp_path)
    assert (tmp_path / "__0_0.distcp").stat().st_size < 10_000
    found = {"a": torch.zeros(2), "b": torch.zeros(3, 2)}
    dcp.load(found, checkpoint_id=tmp_path)
    assert found["a"].tolist() == [7, 8] and found["b"].tolist() == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize(
    ("name", "argument", "words"),
    [
        (b"builtins\nprint", b"called", "builtins.print"),
        (b"torch.serialization\n_get_layout", b"torch.save", "no layout torch.save"),
        (b"torch.distributed.checkpoint.filesystem\nreplacing", b"x", "filesystem.replacing"),
        (b"torch.distributed.checkpoint.filesystem\nPath", b"x", "filesystem.Path"),
        (b"torch.distributed.checkpoint.filesystem\nNone", b"x", "filesystem.None"),
    ],
)
def test_metadata_executes_nothing(tmp_path, name, argument, words):
    (tmp_path / ".metadata").write_bytes(b"c" + name + b"\n(V" + argument + b"\ntR.")
    with pytest.raises(pickle.UnpicklingError, match=words):
        dcp.FileSystemReader(tmp_path).read_metadata()


def test_exceptions_without_a_pickle_are_told_in_words():
    class Held(Exception):  # a class that other processes do not find
        pass

    error, _ = _wrap_exception(Held("a reason"))
    assert isinstance(error, RuntimeError) and "Held: a reason" in str(error)
    assert isinstance(_wrap_exception(KeyError("k"))[0], KeyError)


def test_refusals_and_partial_loads(tmp_path):
    dcp.save(state(), checkpoint_id=tmp_path, planner=dcp.DefaultSavePlanner())
    with pytest.raises(dcp.CheckpointException, match="Missing key in checkpoint state_dict: zz"):
        dcp.load({"zz": torch.ones(1)}, checkpoint_id=tmp_path)
    with pytest.raises(dcp.CheckpointException, match="Size mismatch between saved"):
        dcp.load({"a": torch.ones(7)}, checkpoint_id=tmp_path)
    found = {"zz": torch.ones(1), "a": torch.zeros(2, 3)}
    dcp.load(found, checkpoint_id=tmp_path, planner=dcp.DefaultLoadPlanner(allow_partial_load=True))
    assert found["zz"].item() == 1 and found["a"].sum() == 15
    with pytest.raises(dcp.CheckpointException, match="self.overwrite=False"):
        dcp.save(
            state(),
            storage_writer=dcp.FileSystemWriter(tmp_path, overwrite=False),
            planner=dcp.DefaultSavePlanner(),
        )


def test_chunks_that_overlap_are_found_without_comparing_each_with_each(monkeypatch):
    compared = []
    meet = default_planner._meet
    monkeypatch.setattr(default_planner, "_meet", lambda a, b: compared.append(1) or meet(a, b))

    def overlapping(*boxes):
        return default_planner._overlapping(
            [ChunkStorageMetadata(torch.Size(offsets), torch.Size(sizes)) for offsets, sizes in boxes]
        )

    columns = [((0, 4 * n), (3, 4)) for n in range(300)]
    assert overlapping(*columns) == overlapping(*columns[::-1]) == overlapping() == []
    assert len(compared) < 1000
    assert overlapping(*columns, ((1, 6), (1, 1))) == [300]
    assert overlapping(((0, 0), (2, 2)), ((0, 2), (2, 2)), ((2, 0), (2, 4))) == []
    assert overlapping(((0, 0), (2, 2)), ((1, 1), (2, 2))) == [1]


class Memory(dcp.StorageWriter, dcp.StorageReader):
    def __init__(self):
        self.items, self.metadata = {}, None

    def reset(self, checkpoint_id=None):
        pass

    def set_up_storage_writer(self, is_coordinator, *args, **kwargs):
        pass

    def set_up_storage_reader(self, metadata, is_coordinator, *args, **kwargs):
        pass

    def prepare_local_plan(self, plan):
        return plan

    def prepare_global_plan(self, plans):
        return plans

    def write_data(self, plan, planner):
        for item in plan.items:
            data = planner.resolve_data(item)
            self.items[item.index] = data if isinstance(data, io.BytesIO) else data.clone()
        return self.done([])

    def finish(self, metadata, results):
        self.metadata = metadata

    def read_metadata(self):
        return self.metadata

    def read_data(self, plan, planner):
        for item in plan.items:
            if item.type.name == "BYTE_IO":
                planner.load_bytes(item, self.items[item.storage_index])
            else:
                planner.resolve_tensor(item).copy_(self.items[item.storage_index])
        return self.done(None)

    def done(self, value):
        future = Future()
        future.set_result(value)
        return future


def test_a_storage_of_one_s_own():
    memory = Memory()
    assert isinstance(dcp.save(state(), storage_writer=memory), Metadata)
    found = empty()
    dcp.load(found, storage_reader=memory)
    assert found["a"].sum() == 15 and found["n"]["l"][1] == "s"


def test_modules_optimizers_and_later(tmp_path):
    model = torch.nn.Linear(3, 2)
    adam = torch.optim.Adam(model.parameters(), lr=0.5)
    model(torch.ones(1, 3)).sum().backward()
    adam.step()
    future = dcp.async_save(
        {"model": model, "optimizer": adam}, checkpoint_id=tmp_path, planner=dcp.DefaultSavePlanner()
    )
    kept = model.weight.detach().clone()
    model.weight.data.zero_()
    future.result()
    other = torch.nn.Linear(3, 2)
    its = torch.optim.Adam(other.parameters(), lr=0.1)
    other(torch.ones(1, 3)).sum().backward()
    its.step()
    dcp.load({"model": other, "optimizer": its}, checkpoint_id=tmp_path)
    assert torch.equal(other.weight, kept) and its.param_groups[0]["lr"] == 0.5
    assert isinstance(model, dcp.Stateful) and not isinstance(3, dcp.Stateful)
