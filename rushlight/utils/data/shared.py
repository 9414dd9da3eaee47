"""Batches from a worker to the main process: a small message, and bytes that stay where they are.

A message is a pickle (protocol 5) without the bytes of tensors and arrays. Those lie in a *block*: an
anonymous file in memory that both sides map. The worker makes it and sends its descriptor beside the first
message that uses it. A block has no name, so there is nothing to unlink, and when both sides are gone, killed
or not, the system takes it back. What the main process unpickles lies in the block itself; when the last such
array dies the block's number returns with the next indices, and the worker writes another batch there, since
fresh pages would cost more than the copy.
"""

from __future__ import annotations

import io
import itertools
import mmap
import os
import pickle
import weakref
from collections import deque
from collections.abc import Sequence
from multiprocessing import reduction
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._engine.tensors.copying import AMONG_OURS, over, reduce_alone
from rushlight._engine.tensors.storages.sharing import anonymous_file, mapped, refuse_graph
from rushlight._engine.tensors.storages.storage import Storage

Span = tuple[int, int]
_ALIGN, _LEAST_BLOCK = 64, 1 << 16
# Below this a message carries its bytes itself.
_INLINE = 4096
# Blocks that wait for a use that fits them.
_MOST_FREE = 8


# --- pickles without bytes ----------------------------------------------------------------------


class _Pickler(reduction.ForkingPickler):
    """What multiprocessing sends, and of tensors their own part of a storage that is larger."""

    def reducer_override(self, item: Any) -> Any:
        if isinstance(item, Storage):
            return item.__reduce__()
        if not isinstance(item, torch.Tensor) or not item.is_cpu:
            return NotImplemented
        found = reduce_alone(item)
        if found is not None:
            return found
        refuse_graph(item)
        own = item.numel() * item.element_size()
        if type(item) is torch.Tensor and not item.__dict__ and own < item.untyped_storage().nbytes():
            part = item.detach().clone().requires_grad_(item.requires_grad)
            return part.__reduce_ex__(AMONG_OURS)
        return item.__reduce_ex__(AMONG_OURS)


def dumps(data: Any) -> tuple[bytes, list[memoryview]]:
    """A pickle, and the buffers that were left out of it."""
    buffers: list[pickle.PickleBuffer] = []
    file = io.BytesIO()
    _Pickler(file, 5, True, buffers.append).dump(data)
    return file.getvalue(), [b.raw() for b in buffers]


def layout(buffers: Sequence[memoryview]) -> tuple[list[Span], int]:
    """Where buffers lie one after the other, each at a boundary, and where the last one ends."""
    spans, end = [], 0
    for b in buffers:
        start = -(-end // _ALIGN) * _ALIGN
        end = start + b.nbytes
        spans.append((start, end))
    return spans, end


def fill(memory: Any, spans: Sequence[Span], buffers: Sequence[memoryview]) -> None:
    """Write buffers to their places."""
    for (start, end), b in zip(spans, buffers, strict=True):
        if end > start:
            memory[start:end] = b


def cut(tensors: Sequence[Any], lengths: Sequence[int]) -> list[list[Any]]:
    """Gathered rows as batches of these lengths; each tensor has a storage of its own."""
    columns = []
    for t in tensors:
        memory = memoryview(t._array.reshape(-1).view(np.uint8))
        step, ends = t._geometry.nbytes // len(t), [0, *itertools.accumulate(lengths)]
        columns.append(
            [
                over(t.dtype.name, (end - start, *t.shape[1:]), memory[start * step : end * step])
                for start, end in itertools.pairwise(ends)
            ]
        )
    return [list(batch) for batch in zip(*columns, strict=True)]


# --- the worker's side --------------------------------------------------------------------------


class Writer:
    """A worker's blocks, and the messages about them."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel
        self._blocks: dict[int, mmap.mmap] = {}
        self._free: list[int] = []
        self._made = 0

    def released(self, numbers: Sequence[int]) -> None:
        """The main process is done with these blocks."""
        self._free += numbers

    def send(self, head: Any, data: Any) -> None:
        """Send `data` in memory of its own; `head` goes along. Raises what pickling raises."""
        body, buffers = dumps(data)
        spans, size = layout(buffers)
        if size + len(body) <= _INLINE:
            self._send((head, "inline", body, [bytes(b) for b in buffers]))
            return
        spans, size = layout([*buffers, memoryview(body)])
        number, memory, descriptor, dropped = self._take(size)
        fill(memory, spans, [*buffers, memoryview(body)])
        self._send((head, "block", number, len(memory), spans, dropped), descriptor)

    def _send(self, message: tuple[Any, ...], descriptor: int | None = None) -> None:
        try:
            self._channel.send(pickle.dumps(message, 5), descriptor)
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def _take(self, size: int) -> tuple[int, mmap.mmap, int | None, list[int]]:
        """A block's number and memory; its descriptor if it is new; blocks that are given up for it."""
        fitting = [(len(self._blocks[n]), n) for n in self._free if len(self._blocks[n]) >= size]
        if fitting:
            number = min(fitting)[1]
            self._free.remove(number)
            return number, self._blocks[number], None, []
        dropped = self._free if len(self._free) > _MOST_FREE else []
        for n in dropped:
            del self._blocks[n]
        if dropped:
            self._free = []
        # A little space for batches that are larger; its pages do not exist until they are used.
        step = max(_LEAST_BLOCK, 1 << size.bit_length() >> 3)
        size = -(-size // step) * step
        descriptor = anonymous_file(size)
        number, self._made = self._made, self._made + 1
        memory = self._blocks[number] = mapped(descriptor, size)
        return number, memory, descriptor, dropped


# --- the main process's side --------------------------------------------------------------------


class Reader:
    """What the main process knows of one worker's blocks.

    most: how many may be lent out at a time. A batch beyond them is copied, so that a program which keeps
    all batches runs out of neither descriptors nor shared memory.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._blocks: dict[int, mmap.mmap] = {}
        self._lent: dict[int, Any] = {}
        self._back: deque[int] = deque()

    def freed(self) -> list[int]:
        """The blocks that nothing uses any more, since the last call."""
        numbers = []
        while self._back:
            numbers.append(self._back.popleft())
            self._lent.pop(numbers[-1], None)
        return numbers

    def read(self, body: bytes, descriptor: int | None) -> tuple[Any, Any]:
        """A message's head and a function that makes its data."""
        head, kind, *rest = pickle.loads(body)
        if kind == "inline":
            pickled, buffers = rest
            return head, lambda: pickle.loads(pickled, buffers=[bytearray(b) for b in buffers])
        number, size, parts, dropped = rest
        for n in dropped:
            self._blocks.pop(n, None)
        if descriptor is not None:
            try:
                self._blocks[number] = mapped(descriptor, size)
            finally:
                os.close(descriptor)
        memory = self._lend(number)
        pieces = [memory[start:end] for start, end in parts]
        return head, lambda: pickle.loads(pieces[-1], buffers=pieces[:-1])

    def _lend(self, number: int) -> memoryview:
        """A block's memory; when all views of it are gone the block is free again."""
        block = self._blocks[number]
        if len(self._lent) - len(self._back) >= self._most:
            self._back.append(number)
            return memoryview(bytearray(block))
        lease, back = np.frombuffer(block, np.uint8), self._back
        self._lent[number] = weakref.ref(lease, lambda gone: back.append(number))
        # Behind a memoryview no array sees the whole block: a batch's storage ends with the batch.
        memory: Any = lease
        return memoryview(memory)
