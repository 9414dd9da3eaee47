"""Checkpoints where fsspec reaches."""

import pytest

import rushlight as torch
from rushlight.distributed import checkpoint as dcp

fsspec_files = pytest.importorskip("rushlight.distributed.checkpoint._fsspec_filesystem")


def test_a_checkpoint_in_memory():
    writer, reader = fsspec_files.FsspecWriter, fsspec_files.FsspecReader
    saved = {"a": torch.arange(6.0).view(2, 3), "n": {"k": 3}}
    dcp.save(saved, storage_writer=writer("memory://checkpoints/one"))
    found = {"a": torch.zeros(2, 3), "n": {"k": 0}}
    again = reader("memory://checkpoints/one")
    dcp.load(found, storage_reader=again)
    assert found["n"]["k"] == 3 and torch.equal(found["a"], saved["a"])
    assert sorted(again.fs.ls("memory://checkpoints/one")) == [
        "/checkpoints/one/.metadata",
        "/checkpoints/one/__0_0.distcp",
    ]
    with pytest.raises(dcp.CheckpointException, match="already exists"):
        dcp.save(saved, storage_writer=writer("memory://checkpoints/one", overwrite=False))
    assert not writer.validate_checkpoint_id("no-such-protocol://a")


def test_a_file_that_an_error_leaves_is_removed(tmp_path):
    files = dcp.filesystem.FileSystem()
    with pytest.raises(KeyError), files.create_stream(tmp_path / "half", "wb") as stream:
        stream.write(b"1")
        raise KeyError
    assert files.ls(tmp_path) == []
