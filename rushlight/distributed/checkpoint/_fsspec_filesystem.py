"""Checkpoints wherever fsspec reaches: memory://, s3://, ...
(torch.distributed.checkpoint._fsspec_filesystem).
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from fsspec.core import url_to_fs

from rushlight.distributed.checkpoint.filesystem import (
    FileSystemBase,
    FileSystemReader,
    FileSystemWriter,
    StrPath,
    removing,
)

__all__ = ["FsspecReader", "FsspecWriter"]


class FileSystem(FileSystemBase):
    """The files of an address, which `init_path` tells."""

    def __init__(self) -> None:
        self.fs: Any = None

    def create_stream(self, path: StrPath, mode: str) -> AbstractContextManager[Any]:
        """An open file."""
        if self.fs is None:
            raise AssertionError("fs should not be None")
        path = os.fspath(path)
        return removing(self, path, mode, self.fs.open(path, mode))

    def concat_path(self, path: StrPath, suffix: str) -> StrPath:
        """A path below another."""
        return os.path.join(path, suffix)

    def init_path(self, path: StrPath, **kwargs: Any) -> StrPath:
        """The path; kwargs: options of its file system."""
        self.fs, _ = url_to_fs(path, **kwargs)
        return path

    def rename(self, path: StrPath, new_path: StrPath) -> None:
        """Give a file another name."""
        self.fs.rename(path, new_path)

    def mkdir(self, path: StrPath) -> None:
        """Make a folder and those above it."""
        self.fs.makedirs(path, exist_ok=True)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: StrPath) -> bool:
        """Whether fsspec knows its protocol."""
        if isinstance(checkpoint_id, Path):
            return False
        try:
            url_to_fs(checkpoint_id)
        except ValueError:
            return False
        return True

    def exists(self, path: StrPath) -> bool:
        """Whether there is a file or a folder."""
        return bool(self.fs.exists(path))

    def rm_file(self, path: StrPath) -> None:
        """Remove a file."""
        self.fs.rm(path)

    def ls(self, path: StrPath) -> list[str]:
        """The files of a folder."""
        return list(self.fs.ls(path, detail=False))


class FsspecWriter(FileSystemWriter):
    """Writes to an address. kwargs: options of its file system; the others are FileSystemWriter's."""

    def __init__(
        self,
        path: StrPath,
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        overwrite: bool = True,
        _extensions: Any = None,
        serialization_format: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(path, single_file_per_rank, sync_files, overwrite=overwrite)
        files = FileSystem()
        self.fs, self.path = files, files.init_path(path, **kwargs)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: StrPath) -> bool:
        """Whether fsspec knows its protocol."""
        return FileSystem.validate_checkpoint_id(checkpoint_id)


class FsspecReader(FileSystemReader):
    """Reads from an address. kwargs: options of its file system."""

    def __init__(self, path: StrPath, **kwargs: Any) -> None:
        super().__init__(path)
        files = FileSystem()
        self.fs, self.path = files, files.init_path(path, **kwargs)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: StrPath) -> bool:
        """Whether fsspec knows its protocol."""
        return FileSystem.validate_checkpoint_id(checkpoint_id)
