"""Records of a package that was unpacked into a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from rushlight._engine.tensors.tensor import wrap


class DirectoryReader:
    """What PyTorchFileReader is for archives, for a folder that has the same files."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = os.fspath(directory)

    def _path(self, name: str) -> Path:
        return Path(self.directory) / name

    def get_record(self, name: str) -> bytes:
        """The content of a record."""
        return self._path(name).read_bytes()

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Any:
        """The first `numel` elements of a record as a new tensor of one dim."""
        return wrap(self.read_array(name)[: numel * dtype.itemsize].view(dtype.np))

    def read_array(self, name: str) -> Any:
        """The content of a record as a fresh array of bytes."""
        return np.fromfile(self._path(name), np.uint8)

    def size(self, name: str) -> int:
        """The length of a record in bytes."""
        return self._path(name).stat().st_size

    def has_record(self, path: str) -> bool:
        """Whether there is such a file."""
        return self._path(path).is_file()

    has, read = has_record, get_record  # as readers of archives say it

    def get_all_records(self) -> list[str]:
        """The paths of all files, from the folder on."""
        top = Path(self.directory)
        return [path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_file()]

    def serialization_id(self) -> str:
        """The id of the content; empty where it was not written."""
        record = ".data/serialization_id"
        return self.get_record(record).decode() if self.has_record(record) else ""
