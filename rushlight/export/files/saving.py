"""torch.export.save and load: exported programs in PyTorch's zip files (.pt2), whose program is JSON, not
pickle.

Tensors are records of bytes beside their descriptions. Everything that is read is checked before it becomes
part of a graph: names are identifiers, targets are known ops, sizes are expressions of + - * //, records have
their lengths.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from contextlib import nullcontext
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._engine.core.pytree import NODES
from rushlight._engine.serialization.atomic import replacing
from rushlight.export.files import arguments
from rushlight.export.files.reading import program_of
from rushlight.export.files.writing import VERSION, model
from rushlight.export.program import ExportedProgram

ARCHIVE_VERSION = "0"


class _OtherVersion(ValueError):
    """An archive of another version."""


def save(
    ep: ExportedProgram,
    f: Any,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Write a program to a path or file object. extra_files: further texts by name. TypeError for no
    program.
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead."
        )
    path = os.fspath(f) if isinstance(f, (str, os.PathLike)) else None
    name = "archive" if path is None else os.path.splitext(os.path.basename(path))[0]
    parts = _parts(ep, extra_files or {}, opset_version)
    with nullcontext(f) if path is None else replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        for part, text in parts.items():
            archive.writestr(f"{name}/{part}", text)


def _parts(ep: ExportedProgram, extra: dict[str, Any], opset_version: Any) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "archive_format": "pt2",
        "archive_version": ARCHIVE_VERSION,
        ".data/version": "6\n",
        "byteorder": "little",
        "models/model.json": json.dumps(model(ep, opset_version)),
    }
    for folder, name, tensors in (
        ("weights", "weight", ep.state_dict),
        ("constants", "tensor", ep.constants),
    ):
        config: dict[str, Any] = {}
        paths: dict[Any, str] = {}
        shared: dict[Any, set[Any]] = {}
        for t in tensors.values():
            own = t.untyped_storage()._cdata if t.numel() else (tuple(t.shape), t.dtype)
            shared.setdefault(own, set()).add((t.storage_offset(), tuple(t.shape), t.stride()))
        for key, t in tensors.items():
            own = t.untyped_storage()._cdata if t.numel() else (tuple(t.shape), t.dtype)
            path = paths.setdefault(own, f"{name}_{len(paths)}")
            described = t.detach()
            if len(shared[own]) > 1:  # views of one memory, which is written as a whole
                whole = described.as_strided((t.untyped_storage().nbytes() // t.element_size(),), (1,), 0)
                parts[f"data/{folder}/{path}"] = whole.cpu()._array.tobytes()
            else:
                described = described.contiguous()
                parts[f"data/{folder}/{path}"] = np.ascontiguousarray(described.cpu()._array).tobytes()
            told = arguments.tensor(described.requires_grad_(t.requires_grad))
            offset = described.storage_offset() if len(shared[own]) > 1 else 0
            config[key] = {
                "path_name": path,
                "is_param": isinstance(t, torch.nn.Parameter),
                "use_pickle": False,
                "tensor_meta": told | {"storage_offset": {"as_int": offset}},
            }
        parts[f"data/{folder}/model_{folder}_config.json"] = json.dumps({"config": config})
    if ep.example_inputs is not None:
        sample = io.BytesIO()
        torch.save(ep.example_inputs, sample)
        parts["data/sample_inputs/model.pt"] = sample.getvalue()
    return parts | {f"extra/{key}": text for key, text in extra.items()}


def load(
    f: Any, *, extra_files: dict[str, Any] | None = None, expected_opset_version: dict[str, int] | None = None
) -> ExportedProgram:
    """The program in a file that `save`, or PyTorch's, wrote. extra_files: its keys' texts are put in.

    RuntimeError for a file that is damaged, or holds no program; FileNotFoundError without one; ValueError
    for another version of the archive.
    """
    try:
        with zipfile.ZipFile(f) as archive:
            parts = {name.partition("/")[2]: name for name in archive.namelist()}
            version = archive.read(parts["archive_version"]).decode() if "archive_version" in parts else "0"
            if version != ARCHIVE_VERSION:
                raise _OtherVersion(
                    f"Saved archive version {version} does not match our current archive version "
                    f"{ARCHIVE_VERSION}."
                )
            texts = {} if extra_files is None else extra_files
            for key in texts:
                texts[key] = archive.read(parts[f"extra/{key}"]).decode()
            return _program(lambda part: archive.read(parts[part]), "data/sample_inputs/model.pt" in parts)
    except _OtherVersion:
        raise
    except (
        KeyError,
        ValueError,
        TypeError,
        IndexError,
        AttributeError,
        RuntimeError,
        AssertionError,
        SyntaxError,
        EOFError,
        StopIteration,
        zipfile.BadZipFile,
    ) as error:
        raise RuntimeError(
            f"torch.export.load: {getattr(f, 'name', f)} is damaged, or holds no exported "
            f"program: {type(error).__name__}: {error}"
        ) from error


def _program(read: Any, sampled: bool) -> ExportedProgram:
    described = json.loads(read("models/model.json"))
    if described["schema_version"]["major"] != VERSION[0]:
        raise ValueError(f"schema version {described['schema_version']}, where {VERSION[0]} is known")
    state, constants = (_tensors(read, folder) for folder in ("weights", "constants"))
    sample = None
    if sampled:
        containers: list[Any] = [cls for cls in NODES if isinstance(cls, type)]  # what programs register, too
        with torch.serialization.safe_globals(containers):
            sample = torch.load(io.BytesIO(read("data/sample_inputs/model.pt")), weights_only=True)
    return program_of(described, state, constants, sample)


def _tensors(read: Any, folder: str) -> dict[str, Any]:
    found, made = {}, {}
    records: dict[str, bytearray] = {}
    for name, entry in json.loads(read(f"data/{folder}/model_{folder}_config.json"))["config"].items():
        if entry["use_pickle"]:
            raise NotImplementedError(f"{name!r} is a pickle, which is not read")
        meta, path = arguments.tensor_of(entry["tensor_meta"]), entry["path_name"]
        offset = entry["tensor_meta"]["storage_offset"]["as_int"]
        key = path, meta.shape, meta._stride, offset
        if key not in made:
            if path not in records:
                records[path] = bytearray(read(f"data/{folder}/{path}"))
            made[key] = _tensor(records[path], meta, offset)
            if entry["is_param"]:
                made[key] = torch.nn.Parameter(made[key], requires_grad=meta.requires_grad)
        found[name] = made[key]
    return found


def _tensor(data: bytearray, meta: Any, offset: int) -> Any:
    whole = torch.frombuffer(data, dtype=meta.dtype) if data else torch.empty(0, dtype=meta.dtype)
    last = offset + sum((n - 1) * s for n, s in zip(meta.shape, meta._stride, strict=True)) + 1
    if 0 not in meta.shape and (last > whole.numel() or min((*meta._stride, offset, 0)) < 0):
        raise ValueError(f"a record of {len(data)} bytes is too short for {meta}")
    return whole.to(meta.device).as_strided(meta.shape, meta._stride, offset)
