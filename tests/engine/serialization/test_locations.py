"""Where loaded tensors go, what load reads from, and memory maps."""

from __future__ import annotations

import io
import mmap
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight as torch

from .archives import saved, tensor


def from_cuda() -> io.BytesIO:
    """A file that says its storage was on a GPU."""
    out = io.BytesIO()
    with zipfile.ZipFile(saved(tensor(3))) as file, zipfile.ZipFile(out, "w") as changed:
        for name in file.namelist():
            content = file.read(name)
            changed.writestr(name, content.replace(b"X\x03\0\0\0cpuq", b"X\x06\0\0\0cuda:0q"))
    out.seek(0)
    return out


def test_a_gpu_file_needs_a_place_on_the_cpu() -> None:
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device but torch"):
        torch.load(from_cuda())
    with pytest.raises(RuntimeError, match="map_location=torch.device\\('cpu'\\)"):
        torch.load(from_cuda(), map_location={"cuda:1": "cpu"})
    seen = []

    def keep(storage: Any, location: str) -> Any:
        seen.append((type(storage).__name__, location))
        return storage

    for place in ("cpu", torch.device("cpu"), {"cuda:0": "cpu"}, keep):
        assert torch.load(from_cuda(), map_location=place).tolist() == [0, 1, 2]
    assert seen == [("UntypedStorage", "cuda:0")]


def test_places() -> None:
    assert torch.load(saved(tensor(3)), map_location=lambda s, where: None).tolist() == [0, 1, 2]
    meta = torch.load(saved([tensor(2, 3), tensor(2)]), map_location="meta")
    assert [(t.device.type, t.shape) for t in meta] == [("meta", (2, 3)), ("meta", (2,))]
    with pytest.raises(TypeError, match="not callable"):
        torch.load(saved(1), map_location=3)
    with pytest.raises(RuntimeError, match="don't know how to restore data location of .* \\(tagged with"):
        torch.load(saved(tensor(1)), map_location="somewhere")
    with pytest.raises(RuntimeError, match="CUDA"):
        torch.load(saved(tensor(1)), map_location="cuda")


def test_a_package_for_another_device() -> None:
    from rushlight._engine.serialization import locations

    seen = []

    def restore(storage: Any, location: str) -> Any:
        if location == "elsewhere":
            seen.append(storage.nbytes())
            return storage
        return None

    before = list(locations._packages)
    torch.serialization.register_package(1, lambda storage: None, restore)
    try:
        assert torch.load(saved(tensor(3)), map_location="elsewhere").tolist() == [0, 1, 2]
    finally:
        locations._packages[:] = before
    assert seen == [12]
    assert torch.serialization.location_tag(tensor(1).untyped_storage()) == "cpu"


# --- memory maps ----------------------------------------------------------------------------------


def test_a_mapped_file_is_read_when_used_and_not_written(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    torch.save({"a": tensor(1000), "b": tensor(5, dtype=np.int64)}, path)
    before = path.read_bytes()
    loaded = torch.load(path, mmap=True)
    assert loaded["b"].tolist() == [0, 1, 2, 3, 4] and loaded["a"].storage_offset() == 0
    assert loaded["a"].untyped_storage().nbytes() == 4000
    assert loaded["a"].data_ptr() % 64 == 0
    loaded["a"][0] = 7.0
    assert loaded["a"][0].item() == 7.0 and path.read_bytes() == before
    torch.save({"a": tensor(1)}, path)  # the old file lives on under the map
    assert loaded["a"][999].item() == 999.0


def test_a_shared_map_writes_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    torch.save(tensor(10), path)
    with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        torch.load(path, mmap=True)[0] = 7.0
    with pytest.raises(RuntimeError, match="checksum"):
        torch.load(path)
    assert torch.load(path, mmap=True)[0].item() == 7.0
    assert torch.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    with pytest.raises(ValueError, match="expected mmap.MAP_PRIVATE or mmap.MAP_SHARED"):
        torch.serialization.set_default_mmap_options(99)


def test_what_cannot_be_mapped(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="f must be a file path"):
        torch.load(saved(1), mmap=True)
    torch.save(1, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        torch.load(tmp_path / "old.pt", mmap=True)


# --- files ----------------------------------------------------------------------------------------


class Bare:
    """A file with the least that load needs."""

    def __init__(self, data: bytes) -> None:
        inner = io.BytesIO(data)
        self.read, self.seek, self.tell = inner.read, inner.seek, inner.tell


def test_file_objects(tmp_path: Path) -> None:
    assert torch.load(Bare(saved(tensor(3)).getvalue())).tolist() == [0, 1, 2]
    with (tmp_path / "a.pt").open("wb") as file:
        torch.save(tensor(3), file)
    with (tmp_path / "a.pt").open("rb") as file:
        assert torch.load(file).tolist() == [0, 1, 2]
    with (tmp_path / "a.pt").open("rb", buffering=0) as file:
        assert torch.load(file).tolist() == [0, 1, 2]
    with pytest.raises(AttributeError, match="You can only torch.load from a file that is seekable"):
        torch.load(3)


def test_old_files_one_after_another(tmp_path: Path) -> None:
    with (tmp_path / "a.pt").open("wb") as file:
        for n in (1, 2):
            torch.save(tensor(n), file, _use_new_zipfile_serialization=False)
    with (tmp_path / "a.pt").open("rb") as file:
        assert [torch.load(file).tolist() for _ in range(2)] == [[0], [0, 1]]
    with (tmp_path / "a.pt").open("rb") as file:
        assert [torch.load(file, weights_only=False).tolist() for _ in range(2)] == [[0], [0, 1]]
