"""How writers and readers of checkpoints reach files: on this machine, or another way that a class tells."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from rushlight._engine.serialization.atomic import replacing

StrPath = str | os.PathLike[str]


class FileSystemBase(ABC):
    """What a way to reach files must answer."""

    @abstractmethod
    def create_stream(self, path: StrPath, mode: str) -> AbstractContextManager[Any]:
        """An open file; one that was to be written is removed where an error ends it."""

    @abstractmethod
    def concat_path(self, path: StrPath, suffix: str) -> StrPath:
        """A path below another."""

    @abstractmethod
    def rename(self, path: StrPath, new_path: StrPath) -> None:
        """Give a file another name."""

    def replacing(self, path: StrPath) -> AbstractContextManager[Any]:
        """An open file that takes the place of what has its name once the block ends well."""
        return renaming(self, f"{os.fspath(path)}.tmp", path)

    @abstractmethod
    def init_path(self, path: StrPath) -> StrPath:
        """A path as the other methods take it."""

    @abstractmethod
    def mkdir(self, path: StrPath) -> None:
        """Make a folder and those above it, where they are missing."""

    @classmethod
    @abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: StrPath) -> bool:
        """Whether it is a path of this way."""

    @abstractmethod
    def exists(self, path: StrPath) -> bool:
        """Whether there is a file or a folder."""

    @abstractmethod
    def rm_file(self, path: StrPath) -> None:
        """Remove a file."""

    def ls(self, path: StrPath) -> list[str]:
        """The files of a folder."""
        raise NotImplementedError("ls() is not implemented by this filesystem")


@contextmanager
def removing(files: FileSystemBase, path: StrPath, mode: str, stream: Any) -> Iterator[Any]:
    """A stream; if an error ends what writes it, its file is removed."""
    with stream:
        try:
            yield stream
        except BaseException:
            if any(c in mode for c in "w+a"):
                with suppress(OSError):
                    files.rm_file(path)
            raise


@contextmanager
def renaming(files: FileSystemBase, temporary: StrPath, path: StrPath) -> Iterator[Any]:
    """A file to write to, which gets its name when it is whole."""
    with files.create_stream(temporary, "wb") as stream:
        yield stream
    files.rename(temporary, path)


class FileSystem(FileSystemBase):
    """This machine's files."""

    def create_stream(self, path: StrPath, mode: str) -> AbstractContextManager[Any]:
        """An open file."""
        return removing(self, path, mode, open(path, mode))

    def concat_path(self, path: StrPath, suffix: str) -> StrPath:
        """A path below another."""
        return Path(path) / suffix

    def init_path(self, path: StrPath) -> StrPath:
        """As a Path."""
        return Path(path)

    def replacing(self, path: StrPath) -> AbstractContextManager[Any]:
        """An open file that takes the place of what has its name; on the disk when the block has ended."""
        return replacing(os.fspath(path))

    def rename(self, path: StrPath, new_path: StrPath) -> None:
        """Give a file another name, in place of one that has it."""
        os.replace(path, new_path)

    def mkdir(self, path: StrPath) -> None:
        """Make a folder and those above it."""
        Path(path).mkdir(parents=True, exist_ok=True)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: StrPath) -> bool:
        """Whether it is a path here: of no protocol, and below a folder that can be written to."""
        if isinstance(checkpoint_id, Path):
            return True
        return "://" not in os.fspath(checkpoint_id)

    def exists(self, path: StrPath) -> bool:
        """Whether there is a file or a folder."""
        return Path(path).exists()

    def rm_file(self, path: StrPath) -> None:
        """Remove a file."""
        Path(path).unlink()

    def ls(self, path: StrPath) -> list[str]:
        """The files of a folder."""
        return [os.fspath(found) for found in Path(path).iterdir()]
