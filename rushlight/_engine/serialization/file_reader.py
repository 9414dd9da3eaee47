"""torch.PyTorchFileReader and PyTorchFileWriter: the records of torch.save's files, one by one."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from rushlight._engine.core.dtype import dtype
from rushlight._engine.serialization.zip_format import Reader, Writer
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
        self.has_record: Callable[[str], bool] = reader.has
        self.get_record: Callable[[str], bytes] = reader.read
        self.get_record_size: Callable[[str], int] = reader.size

    def get_all_records(self) -> list[str]:
        """The records' names, in the order of the file."""
        return [name.split("/", 1)[1] for name in self._reader._infos]

    def get_record_offset(self, name: str) -> int:
        """Where a record's bytes begin in the file."""
        return self._reader._start(self._reader._info(name), name)

    def get_storage_from_record(self, name: str, numel: int, of: dtype) -> Tensor:
        """The first `numel` elements of a record as a new tensor of one dim."""
        return wrap(self._reader.read_array(name)[: numel * of.itemsize].view(of.np))


class PyTorchFileWriter:
    """Writes records of a zip archive in PyTorch's form: to a path, or a file open for writing.

    Example::

        >>> import io, rushlight as torch
        >>> file = io.BytesIO()
        >>> writer = torch.serialization.PyTorchFileWriter(file)
        >>> writer.write_record("a", b"12", 2)
        >>> writer.write_end_of_file()
        >>> torch.PyTorchFileReader(file).get_record("a")
        b'12'
    """

    def __init__(self, name_or_buffer: Any, archive: str = "archive") -> None:
        self._own = isinstance(name_or_buffer, (str, os.PathLike))
        self._file = open(name_or_buffer, "wb") if self._own else name_or_buffer  # noqa: SIM115
        self._writer = Writer(self._file, archive)
        self._written: list[str] = []
        self._version = 3

    def set_min_version(self, version: int) -> None:
        """The version of the format that the archive says is at least this."""
        self._version = max(self._version, version)

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Add a record: the first `size` bytes of data, an object with a buffer, a text or a storage."""
        data = data.encode() if isinstance(data, str) else data
        held = memoryview(data._bytes()) if hasattr(data, "_bytes") else memoryview(data)
        self._writer.write(name, held.cast("B")[:size] if size else b"")
        self._written.append(name)

    def write_record_metadata(self, name: str, size: int) -> None:
        """Add a record of `size` zeros: its place in the archive, which is written to later."""
        self.write_record(name, bytes(size), size)

    def write_text(self, name: str, data: bytes) -> None:
        """Add a record of code, which is compressed where that is worth it."""
        self._writer.write_text(name, data)
        self._written.append(name)

    def get_all_written_records(self) -> set[str]:
        """The names of the records so far."""
        return set(self._written)

    def archive_name(self) -> str:
        """The folder inside the archive."""
        return self._writer._archive

    def write_end_of_file(self) -> None:
        """Write the version and the directory; nothing can be added afterwards."""
        record = "version" if self._version < 6 else ".data/version"
        self._writer.finish(record, f"{self._version}\n".encode())
        if self._own:
            self._file.close()
