"""An imitation of cuDNN's convolutions over a FakeDriver's memory: NumPy's sums, one tap after the other.

Written from NVIDIA's manual: orders of arguments, descriptors, what is a filter, what a search answers.
"""

from __future__ import annotations

import ctypes
import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from rushlight._engine.devices.cuda.driver import dnn
from tests.cuda.fake_driver import FakeDriver, _renamed, taken

_TYPES = {0: np.float32, 1: np.float64, 2: np.float16, 9: ml_dtypes.bfloat16}
_ROOM = 4096
NOT_SUPPORTED = 3000


class FakeDnn:
    """cuDNN's functions. `calls` counts; `refuses`: what functions answer instead of success."""

    def __init__(self, driver: FakeDriver) -> None:
        self.driver, self.calls, self.refuses = driver, Counter[str](), dict[str, int]()
        self.things: dict[int, dict[str, Any]] = {}
        self._handles = itertools.count(1 << 24)
        self.stream = 0

    def __getattr__(self, name: str) -> Callable[..., int]:
        body = getattr(type(self), "_" + name, None)
        if body is None:
            raise AttributeError(name)

        def call(*args: Any) -> int:
            taken(dnn._FUNCTIONS[name], args)
            self.calls[name] += 1
            return self.refuses.get(name) or body(self, *args) or 0

        return call

    def _made(self, place: Any) -> None:
        handle = next(self._handles)
        self.things[handle] = {}
        place._obj.value = handle

    def _cudnnCreate(self, place: Any) -> int:
        self._made(place)
        return 1002 if self.driver.unsafe() else 0

    _cudnnCreateTensorDescriptor = _cudnnCreateFilterDescriptor = _made
    _cudnnCreateConvolutionDescriptor = _made

    def _cudnnSetStream(self, handle: int, stream: int) -> None:
        self.stream = stream

    def _cudnnSetTensorNdDescriptor(self, made: int, kind: int, n: int, sizes: Any, strides: Any) -> int:
        self.things[made].update(of=_TYPES[kind], shape=sizes[:n], strides=strides[:n])
        return 0 if n >= 4 and min(sizes[:n]) > 0 else 2000

    def _cudnnSetFilterNdDescriptor(self, made: int, kind: int, layout: int, n: int, sizes: Any) -> int:
        shape = sizes[:n]
        order = [0, *range(2, n), 1] if layout else list(range(n))
        strides, step = [0] * n, 1
        for axis in reversed(order):
            strides[axis], step = step, step * shape[axis]
        self.things[made].update(of=_TYPES[kind], shape=shape, strides=strides)
        return 0 if n >= 4 and (not layout or n == 4) else 2000

    def _cudnnSetConvolutionNdDescriptor(
        self, made: int, n: int, pad: Any, stride: Any, dilation: Any, mode: int, kind: int
    ) -> int:
        self.things[made].update(pad=pad[:n], stride=stride[:n], dilation=dilation[:n])
        return 0 if mode == 1 else 2000

    def _cudnnSetConvolutionGroupCount(self, made: int, groups: int) -> None:
        self.things[made]["groups"] = groups

    def _cudnnSetConvolutionMathType(self, made: int, kind: int) -> None:
        self.things[made]["math"] = kind

    def _search(
        self, handle: int, one: int, two: int, how: int, made: int, asked: int, count: Any, found: Any
    ) -> None:
        """Two algorithms, of which the faster one adds up in any order."""
        for k in range(2):
            found[k].algorithm, found[k].status, found[k].determinism = k, 0, k
            found[k].memory, found[k].math = _ROOM, 0  # may round operands, whatever is set
        count._obj.value = 2

    def _size(self, handle: int, one: int, two: int, how: int, made: int, algorithm: int, size: Any) -> int:
        size._obj.value = _ROOM
        return 0 if algorithm == 1 else NOT_SUPPORTED

    _cudnnGetConvolutionForwardAlgorithm_v7 = _cudnnGetConvolutionBackwardDataAlgorithm_v7 = _search
    _cudnnGetConvolutionBackwardFilterAlgorithm_v7 = _search
    _cudnnGetConvolutionForwardWorkspaceSize = _cudnnGetConvolutionBackwardDataWorkspaceSize = _size
    _cudnnGetConvolutionBackwardFilterWorkspaceSize = _size

    # --- work -------------------------------------------------------------------------------------

    def _view(self, address: int, descriptor: int) -> Any:
        what = self.things[descriptor]
        of = np.dtype(what["of"])
        span = 1 + sum((n - 1) * s for n, s in zip(what["shape"], what["strides"], strict=True))
        place = self.driver.place(address, span * of.itemsize)
        room = np.frombuffer((ctypes.c_uint8 * (span * of.itemsize)).from_address(place), of)
        return np.lib.stride_tricks.as_strided(
            room, what["shape"], [s * of.itemsize for s in what["strides"]]
        )

    def _queue(self, which: str, how: int, room: int, size: int, *arrays: tuple[int, int]) -> int:
        self.driver.place(room, size)
        where = self.things[how]

        def work() -> None:
            x, w, y = (self._view(address, of) for of, address in arrays)
            given = {"x": x, "w": w, "y": y}
            wide = {n: a.astype(np.float64) for n, a in given.items()}
            wide[which] = np.zeros(given[which].shape)
            self._taps(which, where, wide["x"], wide["w"], wide["y"])
            given[which][...] = wide[which].astype(given[which].dtype)

        return self.driver._queued(self.stream, work)

    def _taps(self, which: str, how: dict[str, Any], x: Any, w: Any, y: Any) -> None:
        pads = [(0, 0), (0, 0), *[(p, p) for p in how["pad"]]]
        padded, groups = np.pad(x, pads), how["groups"]
        n = padded.shape[0]
        for tap in itertools.product(*map(range, w.shape[2:])):
            cut = tuple(
                slice(t * d, t * d + (o - 1) * s + 1, s)
                for t, d, s, o in zip(tap, how["dilation"], how["stride"], y.shape[2:], strict=True)
            )
            part = padded[(slice(None), slice(None), *cut)]
            seen = part.reshape(n, groups, part.shape[1] // groups, -1)
            taps = w[(slice(None), slice(None), *tap)].reshape(groups, w.shape[0] // groups, -1)
            outs = y.reshape(n, groups, y.shape[1] // groups, -1)
            if which == "y":
                y += np.einsum("ngcs,goc->ngos", seen, taps).reshape(y.shape)
            elif which == "w":
                found = np.einsum("ngcs,ngos->goc", seen, outs)
                w[(slice(None), slice(None), *tap)] += found.reshape(w.shape[:2])
            else:
                part += np.einsum("ngos,goc->ngcs", outs, taps).reshape(part.shape)
        if which == "x":
            inside = tuple(slice(p, p + n) for p, n in zip(how["pad"], x.shape[2:], strict=True))
            x[...] = padded[(slice(None), slice(None), *inside)]

    def _cudnnConvolutionForward(
        self, handle: int, a: Any, of_x: int, x: int, of_w: int, w: int, how: int, algorithm: int, room: int,
        size: int, b: Any, of_y: int, y: int,
    ) -> int:  # fmt: skip
        return self._queue("y", how, room, size, (of_x, x), (of_w, w), (of_y, y))

    def _cudnnConvolutionBackwardData(
        self, handle: int, a: Any, of_w: int, w: int, of_y: int, y: int, how: int, algorithm: int, room: int,
        size: int, b: Any, of_x: int, x: int,
    ) -> int:  # fmt: skip
        return self._queue("x", how, room, size, (of_x, x), (of_w, w), (of_y, y))

    def _cudnnConvolutionBackwardFilter(
        self, handle: int, a: Any, of_x: int, x: int, of_y: int, y: int, how: int, algorithm: int, room: int,
        size: int, b: Any, of_w: int, w: int,
    ) -> int:  # fmt: skip
        return self._queue("w", how, room, size, (of_x, x), (of_w, w), (of_y, y))


for _function in list(vars(FakeDnn).values()):
    if hasattr(_function, "__code__"):
        _function.__code__ = _renamed(_function.__code__)
