"""Images and volumes sampled at the points of a grid, a vector of points at a time.

ops/griding.py says which places a point reads, in terms of tensors or of lanes; here they are read.
    args: image, grid, out    dims: points, channels    steps: the image's sizes, bytes of a channel of it, of out
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from rushlight.compiler import target, team
from rushlight.compiler.atoms import EMITTERS, LLVM
from rushlight.compiler.ir import Module
from rushlight.compiler.lanes import Lane
from rushlight.compiler.runtime import SLOT
from rushlight.compiler.teamcode import MEMCPY
from rushlight.compiler.tilecode import Writer
from rushlight.compiler.tiles import suits
from rushlight.compiler.written import Shared
from rushlight.ops.griding import taps

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]
# Points of a job; elements from which on threads are worth waking.
_POINTS, _PARALLEL = 4096, 1 << 13


def sampler(image: Array, grid: Array, *how: Any) -> Callable[[Array, Array], Array] | None:
    """A function of an image (N, C, *space) and a grid (N, *out, dims) like these; None without machine code."""
    # An offset in an image has 32 bits; a reflection in one element has no span.
    dense = image.flags.c_contiguous and grid.flags.c_contiguous and prod(image.shape[2:]) < 1 << 31
    if not suits(image, grid) or not dense or not grid.size or 1 in image.shape[2:] or not image.size:
        return None
    kernel, shape = _kernel(image.dtype.name, image.ndim - 2, *how), (*image.shape[:2], *grid.shape[1:-1])
    kernel.compile_now()

    def run(image: Array, grid: Array) -> Array:
        out = np.empty(shape, image.dtype)
        kernel.fn(image, grid, out, None)
        return out
    return run


@lru_cache(maxsize=None)
def _kernel(dtype: str, dims: int, *how: Any) -> Shared:
    kind, lanes, item = LLVM[dtype], target.lanes(dtype), np.dtype(dtype).itemsize
    return Shared("sample", f"{dtype} {lanes} {dims} {how}",
                  lambda module, name: write(module, name, kind, lanes, dims, *how),
                  lambda loop, *shapes: _jobs(loop, item, *shapes))


def _jobs(loop: int, item: int, image: Ints, grid: Ints, out: Ints, _: None) -> tuple[team.Call, bool]:
    (samples, channels, *space), points, dims = image, prod(grid[1:-1]), grid[-1]
    wide, far = prod(space) * item, points * item
    jobs = [[n * channels * wide, (n * points + low) * dims * item, n * channels * far + low * item,
             min(_POINTS, points - low), channels] for n in range(samples) for low in range(0, points, _POINTS)]
    steps = np.array([*space, wide, far], np.int64)
    return team.Call((loop, np.array(jobs, np.int64), range(3), 3, steps)), prod(out) >= _PARALLEL


class _Lanes:
    """The atoms of lanes and numbers."""

    def __getattr__(self, name: str) -> Callable[..., Lane]:
        def atom(*operands: Any) -> Lane:
            like = next(o for o in operands if isinstance(o, Lane) and o.kind != "i1")
            return EMITTERS[name]("", *map(like.other, operands))
        return atom


class _Sampler(Writer):
    """A vector of points at a time, those beyond the last being the last one again."""

    def terms(self, grid: str, valid: str, sizes: Sequence[str], *how: Any) -> list[tuple[Lane, Lane, Lane | None]]:
        """(index, whether it is inside, weight) of each element of a channel that points read."""
        f, dims, reads = self.f, len(sizes), []
        last = f.splat("i32", f.op(f"trunc i64 {f.i64('sub', valid, 1)} to i32"))
        line = Lane(f, "i32", f"<{', '.join(f'i32 {k}' for k in range(self.lanes))}>")
        numbers = f.intrinsic("llvm.smin", line, last) * dims
        extents = [f.splat("i32", f.op(f"trunc i64 {n} to i32")) for n in sizes]
        for i, extent in enumerate(extents):
            size = extent.cast("sitofp", self.kind)
            reads.append([(self.inside(place, size), weight) for place, weight in taps(
                _Lanes(), self.picked(grid, numbers + (dims - 1 - i)), size, *how)])
        found = []
        for (at, within), weight in reads[0]:
            found.append((at, within, weight))
        for own, extent in zip(reads[1:], extents[1:], strict=True):
            found = [(index * extent + at, valid & within, weight and weight * other)
                     for index, valid, weight in found for (at, within), other in own]
        return found

    def inside(self, place: Lane, size: Lane) -> tuple[Lane, Lane]:
        """A place as an integer, and whether it is inside; 0 for one that is not."""
        within = (place >= 0) & (place <= size - 1)
        return within.where(place, 0).cast("fptosi", "i32"), within

    def picked(self, base: str, numbers: Lane) -> Lane:
        """The elements of these numbers."""
        f, whole = self.f, "poison"
        for k in range(self.lanes):
            number = f.op(f"extractelement {numbers!r}, i64 {k}")
            one = f.load(self.kind, f.op(f"getelementptr {self.kind}, ptr {base}, i32 {number}"))
            whole = f.op(f"insertelement {self.vector} {whole}, {self.kind} {one}, i64 {k}")
        return Lane(f, self.kind, whole)

    def run(self, dims: int, *how: Any) -> None:
        """All of it."""
        f, size = self.f, self.size
        image, grid, out = (f.load("ptr", "%args", SLOT * k) for k in range(3))
        points, channels = (f.load("i64", "%dims", SLOT * k) for k in range(2))
        *sizes, wide, far = (f.load("i64", "%steps", SLOT * k) for k in range(dims + 2))
        room = f.op(f"alloca {self.vector}, align 64")
        f.module.declare(*MEMCPY)
        with f.counted(self.over(points, self.lanes)) as block:
            first = f.i64("mul", block, self.lanes)
            valid = self.least(self.lanes, f.i64("sub", points, first))
            terms = self.terms(f.at(grid, f.i64("mul", first, dims * size)), valid, sizes, *how)
            line = f.at(out, f.i64("mul", first, size))
            with f.counted(channels) as c:
                source, to, parts = f.at(image, f.i64("mul", c, wide)), f.at(line, f.i64("mul", c, far)), []
                for index, within, weight in terms:
                    part = within.where(self.picked(source, index), 0)
                    parts.append(part if weight is None else part * weight)
                self.write(sum(parts[1:], parts[0]), room)
                f.emit(f"call void {MEMCPY[0]}(ptr {to}, ptr {room}, i64 {f.i64('mul', valid, size)}, i1 false)")
        f.emit("ret i32 0")
        f.finish()


def write(module: Module, name: str, kind: str, lanes: int, dims: int, *how: Any) -> None:
    """The IR, for griding's mode, padding and align."""
    _Sampler(module, name, kind, lanes).run(dims, *how)
