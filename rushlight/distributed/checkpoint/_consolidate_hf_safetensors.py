"""Whole tensors of the safetensors files that ranks have written their parts to."""

from __future__ import annotations

import json
import os
import struct
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight._engine.serialization import safetensors
from rushlight.distributed._shard._utils import narrow_tensor_by_index

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


def write_index(file: Any, names: dict[str, str], total: int) -> None:
    """Which file has which tensor."""
    json.dump({"metadata": {"total_size": total}, "weight_map": names}, file, indent=2)


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
            names[key] = file_name(number, most)
            total += whole[key].numel() * whole[key].element_size()
        safetensors.save_file(whole, os.path.join(output, file_name(number, most)), {"format": "pt"})
    return names, total


def consolidate_safetensors_files(
    input_dir: str, output_dir: str, fqn_to_index_mapping: dict[str, int], num_threads: int = 1
) -> None:
    """Write whole tensors, into the files of these numbers, and the index."""
    names, total = _write(input_dir, output_dir, fqn_to_index_mapping, max(fqn_to_index_mapping.values()))
    with open(os.path.join(output_dir, INDEX), "w", encoding="utf-8") as file:
        write_index(file, names, total)


def consolidate_safetensors_files_on_every_rank(
    input_dir: str,
    output_dir: str,
    fqn_to_index_mapping: dict[str, int],
    num_threads: int = 1,
    process_group: Any = None,
) -> None:
    """The same, each rank some of the files; collective."""
    rank = dist.get_rank(process_group) if dist.is_initialized() else 0
    size = dist.get_world_size(process_group) if dist.is_initialized() else 1
    own = {key: number for key, number in fqn_to_index_mapping.items() if number % size == rank}
    written = [_write(input_dir, output_dir, own, max(fqn_to_index_mapping.values()))]
    if dist.is_initialized():
        gathered: list[Any] = [None] * size
        dist.all_gather_object(gathered, written[0], group=process_group)
        written = gathered
    if rank == 0:
        names = {key: name for its, _ in written for key, name in its.items()}
        with open(os.path.join(output_dir, INDEX), "w", encoding="utf-8") as file:
            write_index(file, names, sum(total for _, total in written))
    if dist.is_initialized():
        dist.barrier(group=process_group)
