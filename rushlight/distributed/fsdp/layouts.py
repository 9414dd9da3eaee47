"""How the parameters of a unit are cut into one flat shard for each rank.

`Flat` is FullyShardedDataParallel's: all parameters one behind the other, cut in equal parts wherever that
falls. `Rows` is fully_shard's: each parameter's rows are cut as torch.chunk does, or another dim evenly; a
shard is the parts of all parameters. The last parts are padded, so all shards are of one size.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import Any

import rushlight as torch
from rushlight._engine.tensors.tensor import Tensor
from rushlight.distributed.tensor.placement_types import extent


def _place(tensors: list[Tensor | None]) -> Any:
    """The device of tensors; None counts as zeros there."""
    return next((t.device for t in tensors if t is not None), None)


class Layout(ABC):
    """shapes: the parameters'; of `world` ranks this is number `rank`; `size`: elements of a shard.

    align: parameters begin at its multiples.
    """

    rows = False
    size: int

    def __init__(self, shapes: list[tuple[int, ...]], world: int, rank: int, align: int = 1) -> None:
        self.shapes, self.world, self.rank = shapes, world, rank
        self.numels = [prod(shape) for shape in shapes]
        # Where each parameter begins, and the end of the last.
        self.begins = [0, *accumulate(self.numels, lambda end, count: -(-end // align) * align + count)]
        self.begins = [
            end if n == len(shapes) else -(-end // align) * align for n, end in enumerate(self.begins)
        ]

    @abstractmethod
    def collect(self, tensors: list[Tensor | None], dtype: Any) -> Tensor:
        """All ranks' shards of whole tensors, one behind the other; None counts as zeros."""

    @abstractmethod
    def spread(self, gathered: Tensor) -> list[Tensor]:
        """Whole tensors of all ranks' shards: views."""

    @abstractmethod
    def pieces(self, shard: Tensor) -> list[Tensor]:
        """What of each parameter lies in this rank's shard: views, perhaps empty."""

    def shard(self, tensors: list[Tensor], dtype: Any) -> Tensor:
        """This rank's shard of whole tensors, in memory of its own."""
        part = slice(self.rank * self.size, (self.rank + 1) * self.size)
        return self.collect([t.detach() for t in tensors], dtype)[part].clone()


class Flat(Layout):
    """One long vector in equal parts."""

    def __init__(self, shapes: list[tuple[int, ...]], world: int, rank: int, align: int = 1) -> None:
        super().__init__(shapes, world, rank, align)
        self.size = -(-self.begins[-1] // world)

    def collect(self, tensors: list[Tensor | None], dtype: Any) -> Tensor:
        """All ranks' shards of whole tensors, one behind the other; None counts as zeros."""
        buffer = torch.zeros(self.world * self.size, dtype=dtype, device=_place(tensors))
        for t, begin, count in zip(tensors, self.begins, self.numels):
            if t is not None:
                buffer[begin : begin + count].view(t.shape).copy_(t)
        return buffer

    def spread(self, gathered: Tensor) -> list[Tensor]:
        """Whole tensors of all ranks' shards: views."""
        return [gathered[b : b + n].view(shape) for b, n, shape in zip(self.begins, self.numels, self.shapes)]

    def pieces(self, shard: Tensor) -> list[Tensor]:
        """What of each parameter lies in this rank's shard: views of one dim, perhaps empty."""
        low = self.rank * self.size
        return [
            shard[min(max(b - low, 0), self.size) : min(max(b + n - low, 0), self.size)]
            for b, n in zip(self.begins, self.numels)
        ]


class Rows(Layout):
    """Each parameter's rows in chunks; dims: along which dim a parameter is cut, evenly but for the first."""

    rows = True

    def __init__(
        self,
        shapes: list[tuple[int, ...]],
        world: int,
        rank: int,
        align: int = 1,
        dims: Sequence[int] = (),
    ) -> None:
        super().__init__(shapes, world, rank)
        self.dims = list(dims) or [0] * len(shapes)
        self.chunks = [
            count // world if dim else -(-shape[0] // world) * prod(shape[1:])
            for shape, dim, count in zip(shapes, self.dims, self.numels, strict=True)
        ]
        self.places = [0, *accumulate(self.chunks)]
        self.size = self.places[-1]

    def collect(self, tensors: list[Tensor | None], dtype: Any) -> Tensor:
        """All ranks' shards of whole tensors, one behind the other; None counts as zeros."""
        buffer = torch.zeros((self.world, self.size), dtype=dtype, device=_place(tensors))
        for t, place, chunk, count, dim in zip(tensors, self.places, self.chunks, self.numels, self.dims):
            if t is not None:
                padded = (torch.stack(t.chunk(self.world, dim)) if dim else t).reshape(-1)
                if self.world * chunk != count:
                    padded = torch.nn.functional.pad(padded, (0, self.world * chunk - count))
                buffer[:, place : place + chunk].copy_(padded.view(self.world, chunk))
        return buffer.view(-1)

    def spread(self, gathered: Tensor) -> list[Tensor]:
        """Whole tensors of all ranks' shards."""
        table = gathered.view(self.world, self.size)
        return [
            torch.cat([part.view(self._local(shape, dim)) for part in table[:, p : p + c]], dim)
            if dim
            else table[:, p : p + c].reshape(-1)[:n].view(shape)
            for p, c, n, shape, dim in zip(self.places, self.chunks, self.numels, self.shapes, self.dims)
        ]

    def _local(self, shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
        """A rank's part of what is cut along another dim than the first."""
        return (*shape[:dim], shape[dim] // self.world, *shape[dim + 1 :])

    def pieces(self, shard: Tensor) -> list[Tensor]:
        """This rank's part of each parameter: views."""
        found = []
        for place, chunk, shape, dim in zip(self.places, self.chunks, self.shapes, self.dims):
            part = shard[place : place + chunk]
            if dim:
                found.append(part.view(self._local(shape, dim)))
            elif chunk:
                found.append(part.view(-1, *shape[1:])[: extent(shape[0], self.world, self.rank)[1]])
            else:
                found.append(part.view(0, *shape[1:]))
        return found
