"""Memory that tensors take, after torch.cuda.memory: how much now, how much at most, and who asked for it.

    memory_allocated()              bytes of all arrays that are alive
    _record_memory_history()        from now on remember where each array was made (tracemalloc: slower)
    max_memory_allocated()          the most that was in use since, or since reset_peak_memory_stats()
    _dump_snapshot("memory.pickle") what is alive, with the lines that made it; PyTorch's viewer opens it

A CPU has no allocator of its own to ask, so the figures come from Python's objects and from tracemalloc.
"""

from __future__ import annotations

import gc
import os
import pickle
import time
import tracemalloc
from collections.abc import Iterator
from itertools import compress
from operator import not_
from typing import Any

import numpy as np

from rushlight._engine.serialization.atomic import replacing

_before, _FRAMES = [0], 12


def memory_allocated(device: Any = None) -> int:
    """Bytes of the arrays that own memory and are alive, in tensors or not; every object is looked at."""
    return sum(a.nbytes for a in {id(a): a for a in _arrays()}.values() if a.flags.owndata)


def _arrays() -> Iterator[Any]:
    """The arrays that Python's containers and objects hold, each at the end of its chain of views."""
    arrays, containers = _classes(np.ndarray), _classes(tuple) | _classes(dict)
    holders: list[Any] = gc.get_objects()
    seen = set[int]()
    while holders:
        held = gc.get_referents(*holders)
        # There are millions: nothing of Python's runs for each.
        for array in compress(held, map(arrays.__contains__, map(type, held))):
            while isinstance(array.base, np.ndarray):
                array = array.base
            yield array
        # What is not tracked cannot be part of a cycle, but may hold an array.
        inner = list(compress(held, map(containers.__contains__, map(type, held))))
        inner = list(compress(inner, map(not_, map(gc.is_tracked, inner))))
        unseen = dict(zip(map(id, inner), inner, strict=True))
        holders = [unseen[key] for key in unseen.keys() - seen]
        seen.update(unseen)


def _classes(of: type) -> set[type]:
    """A class and all that are made of it."""
    return {of}.union(*map(_classes, type.__subclasses__(of)))


def _record_memory_history(
    enabled: str | None = "all", *_: Any, stacks: str = "python", max_entries: int = 0, **__: Any
) -> None:
    """Remember the lines that make arrays, from now on, which makes it slower; None ends it."""
    if enabled is None:
        tracemalloc.stop()
    elif not tracemalloc.is_tracing():
        _before[0] = memory_allocated()
        tracemalloc.start(_FRAMES)


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes in use since the recording began or `reset_peak_memory_stats`, objects of Python among
    them. RuntimeError where nothing is recorded.
    """
    if not tracemalloc.is_tracing():
        raise RuntimeError(
            "max_memory_allocated: expected that memory is recorded, and it is not; call "
            "torch.cpu.memory._record_memory_history() first"
        )
    return _before[0] + tracemalloc.get_traced_memory()[1]


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the most be what is in use now."""
    if tracemalloc.is_tracing():
        tracemalloc.reset_peak()


def memory_stats(device: Any = None) -> dict[str, int]:
    """ "allocated_bytes.all.current", and ".peak" where memory is recorded."""
    found = {"allocated_bytes.all.current": memory_allocated()}
    if tracemalloc.is_tracing():
        found["allocated_bytes.all.peak"] = max_memory_allocated()
    return found


def memory_snapshot() -> list[dict[str, Any]]:
    """The arrays that were made since the recording began and are alive, as one segment of PyTorch's form:
    blocks with their sizes and the frames that asked for them, innermost first.
    """
    own = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
    taken = tracemalloc.take_snapshot().filter_traces([own]).traces if tracemalloc.is_tracing() else ()
    blocks, at = [], 0
    for trace in taken:
        frames = [{"filename": f.filename, "line": f.lineno, "name": ""} for f in reversed(trace.traceback)]
        blocks.append(
            {
                "address": at,
                "size": trace.size,
                "requested_size": trace.size,
                "state": "active_allocated",
                "frames": frames,
            }
        )
        at += trace.size
    return [
        {
            "device": 0,
            "address": 0,
            "total_size": at,
            "allocated_size": at,
            "active_size": at,
            "requested_size": at,
            "stream": 0,
            "segment_type": "large",
            "segment_pool_id": (0, 0),
            "is_expandable": False,
            "frames": [],
            "blocks": blocks,
        }
    ]


def _snapshot(device: Any = None) -> dict[str, Any]:
    """`memory_snapshot` beside the empty parts of PyTorch's form."""
    return {
        "segments": memory_snapshot(),
        "device_traces": [[]],
        "allocator_settings": {},
        "external_annotations": [],
        "time_us": time.time_ns() // 1000,
    }


def _dump_snapshot(filename: str | os.PathLike[str] = "dump_snapshot.pickle") -> None:
    """Write `_snapshot()` where torch.cuda's of the name does, for PyTorch's viewer of memory."""
    with replacing(os.fspath(filename)) as file:
        pickle.dump(_snapshot(), file)
