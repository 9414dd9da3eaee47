"""torch.PyTorchFileReader: the records of a file that torch.save wrote, one by one."""

from __future__ import annotations

import os
from typing import Any

from rushlight._engine.core.dtype import dtype
from rushlight._engine.serialization.zip_format import Reader
from rushlight._engine.tensors.tensor import Tensor, wrap


class PyTorchFileReader:
    """Reads records of a zip archive in PyTorch's form: a path, or an open file that can be searched.

    Example::

        >>> import io, rushlight as torch
        >>> file = io.BytesIO()
        >>> torch.save({"a": 1}, file)
        >>> torch.PyTorchFileReader(file).has_record("data.pkl")
        True
    """

    def __init__(self, name_or_buffer: Any) -> None:
        path = isinstance(name_or_buffer, (str, os.PathLike))
        file = open(name_or_buffer, "rb") if path else name_or_buffer  # noqa: SIM115
        self._reader = reader = Reader(file, str(name_or_buffer) if path else "archive")
        self.has_record, self.get_record, self.get_record_size = reader.has, reader.read, reader.size

    def get_all_records(self) -> list[str]:
        """The records' names, in the order of the file."""
        return [name.split("/", 1)[1] for name in self._reader._infos]

    def get_record_offset(self, name: str) -> int:
        """Where a record's bytes begin in the file."""
        return self._reader._start(self._reader._info(name), name)

    def get_storage_from_record(self, name: str, numel: int, of: dtype) -> Tensor:
        """The first `numel` elements of a record as a new tensor of one dim."""
        return wrap(self._reader.read_array(name)[: numel * of.itemsize].view(of.np))
