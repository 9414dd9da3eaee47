"""Checkpoints as safetensors files of Hugging Face's layout: whole ones, or a file for each rank."""

from __future__ import annotations

import io
import json
import os
import re
from dataclasses import dataclass, replace
from typing import Any

from rushlight._engine.core.size import Size
from rushlight._engine.serialization import safetensors
from rushlight.distributed.checkpoint._consolidate_hf_safetensors import (
    INDEX,
    OFFSETS,
    SHARDING,
    SUFFIX,
    consolidate_safetensors_files,
    file_name,
    header,
    index,
    offsets_in,
)
from rushlight.distributed.checkpoint.filesystem import (
    FileSystem,
    FileSystemReader,
    FileSystemWriter,
    _done,
    _StorageInfo,
)
from rushlight.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from rushlight.distributed.checkpoint.planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner
from rushlight.distributed.checkpoint.storage import WriteResult
from rushlight.distributed.communication.work import Future

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]
_PART = re.compile(r"shard-\d{5,}-model-\d{5,}-of-\d{5,}\.safetensors")  # names of ranks' files


@dataclass
class _HFStorageInfo:
    """Which file has a part of a tensor, and how that is made."""

    relative_path: str
    shape: Size
    dtype: Any


class HuggingFaceStorageWriter(FileSystemWriter):
    """Writes tensors alone. fqn_to_index_mapping: the number of the file, from 1, that has a tensor.

    save_distributed: every rank writes its own parts, beside each other; enable_consolidation: into
    `path`/sharded, and then whole tensors into `path`.
    """

    def __init__(
        self,
        path: str,
        fqn_to_index_mapping: dict[str, int] | None = None,
        thread_count: int = 1,
        save_distributed: bool = False,
        enable_consolidation: bool = False,
        thread_count_consolidation: int = 1,
    ) -> None:
        super().__init__(path, thread_count=thread_count)
        self.fqn_to_index_mapping, self.save_distributed = fqn_to_index_mapping, save_distributed
        self.enable_consolidation = enable_consolidation
        self.thread_count_consolidation = thread_count_consolidation
        self.consolidated_output_path: str | None = None
        if enable_consolidation:
            self.consolidated_output_path = str(self.path)
            self.path = self.fs.concat_path(self.path, "sharded")

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Tell each rank the files' numbers, and its own where every rank writes.

        ValueError where several ranks would write one file, of which the last one's would be left.
        """
        numbers, writers = self.fqn_to_index_mapping, dict[int, int]()
        for rank, plan in enumerate(() if self.save_distributed else plans):
            for item in plan.items:
                if writers.setdefault(1 if numbers is None else numbers[item.index.fqn], rank) != rank:
                    raise ValueError(
                        "several ranks have tensors of one file: save_distributed=True is needed"
                    )
        told: list[dict[str, Any]] = [{} for _ in plans]
        own = 0 if self.use_collectives else self.rank or 0  # where each rank has its own plan alone
        for rank, one in enumerate(told, start=1 + own):
            if self.fqn_to_index_mapping is not None:
                one["fqn_to_index_mapping"] = self.fqn_to_index_mapping
            if self.save_distributed:
                one["shard_index"] = rank
        return [replace(plan, storage_data=one) for plan, one in zip(plans, told, strict=True)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future:
        """Write the tensors, file by file."""
        numbers = (plan.storage_data or {}).get("fqn_to_index_mapping")
        files: dict[int, list[Any]] = {}
        for item in plan.items:
            files.setdefault(1 if numbers is None else numbers[item.index.fqn], []).append(item)
        most = 1 if numbers is None else max(numbers.values())
        results = []
        for number, items in files.items():
            name = file_name(number, most, (plan.storage_data or {}).get("shard_index"))
            results += self._file(name, items, planner)
        return _done(results)

    def _file(self, name: str, items: list[Any], planner: SavePlanner) -> list[WriteResult]:
        """Write one file."""
        tensors, offsets, results = {}, {}, []
        for item in items:
            data = planner.resolve_data(item)
            if isinstance(data, io.BytesIO):
                raise ValueError(f"{item.index.fqn} is no tensor, and safetensors files have nothing else")
            if item.index.fqn in tensors:
                raise ValueError(f"{item.index.fqn}: a safetensors file has one part of a tensor")
            tensors[item.index.fqn] = data.detach().cpu().contiguous().clone()
            offsets[item.index.fqn] = {OFFSETS: list(item.tensor_data.chunk.offsets)}
            size = data.numel() * data.element_size()
            results.append(WriteResult(item.index, size, _StorageInfo(name, 0, size)))
        told = {SHARDING: json.dumps(offsets), "DCP_VERSION": "1.0", "format": "pt"}
        path = self.fs.concat_path(self.path, name)
        if isinstance(self.fs, FileSystem):
            safetensors.save_file(tensors, path, told)
        else:
            with self.fs.replacing(path) as file:
                file.write(safetensors.save(tensors, told))
        return results

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Write the index, which says what file has which tensor; ranks' parts of tensors have none."""
        written = [one for rank in results for one in rank]
        if self.save_distributed:
            if self.use_collectives:  # else other ranks' files may be this save's
                self._remove_parts_but({one.storage_data.relative_path for one in written})
            if self.consolidated_output_path is not None:
                numbers = self.fqn_to_index_mapping or dict.fromkeys(metadata.state_dict_metadata, 1)
                consolidate_safetensors_files(str(self.path), self.consolidated_output_path, numbers)
            return
        names = {one.index.fqn: one.storage_data.relative_path for one in written}
        with self.fs.replacing(self.fs.concat_path(self.path, INDEX)) as file:
            file.write(index(names, sum(one.storage_data.length for one in written)))

    def _remove_parts_but(self, names: set[str]) -> None:
        """Remove ranks' files that are left from a save before, since readers take all that are there."""
        for path in self.fs.ls(self.path):
            name = os.path.basename(path)
            if _PART.fullmatch(name) and name not in names:
                self.fs.rm_file(path)

    @property
    def metadata_path(self) -> str:
        """The index's name."""
        return INDEX


class HuggingFaceStorageReader(FileSystemReader):
    """Reads all safetensors files of a folder, whole tensors or ranks' parts."""

    def __init__(self, path: str, thread_count: int = 1) -> None:
        super().__init__(path)
        self.thread_count = thread_count

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """What the files' headers tell. ValueError where a file is missing that has a part of a tensor."""
        known: dict[str, Any] = {}
        where: dict[Any, Any] = {}
        for path in sorted(name for name in self.fs.ls(self.path) if name.endswith(SUFFIX)):
            with self.fs.create_stream(path, "rb") as file:
                told = header(file)
            for key, entry in told.items():
                if key == "__metadata__":
                    continue
                dtype, shape = safetensors._DTYPES[entry["dtype"]], entry["shape"]
                chunk = ChunkStorageMetadata(Size(offsets_in(told, key)), Size(shape))
                ends = [a + n for a, n in zip(chunk.offsets, shape, strict=True)]
                found = known.setdefault(
                    key, TensorStorageMetadata(TensorProperties(dtype=dtype), Size(ends), [])
                )
                found.chunks.append(chunk)
                found.size = Size(map(max, found.size, ends))
                where[MetadataIndex(key, chunk.offsets)] = _HFStorageInfo(path, chunk.sizes, dtype)
        for key, entry in known.items():
            if sum(chunk.sizes.numel() for chunk in entry.chunks) < entry.size.numel():
                raise ValueError(f"{key}: parts are missing of {tuple(entry.size)}")
        return Metadata(known, storage_data=where, storage_meta=StorageMeta())

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future:
        """Read the items, file by file."""
        files: dict[str, list[Any]] = {}
        for item in plan.items:
            files.setdefault(self.storage_data[item.storage_index].relative_path, []).append(item)
        for path, items in files.items():
            tensors = self._tensors(path)
            for item in items:
                self._fill(item, tensors[item.storage_index.fqn], planner)
        return _done(None)

    def _tensors(self, path: str) -> dict[str, Any]:
        """A file's tensors; of a file here, in its mapped memory."""
        if isinstance(self.fs, FileSystem):
            return safetensors.load_file(os.fspath(path))
        with self.fs.create_stream(path, "rb") as file:
            return safetensors.load(file.read())
