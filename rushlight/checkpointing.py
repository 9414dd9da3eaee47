"""Checkpoints of a whole training run: all or nothing on the disk.

A step is a directory of two files: `tensors.safetensors`, and `state.jsonl` with the rest as JSON, the
tensors' places and checksums (CRC-32) and its own (SHA-256). There is no pickle in it: reading runs nothing.

The safetensors format (8 bytes of length, a JSON header, bytes) is written and read here, not by the package
of that name: so none is needed, bytes go from the tensors' memory to the file without a copy while a second
thread computes checksums, and bfloat16, float8 and complex128 (as pairs of float64) can be mapped back.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import re
import shutil
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from copy import deepcopy
from math import prod
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._engine.serialization.atomic import _sync_directory
from rushlight._engine.serialization.background import WritebackFile, beside
from rushlight._engine.serialization.json_state import Tensors, decode, encode
from rushlight._engine.serialization.safetensors import _DTYPES

_NAME = re.compile(r"step-(\d+)(?:\.(\d+))?$")
_CODES = {of: code for code, of in _DTYPES.items()}
_TENSORS, _STATE = "tensors.safetensors", "state.jsonl"


class Checkpoint:
    """Checkpoints in a directory, of the parts that are named here.

    parts: whatever has state_dict() and load_state_dict(): model, optimizer, schedulers, scaler, DataLoader
    (with its place in the epoch), ... The states of torch's, Python's and NumPy's random generators are kept
    in any case. keep: how many steps stay on the disk, the newest; None for all.

        checkpoint = rushlight.Checkpoint("runs/a", keep=3, model=model, optimizer=optimizer, loader=loader)
        done = checkpoint.load()["step"] if checkpoint.steps() else 0
        ...
        checkpoint.save(step, best=best_loss)

    One process writes to a directory at a time. Killing it at any moment leaves the newest complete step.

    A run that a new process resumes has the bits of one that was never stopped. For that a step also says how
    much work each kernel had done, since by that it goes over from NumPy to machine code, whose last digits
    may differ. With torch.save and torch.load only RUSHLIGHT_KERNELS=llvm (or numpy) gives the same bits.
    """

    def __init__(self, directory: str | os.PathLike[str], keep: int | None = 3, **parts: Any) -> None:
        for name, part in parts.items():
            if not (hasattr(part, "state_dict") and hasattr(part, "load_state_dict")):
                raise TypeError(
                    f"Checkpoint: expected {name} to have state_dict() and load_state_dict(), "
                    f"got {type(part).__name__}; give plain values to save() instead"
                )
        if keep is not None and keep < 1:
            raise ValueError(f"Checkpoint: expected keep to be None or at least 1, got {keep}")
        self.directory, self.keep, self.parts = os.fspath(directory), keep, parts

    def steps(self) -> list[int]:
        """The steps that can be loaded, in order."""
        return sorted({step for step, _, _ in self._found()})

    def save(self, step: int, **values: Any) -> str:
        """Keep the parts and `values` (plain data and tensors) as `step`; the path of its directory.

        When this returns, all is on the disk under its name. TypeError for what cannot be kept; OSError of
        the system. Either leaves earlier steps as they were.
        """
        os.makedirs(self.directory, exist_ok=True)
        for entry in os.listdir(self.directory):  # what a killed process left
            if entry.startswith(".unfinished-"):
                shutil.rmtree(os.path.join(self.directory, entry), ignore_errors=True)
        tensors = Tensors()
        drawn = {
            "torch": torch.get_rng_state(),
            "python": random.getstate(),
            "numpy": np.random.get_state(legacy=False),
        }
        tree = encode(
            {
                "step": step,
                "values": values,
                "random": drawn,
                "parts": {name: part.state_dict() for name, part in self.parts.items()},
            },
            "",
            tensors,
        )
        attempt = max((a for s, a, _ in self._found() if s == step), default=-1) + 1
        path = os.path.join(self.directory, f"step-{step:010d}" + (f".{attempt}" if attempt else ""))
        temporary = os.path.join(self.directory, f".unfinished-{os.getpid()}-{os.urandom(4).hex()}")
        os.mkdir(temporary)
        try:
            table = _write_tensors(os.path.join(temporary, _TENSORS), tensors)
            text = json.dumps({"version": 1, "tree": tree, **table}).encode()
            head = json.dumps({"sha256": hashlib.sha256(text).hexdigest()}).encode()
            _write(os.path.join(temporary, _STATE), [head + b"\n" + text])
            _sync_directory(temporary)
            os.rename(temporary, path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        _sync_directory(self.directory)
        self._forget(step)
        return path

    def load(self, step: int | None = None) -> dict[str, Any]:
        """Put all parts and random generators into the state of `step` (the newest by default).

        Returns {"step": step, **values}. FileNotFoundError where there is none; RuntimeError for a damaged
        one, and whatever a part says to a state that does not fit: then everything is as it was before.
        """
        tree = self.read(step)
        absent = [name for name in self.parts if name not in tree["parts"]]
        if absent:
            raise RuntimeError(
                f"Checkpoint.load: step {tree['step']} in {self.directory} has no state of "
                f"{', '.join(absent)}; it has {', '.join(tree['parts']) or 'none'}"
            )
        with ExitStack() as undo:
            for name, part in self.parts.items():
                undo.callback(part.load_state_dict, deepcopy(part.state_dict()))
                part.load_state_dict(tree["parts"][name])
            torch.set_rng_state(tree["random"]["torch"])
            random.setstate(tree["random"]["python"])
            np.random.set_state(tree["random"]["numpy"])
            undo.pop_all()
        return {"step": tree["step"], **tree["values"]}

    def read(self, step: int | None = None, mmap: bool = False) -> dict[str, Any]:
        """What is kept of `step`: {"step", "values", "parts": {name: state_dict}, "random"}.

        mmap=True: tensors are the mapped file's, read when used, their checksums not compared. Writes to
        tensors stay in memory. Errors as load's.
        """
        found = [entry for entry in self._found() if step is None or entry[0] == step]
        if not found:
            raise FileNotFoundError(
                f"Checkpoint: no {'checkpoint' if step is None else f'step {step}'} in "
                f"{self.directory}; steps there: {self.steps() or 'none'}"
            )
        number, _, path = found[-1]
        try:
            state = _read_state(os.path.join(path, _STATE))
            result: dict[str, Any] = decode(
                state["tree"], _map_tensors(os.path.join(path, _TENSORS), state, not mmap)
            )
            return result
        except (ValueError, KeyError, OSError, TypeError) as error:
            others = [s for s in self.steps() if s != number]
            raise RuntimeError(
                f"Checkpoint: step {number} in {path} is damaged ({error}). Nothing was "
                f"loaded. Other steps: {others or 'none'}; load(step=...) loads one"
            ) from error

    def _found(self) -> list[tuple[int, int, str]]:
        """(step, attempt, path), in order."""
        names = os.listdir(self.directory) if os.path.isdir(self.directory) else []
        return sorted(
            (int(m[1]), int(m[2] or 0), os.path.join(self.directory, m[0]))
            for m in map(_NAME.match, names)
            if m
        )

    def _forget(self, saved: int) -> None:
        """Delete what `keep` no longer covers, and earlier attempts; renamed first, so that it goes whole."""
        found = self._found()
        kept = set(self.steps()[-self.keep :] if self.keep else self.steps()) | {saved}
        newest = {step: attempt for step, attempt, _ in found}
        for step, attempt, path in found:
            if step not in kept or attempt < newest[step]:
                gone = os.path.join(self.directory, f".unfinished-{os.path.basename(path)}")
                os.rename(path, gone)
                shutil.rmtree(gone, ignore_errors=True)


# --- files ----------------------------------------------------------------------------------------


def _write(path: str, pieces: list[Any]) -> None:
    with io.BufferedWriter(WritebackFile(path, "xb")) as file:
        file.writelines(pieces)
        file.flush()
        os.fsync(file.fileno())


def _write_tensors(path: str, tensors: dict[str, Any]) -> dict[str, Any]:
    """Write the file; the table of what is where in it."""
    header, table, pieces, place = {}, {}, [], 0
    # The widest elements first: then all lie at multiples of their size.
    for name, t in sorted(tensors.items(), key=lambda item: -item[1]._geometry.itemsize):
        flat = np.ascontiguousarray(t.cpu()._array).reshape(-1).view(np.uint8)
        code, shape = _CODES.get(t.dtype, "F64"), list(t.shape)
        header[name] = {
            "dtype": code,
            "shape": shape if t.dtype in _CODES else [*shape, 2],
            "data_offsets": [place, place + flat.size],
        }
        table[name] = [t.dtype.name, shape, place]
        pieces.append(flat)
        place += flat.size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    whole: list[Any] = [len(text).to_bytes(8, "little") + text, *pieces]
    sums = beside(lambda: [zlib.crc32(piece) for piece in whole])
    _write(path, whole)
    head, *data = sums()
    table = {name: [*entry, checksum] for (name, entry), checksum in zip(table.items(), data)}
    return {"tensors": table, "start": len(whole[0]), "head": head, "size": len(whole[0]) + place}


def _read_state(path: str) -> dict[str, Any]:
    with open(path, "rb") as file:
        head, _, text = file.read().partition(b"\n")
    if json.loads(head)["sha256"] != hashlib.sha256(text).hexdigest():
        raise ValueError(f"the checksum of {_STATE} differs")
    found: dict[str, Any] = json.loads(text)
    if found["version"] != 1:
        raise ValueError(f"expected version 1, got {found['version']}")
    return found


def _map_tensors(path: str, state: dict[str, Any], verify: bool) -> dict[str, Any]:
    if os.path.getsize(path) != state["size"]:
        raise ValueError(f"expected {state['size']} bytes in {_TENSORS}, got {os.path.getsize(path)}")
    flat = torch.UntypedStorage.from_file(path)._bytes()
    if zlib.crc32(flat[: state["start"]]) != state["head"]:
        raise ValueError(f"the checksum of the header of {_TENSORS} differs")
    pieces = {}
    for name, (of, shape, place, _) in state["tensors"].items():
        begin = state["start"] + place
        pieces[name] = flat[begin : begin + prod(shape) * getattr(torch, of).itemsize]
    with ThreadPoolExecutor(2) as pool:
        got = pool.map(zlib.crc32, pieces.values() if verify else ())
        for (name, entry), checksum in zip(state["tensors"].items(), got):
            if checksum != entry[-1]:
                raise ValueError(f"the checksum of the tensor {name} differs")
    return {
        name: torch.from_numpy(pieces[name]).view(getattr(torch, of)).view(shape)
        for name, (of, shape, _, _) in state["tensors"].items()
    }
