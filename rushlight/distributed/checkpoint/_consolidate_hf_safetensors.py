"""Whole tensors of the safetensors files that ranks have written their parts to."""

from __future__ import annotations

import json
import math
import os
import struct
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight._engine.serialization import safetensors
from rushlight._engine.serialization.atomic import replacing
from rushlight.distributed._shard._utils import narrow_tensor_by_index
from rushlight.distributed.checkpoint.utils import _DistWrapper

__all__ = ["consolidate_safetensors_files", "consolidate_safetensors_files_on_every_rank"]
SUFFIX, INDEX = ".safetensors", "model.safetensors.index.json"
SHARDING, OFFSETS = "DCP_SHARDING_INFO", "saved_offsets"


def file_name(number: int, most: int, shard: int | None = None) -> str:
    """A file's name: its number, of how many, and which rank's it is."""
    name = f"model-{number:05}-of-{most:05}{SUFFIX}"
    return name if shard is None else f"shard-{shard:05}-{name}"


def header(file: Any) -> dict[str, Any]:
    """What a file tells of its tensors."""
    (length,) = struct.unpack("<Q", file.read(8))
    found: dict[str, Any] = json.loads(file.read(length))
    return found


def offsets_in(told: dict[str, Any], key: str) -> list[int]:
    """Where a tensor of a file begins in the whole one."""
    sharding = (told.get("__metadata__") or {}).get(SHARDING)
    if sharding is None:
        return [0] * len(told[key]["shape"])
    found: list[int] = json.loads(sharding)[key][OFFSETS]
    return found


def index(names: dict[str, str], total: int) -> bytes:
    """Which file has which tensor."""
    return json.dumps({"metadata": {"total_size": total}, "weight_map": names}, indent=2).encode()


def _parts(folder: str) -> dict[str, list[tuple[str, list[int], list[int]]]]:
    """(file, offsets, sizes) of the parts of each tensor."""
    found: dict[str, list[tuple[str, list[int], list[int]]]] = {}
    for name in sorted(os.listdir(folder)):
        if not name.endswith(SUFFIX):
            continue
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            told = header(file)
        for key, entry in told.items():
            if key != "__metadata__":
                found.setdefault(key, []).append((path, offsets_in(told, key), entry["shape"]))
    return found


def _write(folder: str, output: str, numbers: dict[str, int], most: int) -> tuple[dict[str, str], int]:
    """Write the files of these tensors; (which has which, how many bytes)."""
    parts, opened = _parts(folder), dict[str, Any]()
    names, total = {}, 0
    os.makedirs(output, exist_ok=True)
    for number in sorted(set(numbers.values())):
        whole: dict[str, Any] = {}
        for key in [key for key, its in numbers.items() if its == number]:
            for path, offsets, sizes in parts[key]:
                if path not in opened:
                    opened[path] = safetensors.load_file(path)
                part = opened[path][key]
                if key not in whole:
                    ends = [[a + n for a, n in zip(o, s, strict=True)] for _, o, s in parts[key]]
                    whole[key] = torch.empty([max(sides) for sides in zip(*ends)], dtype=part.dtype)
                narrow_tensor_by_index(whole[key], offsets, sizes).copy_(part)
            if sum(math.prod(sizes) for _, _, sizes in parts[key]) < whole[key].numel():
                raise ValueError(f"{key}: parts are missing of {tuple(whole[key].shape)}")
            names[key] = file_name(number, most)
            total += whole[key].numel() * whole[key].element_size()
        safetensors.save_file(whole, os.path.join(output, file_name(number, most)), {"format": "pt"})
    return names, total


def consolidate_safetensors_files(
    input_dir: str, output_dir: str, fqn_to_index_mapping: dict[str, int], num_threads: int = 1
) -> None:
    """Write whole tensors, into the files of these numbers, and the index."""
    names, total = _write(input_dir, output_dir, fqn_to_index_mapping, max(fqn_to_index_mapping.values()))
    with replacing(os.path.join(output_dir, INDEX)) as file:
        file.write(index(names, total))


def consolidate_safetensors_files_on_every_rank(
    input_dir: str,
    output_dir: str,
    fqn_to_index_mapping: dict[str, int],
    num_threads: int = 1,
    process_group: Any = None,
) -> None:
    """The same, each rank some of the files; collective. CheckpointException on all ranks where one fails."""
    ranks = _DistWrapper(process_group, dist.is_initialized(), 0)
    rank, size = ranks.get_rank(), ranks.get_world_size()
    own = {key: number for key, number in fqn_to_index_mapping.items() if number % size == rank}

    def write() -> tuple[dict[str, str], int]:
        return _write(input_dir, output_dir, own, max(fqn_to_index_mapping.values()))

    def finish(written: list[tuple[dict[str, str], int]]) -> None:
        names = {key: name for its, _ in written for key, name in its.items()}
        with replacing(os.path.join(output_dir, INDEX)) as file:
            file.write(index(names, sum(total for _, total in written)))

    ranks.all_reduce("consolidate", write, finish)
