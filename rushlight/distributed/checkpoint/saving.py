"""save() and load(): a folder with a file of tensors for each rank, and a manifest.

The manifest, JSON, tells for each tensor the whole shape and which file has which part of it, so a rank of a
world of any size finds what it needs. It is replaced last and at once: a folder has the old checkpoint or the
new one, and files that no manifest names are left from a save that failed.
"""

from __future__ import annotations

import json
import os
import uuid
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight._engine.serialization.atomic import replacing_path
from rushlight._engine.serialization.json_state import Tensors, decode, encode
from rushlight.distributed.checkpoint.api import CheckpointException
from rushlight.distributed.tensor.dtensor import DTensor
from rushlight.distributed.tensor.placement_types import box

MANIFEST = "manifest.json"


def _folder(checkpoint_id: Any, storage: Any) -> str:
    if checkpoint_id is None and storage is None:
        raise RuntimeError("`checkpoint_id` must be specified if storage_reader and storage_writer are None.")
    return str(os.fspath(storage.path if checkpoint_id is None else checkpoint_id))


class _Together:
    """A context after which all ranks raise CheckpointException where any has failed in it."""

    def __init__(self, group: Any, doing: str) -> None:
        self._group, self._doing = group, doing

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        failure = f"{kind.__name__}: {error}" if isinstance(error, Exception) else None
        gathered = _gathered(failure, self._group)
        failures = {rank: text for rank, text in enumerate(gathered) if text is not None}
        if failures:
            raise CheckpointException(f"{self._doing} failed:", failures) from error


def _gathered(value: Any, group: Any) -> list[Any]:
    if not dist.is_initialized():
        return [value]
    found = [None] * dist.get_world_size(group)
    dist.all_gather_object(found, value, group=group)
    return found


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[str, Any, Any, tuple[Any, ...]]]:
    """(path, value, its container, the keys to it) of all in nested dicts, and of lists that hold tensors."""
    found: list[tuple[str, Any, Any, tuple[Any, ...]]] = []
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        at = (*path, key)
        nested = (isinstance(inner, dict) and inner) or (
            isinstance(inner, list) and any(isinstance(v, (torch.Tensor, dict)) for v in inner)
        )
        found += _leaves(inner, at) if nested else [(".".join(map(str, at)).lstrip("."), inner, value, at)]
    return found


def _plain(state: dict[str, Any]) -> dict[str, Any]:
    """The state dict; of objects that have one, theirs."""
    return {
        k: v.state_dict() if hasattr(v, "state_dict") and not isinstance(v, torch.Tensor) else v
        for k, v in state.items()
    }


def _place(t: Any) -> tuple[list[int], list[int]]:
    """(offsets, sizes) of this rank's part of a tensor."""
    if isinstance(t, DTensor):
        return box(t.shape, t.device_mesh, t.placements)
    return [0] * t.ndim, list(t.shape)


def _local(t: Any) -> Any:
    return t.to_local() if isinstance(t, DTensor) else t.detach()


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Write a state dict, nested, with tensors, DTensors and what JSON can say; collective.

    A tensor that several ranks have is written by the first. Objects with state_dict() are asked for theirs.
    CheckpointException on all ranks where one fails; the folder then has the checkpoint that it had.
    """
    folder, group = _folder(checkpoint_id, storage_writer), process_group
    rank = dist.get_rank(group) if dist.is_initialized() else 0
    with _Together(group, "save()"):
        os.makedirs(folder, exist_ok=True)
        mine, parts, values, keys = _described(state_dict)
    token = _gathered(uuid.uuid4().hex[:8], group)[0]
    manifest = _manifest(_gathered((parts, values, keys), group), token)
    with _Together(group, "save()"):
        wanted = {
            path: mine[path].contiguous()
            for path, entry in manifest["tensors"].items()
            for part in entry["parts"]
            if part["file"] == _file(rank, token)
        }
        if wanted:
            torch.save(wanted, os.path.join(folder, _file(rank, token)))
    with _Together(group, "save()"):
        if rank == 0:
            _publish(folder, manifest)


def _described(state_dict: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """(this rank's tensors, where they lie in the whole ones, the other values, keys), by path."""
    mine, parts, values, keys = {}, {}, {}, {}
    for path, value, _, way in _leaves(_plain(state_dict)):
        if all(type(key) in (str, int) for key in way):  # what JSON can say
            keys[path] = list(way)
        if isinstance(value, torch.Tensor):
            offsets, sizes = _place(value)
            parts[path] = {
                "shape": list(value.shape),
                "dtype": value.dtype.name,
                "offsets": offsets,
                "sizes": sizes,
            }
            mine[path] = _local(value)
        else:
            values[path] = encode(value, path, Tensors())
    return mine, parts, values, keys


def _file(rank: int, token: str) -> str:
    return f"rank{rank}-{token}.pt"


def _manifest(everybody: list[Any], token: str) -> dict[str, Any]:
    """What the ranks have, each part once."""
    tensors: dict[str, Any] = {}
    values: dict[str, Any] = {}
    ways: dict[str, Any] = {}
    for rank, (parts, own, keys) in enumerate(everybody):
        ways |= keys
        for path, part in parts.items():
            entry = tensors.setdefault(path, {"shape": part["shape"], "dtype": part["dtype"], "parts": []})
            known = any(
                p["offsets"] == part["offsets"] and p["sizes"] == part["sizes"] for p in entry["parts"]
            )
            if not known and 0 not in part["sizes"]:
                entry["parts"].append(
                    {"file": _file(rank, token), "offsets": part["offsets"], "sizes": part["sizes"]}
                )
        for path, value in own.items():
            values.setdefault(path, value)
    return {
        "format": "rushlight.distributed.checkpoint 1",
        "tensors": tensors,
        "values": values,
        "keys": ways,
    }


def _publish(folder: str, manifest: dict[str, Any]) -> None:
    """Let the manifest be the folder's, and delete the files of the one before."""
    path = os.path.join(folder, MANIFEST)
    before = _files(_read(folder)) if os.path.exists(path) else set()
    with replacing_path(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        json.dump(manifest, file)
    for name in before - _files(manifest):
        os.remove(os.path.join(folder, name))


def _files(manifest: dict[str, Any]) -> set[str]:
    return {part["file"] for entry in manifest["tensors"].values() for part in entry["parts"]}


def _read(folder: str) -> dict[str, Any]:
    with open(os.path.join(folder, MANIFEST), encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
        return found


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_reader: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Fill a state dict from a checkpoint, whatever number of ranks wrote it; collective.

    Tensors and DTensors are written to in place, other values are put in their places; objects with
    load_state_dict() get theirs. CheckpointException on all ranks for a key that is missing, another shape, a
    damaged file.
    """
    folder = _folder(checkpoint_id, storage_reader)
    with _Together(process_group, "load()"), torch.no_grad():
        manifest, opened, plain = _read(folder), dict[str, Any](), _plain(state_dict)
        for path, value, container, keys in _leaves(plain):
            if isinstance(value, torch.Tensor):
                _fill(path, value, manifest["tensors"], folder, opened)
            elif path not in manifest["values"]:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {path}.")
            else:
                container[keys[-1]] = decode(manifest["values"][path], {})
        for name, value in plain.items():
            if hasattr(state_dict[name], "load_state_dict"):
                state_dict[name].load_state_dict(value)
            else:
                state_dict[name] = value


def _fill(path: str, t: Any, known: dict[str, Any], folder: str, opened: dict[str, Any]) -> None:
    """Write this rank's part of a tensor, from the parts of it that there are."""
    if path not in known:
        raise RuntimeError(f"Missing key in checkpoint state_dict: {path}.")
    entry = known[path]
    if entry["shape"] != list(t.shape):
        raise ValueError(
            f"Size mismatch between saved {entry['shape']} and current: {list(t.shape)} for {path}"
        )
    offsets, sizes = _place(t)
    local, count = _local(t), 0
    for part in entry["parts"]:
        begins = [max(a, b) for a, b in zip(offsets, part["offsets"])]
        lengths = [
            min(a + n, b + m) - begin
            for a, n, b, m, begin in zip(offsets, sizes, part["offsets"], part["sizes"], begins)
        ]
        if any(n <= 0 for n in lengths):
            continue
        if part["file"] not in opened:
            opened[part["file"]] = torch.load(
                os.path.join(folder, part["file"]), mmap=True, weights_only=True
            )
        there = tuple(slice(b - o, b - o + n) for b, o, n in zip(begins, part["offsets"], lengths))
        here = tuple(slice(b - o, b - o + n) for b, o, n in zip(begins, offsets, lengths))
        local[here].copy_(opened[part["file"]][path][there])
        count += local[here].numel()
    if count != local.numel():
        raise RuntimeError(
            f"the checkpoint has {count} of the {local.numel()} elements that this rank has of {path}"
        )
