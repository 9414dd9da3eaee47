"""Checkpoints in a folder, in PyTorch's form: files of items, one after the other, and a pickle."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, is_dataclass, replace
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import rushlight as torch
from rushlight._engine.core.size import Size
from rushlight._engine.serialization.atomic import replacing
from rushlight._engine.serialization.json_state import decode
from rushlight._engine.serialization.pickler import dump
from rushlight.distributed._shard._utils import narrow_tensor_by_index
from rushlight.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from rushlight.distributed.checkpoint.planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    SavePlan,
    SavePlanner,
    WriteItemType,
)
from rushlight.distributed.checkpoint.storage import StorageReader, StorageWriter, WriteResult
from rushlight.distributed.checkpoint.utils import _create_file_view
from rushlight.distributed.communication.work import Future

__all__ = ["FileSystem", "FileSystemBase", "FileSystemReader", "FileSystemWriter"]
SUFFIX, METADATA = ".distcp", ".metadata"
_ITEMS = re.compile(r"__\d+_(?:[0-9a-f]{8}_)?\d+\.distcp")  # names of files of items
MANIFEST = "manifest.json"  # of what Rushlight once wrote
# What metadata is made of; in older checkpoints, of tensors in shards, too.
_MODULES = (
    "torch.distributed.checkpoint.metadata",
    "torch.distributed.checkpoint.filesystem",
    "torch.distributed.checkpoint.planner",
    "torch.distributed._shard.sharded_tensor.metadata",
)


# --- how files are reached ---------------------------------------------------------------------------

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


# --- what a folder has -------------------------------------------------------------------------------


@dataclass
class _StorageInfo:
    """Where an item lies: file, first byte, length."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if v is not None}


@dataclass
class _InFile:
    """In which file of Rushlight's form a part of a tensor lies."""

    relative_path: str


@dataclass
class _Value:
    """A value that stands in a manifest of Rushlight's form."""

    relative_path: str
    value: Any


@dataclass
class _StoragePrefix:
    """What a rank's files begin with."""

    prefix: str


def _done(value: Any) -> Future:
    found = Future()
    found.set_result(value)
    return found


class FileSystemWriter(StorageWriter):
    """Writes to a folder, which it makes. overwrite: whether one that has a checkpoint may be written to.

    The other options are PyTorch's and change nothing: files are written one after the other.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
        **options: Any,
    ) -> None:
        self.fs: FileSystemBase = FileSystem()
        self.path = self.fs.init_path(path)
        self.single_file_per_rank, self.sync_files = single_file_per_rank, sync_files
        self.overwrite = overwrite
        self.save_id = str(uuid.uuid4())
        self.rank: int | None = None
        self.use_collectives = True

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begin a checkpoint, in another folder if one is told."""
        if checkpoint_id:
            self.path = self.fs.init_path(checkpoint_id)
        self.save_id = str(uuid.uuid4())

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Note the rank, which writes metadata of its own where ranks do not write together."""
        self.rank, self.use_collectives = kwargs.get("rank"), kwargs.get("use_collectives", True)

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Make the folder. RuntimeError where it has a checkpoint that is not to be overwritten."""
        self.fs.mkdir(self.path)
        if self.fs.exists(self.fs.concat_path(self.path, METADATA)) and not self.overwrite:
            raise RuntimeError("Checkpoint already exists and self.overwrite=False.")
        if self.rank is not None and not self.use_collectives:
            return replace(plan, storage_data=_StoragePrefix(f"__{self.rank}_{self._apart()}"))
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Give each rank its files' names."""
        apart = self._apart()
        return [
            replace(plan, storage_data=_StoragePrefix(f"__{rank}_{apart}"))
            if plan.storage_data is None
            else plan
            for rank, plan in enumerate(plans)
        ]

    def _apart(self) -> str:
        """What keeps names apart from those of the files of a checkpoint, which is there until finish()."""
        names = METADATA, f"__{self.rank}{METADATA}"
        there = any(self.fs.exists(self.fs.concat_path(self.path, name)) for name in names)
        return f"{uuid.uuid4().hex[:8]}_" if there else ""

    def _own_metadata(self) -> str:
        return METADATA if self.use_collectives else f"__{self.rank}{METADATA}"

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future:
        """Write the items, bytes first."""
        names = (f"{plan.storage_data.prefix}{number}{SUFFIX}" for number in range(len(plan.items) + 1))
        items = sorted(plan.items, key=_is_tensor)
        groups = [items] if self.single_file_per_rank else [[item] for item in items]
        results: list[WriteResult] = []
        for name, group in zip(names, groups, strict=False):
            if not group:
                continue
            with self.fs.replacing(self.fs.concat_path(self.path, name)) as file:
                for item in group:
                    start = file.tell()
                    self._write(file, planner.resolve_data(item))
                    size = file.tell() - start
                    results.append(WriteResult(item.index, size, _StorageInfo(name, start, size)))
                if self.sync_files:
                    _to_disk(file)
        return _done(results)

    @staticmethod
    def _write(file: Any, data: Any) -> None:
        if isinstance(data, io.BytesIO):
            file.write(data.getbuffer())
            return
        data = data.detach().cpu().contiguous()
        if data.layout is torch.strided and data.untyped_storage().nbytes() != data.nbytes:
            data = data.clone()  # of a view, torch.save writes all memory
        torch.save(data, SimpleNamespace(write=file.write))  # which is not flushed after each tensor

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Write the metadata, which makes the checkpoint complete; the one before is then removed."""
        metadata.storage_data = {one.index: one.storage_data for rank in results for one in rank}
        metadata.storage_meta = self.storage_meta()
        metadata.version = "1.0.0"
        with self.fs.replacing(self.fs.concat_path(self.path, self._own_metadata())) as file:
            file.write(dump(metadata, _nothing))
            if self.sync_files:
                _to_disk(file)
        with suppress(Exception):  # the checkpoint is whole; another rank's metadata may be damaged
            self._remove_others()

    def _remove_others(self) -> None:
        """Remove files of items that no metadata names: of the checkpoint before, of saves that failed.

        Where each rank has metadata of its own, its own files alone, since others may be writing.
        """
        names = [os.path.basename(os.fspath(path)) for path in self.fs.ls(self.path)]
        begin = "__" if self.use_collectives else f"__{self.rank}_"
        kept = set()
        for name in names:
            if name.endswith(METADATA):
                with self.fs.create_stream(self.fs.concat_path(self.path, name), "rb") as file:
                    kept |= {one.relative_path for one in _Unpickler(file).load().storage_data.values()}
        for name in names:
            if name.startswith(begin) and _ITEMS.fullmatch(name) and name not in kept:
                self.fs.rm_file(self.fs.concat_path(self.path, name))

    def storage_meta(self) -> StorageMeta | None:
        """Where it was saved, and the save's own name."""
        return StorageMeta(checkpoint_id=self.checkpoint_id, save_id=self.save_id)

    @property
    def checkpoint_id(self) -> str:
        """The folder."""
        return os.fspath(self.path)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether it is a path here."""
        return FileSystem.validate_checkpoint_id(checkpoint_id)


def _to_disk(file: Any) -> None:
    """Have what was written to a file kept, where the file lies on a disk of this machine."""
    file.flush()
    with suppress(AttributeError, OSError):
        os.fsync(file.fileno())


def _is_tensor(item: Any) -> bool:
    return bool(item.type != WriteItemType.BYTE_IO)


def _nothing() -> Any:
    def persistent_id(value: Any) -> None:
        return None

    return persistent_id


class FileSystemReader(StorageReader):
    """Reads from a folder, of PyTorch's form or Rushlight's."""

    def __init__(self, path: str | os.PathLike[str], _extension_registry: Any = None, **options: Any) -> None:
        self.fs: FileSystemBase = FileSystem()
        self.path = self.fs.init_path(path)
        self.storage_data: dict[Any, Any] = {}
        self.load_id = str(uuid.uuid4())

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Read another folder, if one is told."""
        self.storage_data = {}
        self.load_id = str(uuid.uuid4())
        if checkpoint_id:
            self.path = self.fs.init_path(checkpoint_id)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """What the folder holds. FileNotFoundError where it has no checkpoint."""
        rank = kwargs.get("rank")
        path = self.fs.concat_path(self.path, METADATA if rank is None else f"__{rank}{METADATA}")
        if not self.fs.exists(path) and self.fs.exists(self.fs.concat_path(self.path, MANIFEST)):
            with self.fs.create_stream(self.fs.concat_path(self.path, MANIFEST), "r") as file:
                return _of_manifest(json.load(file))
        with self.fs.create_stream(path, "rb") as file:
            metadata: Metadata = _Unpickler(file).load()
        told = getattr(metadata, "storage_meta", None) or StorageMeta()  # older ones have none
        told.load_id = self.load_id
        metadata.storage_meta = told
        return metadata

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        """Note where items lie."""
        self.storage_data = metadata.storage_data or {}

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """The plan as it is."""
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """The plans as they are."""
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future:
        """Read the items, file by file."""
        files: dict[str, list[Any]] = {}
        for item in plan.items:
            files.setdefault(self.storage_data[item.storage_index].relative_path, []).append(item)
        own = files.pop("", [])  # of values in a manifest
        for item in own:
            buffer = io.BytesIO()
            torch.save(decode(self.storage_data[item.storage_index].value, {}), buffer)
            buffer.seek(0)
            planner.load_bytes(item, buffer)
        for name, items in files.items():
            if isinstance(self.storage_data[items[0].storage_index], _InFile):
                self._read_own(name, items, planner)
                continue
            with self.fs.create_stream(self.fs.concat_path(self.path, name), "rb") as file:
                for item in items:
                    self._read(file, item, planner)
        return _done(None)

    def _read(self, file: Any, item: Any, planner: LoadPlanner) -> None:
        info = self.storage_data[item.storage_index]
        part = _create_file_view(file, info.offset, info.length)
        if item.type == LoadItemType.BYTE_IO:
            planner.load_bytes(item, io.BytesIO(part.read()))
            return
        self._fill(item, torch.load(part, map_location="cpu", weights_only=True), planner)

    def _read_own(self, name: str, items: list[Any], planner: LoadPlanner) -> None:
        """Read the items of a file of Rushlight's form."""
        path = os.fspath(self.fs.concat_path(self.path, name))
        tensors = torch.load(path, mmap=True, weights_only=True)
        for item in items:
            self._fill(item, tensors[item.storage_index.fqn], planner)

    @staticmethod
    def _fill(item: Any, tensor: Any, planner: LoadPlanner) -> None:
        """Write an item's box of a stored tensor."""
        stored = narrow_tensor_by_index(tensor, item.storage_offsets, item.lengths)
        target = planner.resolve_tensor(item).detach()
        if target.size() != stored.size():
            raise AssertionError(
                f"req {item.storage_index} mismatch sizes {target.size()} vs {stored.size()}"
            )
        target.copy_(stored)
        planner.commit_tensor(item, target)

    @property
    def checkpoint_id(self) -> str:
        """The folder."""
        return os.fspath(self.path)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether it is a path here."""
        return FileSystemWriter.validate_checkpoint_id(checkpoint_id)


class _Unpickler(pickle.Unpickler):
    """Reads metadata, and calls nothing but what metadata is made of."""

    def find_class(self, module: str, name: str) -> Any:
        public = module.replace("rushlight", "torch", 1)
        if public in _MODULES:
            from importlib import import_module

            found = getattr(import_module(public.replace("torch", "rushlight", 1)), name, None)
            if is_dataclass(found) or (isinstance(found, type) and issubclass(found, Enum)):
                return found  # not what the module has imported, nor its functions
        if public == "torch" and (name == "Size" or isinstance(getattr(torch, name, None), torch.dtype)):
            return getattr(torch, name)
        if name == "_get_layout":
            return _layout
        if (module, name) in (("collections", "OrderedDict"), ("builtins", "set"), ("builtins", "frozenset")):
            return super().find_class(module, name)
        if module in ("pathlib", "pathlib._local"):
            return Path
        raise pickle.UnpicklingError(f"a checkpoint's metadata has no {module}.{name}")


def _layout(name: str) -> Any:
    found = getattr(torch, name.removeprefix("torch."), None)
    if not isinstance(found, torch.layout):
        raise pickle.UnpicklingError(f"there is no layout {name}")
    return found


def _of_manifest(manifest: dict[str, Any]) -> Metadata:
    """The metadata of a folder in Rushlight's own form."""
    known: dict[str, Any] = {}
    where: dict[Any, Any] = {}
    for name, value in manifest["values"].items():
        known[name], where[MetadataIndex(name)] = BytesStorageMetadata(), _Value("", value)
    for name, entry in manifest["tensors"].items():
        chunks = [ChunkStorageMetadata(Size(p["offsets"]), Size(p["sizes"])) for p in entry["parts"]]
        properties = TensorProperties(dtype=getattr(torch, entry["dtype"].removeprefix("torch.")))
        known[name] = TensorStorageMetadata(properties, Size(entry["shape"]), chunks)
        for part, chunk in zip(entry["parts"], chunks, strict=True):
            where[MetadataIndex(name, chunk.offsets)] = _InFile(part["file"])
    keys = {name: tuple(way) for name, way in manifest.get("keys", {}).items()}
    return Metadata(known, planner_data=keys or None, storage_data=where)
