"""Thousands of mutated checkpoints: each loads or is a clear error; nothing crashes, runs or is written.

MUTATIONS_IN_TESTS=10000 for the long test.
"""

from __future__ import annotations

import io
import os
import pickle
import random
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

import rushlight as torch
from rushlight._engine.core.settings import settings

COUNT = int(os.environ.get("MUTATIONS_IN_TESTS", "600"))
GOLDENS = Path(__file__).parents[2] / "goldens" / "serialize"
FILES = {path.name: path.read_bytes() for path in sorted(GOLDENS.glob("*.pt"))}
CLEAR = (RuntimeError, pickle.UnpicklingError, EOFError, ValueError)
# Pieces of pickles that would do something.
HOSTILE = [
    b"cos\nsystem\n(X\x0e\x00\x00\x00touch HACKED.xtR.",
    b"cbuiltins\nexec\n(X\x04\x00\x00\x001/0 tR.",
    b"\x80\x02cposix\nsystem\nq\x00X\x05\x00\x00\x00falseq\x01\x85q\x02Rq\x03.",
    b"cbuiltins\neval\n",
    b"\x8c\x08builtins\x8c\x04exec\x93",
    b"R",
    b"b",
    b"\x81",
    b"i__main__\nx\n",
]
FORBIDDEN = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.chmod",
    "subprocess.",
    "socket.",
    "shutil.",
    "ctypes.dlopen",
    "webbrowser",
    "pty.",
)
watching: list[str] = []
armed = False


def audit(event: str, args: Any) -> None:
    if armed and (
        event.startswith(FORBIDDEN)
        or (event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"))
    ):
        watching.append(f"{event} {args}")


sys.addaudithook(audit)


def changed(data: bytes, draw: random.Random) -> bytes:
    """One of some ways to damage bytes."""
    start = draw.randrange(len(data))
    end = min(len(data), start + draw.choice((1, 2, 8, 64, 1000)))
    way = draw.randrange(7)
    if way == 0:
        return data[:start] + bytes(draw.randbytes(end - start)) + data[end:]
    if way == 1:
        return data[:start] + data[end:]
    if way == 2:
        return data[:end] + data[start:]
    if way == 3:
        return data[:start] + draw.choice(HOSTILE) + data[start if draw.random() < 0.5 else end :]
    if way == 4:
        other = draw.choice(list(FILES.values()))
        place = draw.randrange(len(other))
        return data[:start] + other[place : place + end - start] + data[end:]
    if way == 5:
        return data[:start] + bytes([draw.choice((0, 0xFF, 0x80))]) * (end - start) + data[end:]
    return data[:start]


def rezipped(data: bytes, draw: random.Random) -> bytes:
    """A whole archive one record of which is damaged: checksums and directory are right."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as new:
        names = old.namelist()
        victim = (
            next(n for n in names if n.endswith("data.pkl")) if draw.random() < 0.8 else draw.choice(names)
        )
        for name in names:
            record = old.read(name)
            new.writestr(name, changed(record, draw) if name == victim and record else record)
    return made.getvalue()


def mutated(seed: int) -> bytes:
    draw = random.Random(seed)
    data = FILES[draw.choice(list(FILES))]
    if data[:2] == b"PK" and draw.random() < 0.6:
        return rezipped(data, draw)
    for _ in range(draw.choice((1, 1, 2, 5))):
        data = changed(data, draw) or b"\0"
    return data


@pytest.mark.parametrize("part", range(4))
def test_mutated_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    global armed
    monkeypatch.chdir(tmp_path)
    wrong, loaded = [], 0
    for seed in range(part, COUNT, 4):
        data = mutated(seed)
        start = time.perf_counter()
        armed = True
        try:
            # A kernel that so many loads make hot would be compiled beside them, and written to its cache.
            with settings.using(kernels="numpy"):
                torch.load(io.BytesIO(data))
            loaded += 1
        except CLEAR as error:
            if len(str(error)) < 10:
                wrong.append((seed, f"says little: {error!r}"))
        except BaseException as error:
            wrong.append((seed, repr(error)[:200]))
        finally:
            armed = False
        if time.perf_counter() - start > 5:
            wrong.append((seed, "took more than 5 s"))
    assert wrong == [] and watching == [] and os.listdir(tmp_path) == []
    assert loaded < COUNT / 4  # the mutations do damage
