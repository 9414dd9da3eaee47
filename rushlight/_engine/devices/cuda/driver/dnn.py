"""Convolutions by cuDNN, where it is installed: its functions of descriptors, plans kept by geometry.

Numbers are the same every time: of the algorithms that cuDNN proposes, the first that is deterministic is
taken. What it does not take, or where it is not installed, is NotServed, and the device's own kernels do it.
"""

from __future__ import annotations

import ctypes
import math
import sys
import threading
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.layout import channels_last_strides, contiguous_strides
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import NotServed
from rushlight._engine.devices.cuda.driver import nvidia_libraries
from rushlight._engine.devices.cuda.kernels import launches
from rushlight._engine.lazy import package

_INT, _PTR, _SIZE = ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t
_VERSIONS = ("9",)
# cudnnDataType_t of the arrays, and of the computation.
_TYPES = {"float32": (0, 0), "float64": (1, 1), "float16": (2, 0), "bfloat16": (9, 0)}
_NCHW, _NHWC, _CROSS_CORRELATION = 0, 1, 1
_DEFAULT_MATH, _TENSOR_OP, _FMA = 0, 1, 3
_DETERMINISTIC = 1
# How many algorithms are asked for, and the most bytes that one may work in.
_ASKED, _MOST = 8, 1 << 30
# So many elements have no numbers in 32 bits.
_LARGE = 1 << 31
# The functions of each kind of convolution, and which of its three arrays is the filter.
_STEMS = {"forward": ("Forward", 1), "input": ("BackwardData", 0), "weight": ("BackwardFilter", 2)}


class _Algorithm(ctypes.Structure):
    """cudnnConvolutionFwdAlgoPerf_t, and those of the two gradients."""

    _fields_ = [
        ("algorithm", _INT),
        ("status", _INT),
        ("time", ctypes.c_float),
        ("memory", _SIZE),
        ("determinism", _INT),
        ("math", _INT),
        ("reserved", _INT * 3),
    ]


_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "cudnnCreate": (_PTR,),
    "cudnnSetStream": (_PTR, _PTR),
    "cudnnCreateTensorDescriptor": (_PTR,),
    "cudnnSetTensorNdDescriptor": (_PTR, _INT, _INT, _PTR, _PTR),
    "cudnnCreateFilterDescriptor": (_PTR,),
    "cudnnSetFilterNdDescriptor": (_PTR, _INT, _INT, _INT, _PTR),
    "cudnnCreateConvolutionDescriptor": (_PTR,),
    "cudnnSetConvolutionNdDescriptor": (_PTR, _INT, _PTR, _PTR, _PTR, _INT, _INT),
    "cudnnSetConvolutionGroupCount": (_PTR, _INT),
    "cudnnSetConvolutionMathType": (_PTR, _INT),
}
for _stem, _ in _STEMS.values():
    _FUNCTIONS[f"cudnnGetConvolution{_stem}Algorithm_v7"] = (*[_PTR] * 5, _INT, _PTR, _PTR)
    _FUNCTIONS[f"cudnnGetConvolution{_stem}WorkspaceSize"] = (*[_PTR] * 5, _INT, _PTR)
    _FUNCTIONS[f"cudnnConvolution{_stem}"] = (*[_PTR] * 7, _INT, _PTR, _SIZE, *[_PTR] * 3)


class Override:
    """Which library is used, cuDNN if None: tests put an imitation here. `off`: none."""

    library: Any = None
    off = False


class How(NamedTuple):
    """Of a convolution: for each dim of space its stride, padding and dilation; groups of channels."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int


class _Plan(NamedTuple):
    """A convolution that is ready for arrays of a geometry. descriptors: of the three arrays."""

    name: str
    descriptors: tuple[int, int, int]
    convolution: int
    algorithm: int
    room: int
    scalars: tuple[Any, Any]


# Libraries that parts of cuDNN load by their names, with their versions.
_NEEDS = (("cublasLt", ("13", "12")), ("nvrtc", ("13", "12")))


@cache
def _installed(driver: int) -> Any:
    """cuDNN for a driver of this version."""
    nvidia_libraries.preload(_NEEDS, driver)
    return nvidia_libraries.loaded(nvidia_libraries.places("cudnn", _VERSIONS), _FUNCTIONS)[0]


def _switch(name: str) -> bool:
    """One of torch.backends.cudnn's switches, which are True until a program says otherwise."""
    switches = sys.modules.get(f"{package()}.backends.cudnn")
    return bool(getattr(switches, name, True))


def _math(of: str) -> int:
    """How convolutions of a dtype may multiply: float32 by tensor cores only where TF32 is allowed."""
    if of in ("float16", "bfloat16"):
        return _TENSOR_OP
    return _DEFAULT_MATH if of == "float64" or _switch("allow_tf32") else _FMA


class Convolutions:
    """A device's convolutions by cuDNN. NotServed where it is not installed, or does not start."""

    def __init__(self, device: Any) -> None:
        self.device, self.library = device, Override.library
        if self.library is None:
            self.library = None if Override.off else _installed(device.driver.version)
        if self.library is None:
            raise NotServed("cuDNN is not installed")
        # By geometry; of what cuDNN does not take, why.
        self.plans: dict[Any, _Plan | str] = {}
        # A handle has one stream: threads with others take turns.
        self._turn = threading.RLock()
        self.handle = self._made("cudnnCreate")

    def _call(self, name: str, *args: Any) -> None:
        code = getattr(self.library, name)(*args)
        if code:
            raise NotServed(f"{name} of cuDNN answers {code}{self._text(code)}")

    def _text(self, code: int) -> str:
        """The library's words for an answer."""
        told = getattr(self.library, "cudnnGetErrorString", None)
        if told is None:
            return ""
        told.argtypes, told.restype = (_INT,), ctypes.c_char_p
        return f" ({(told(code) or b'').decode()})"

    def _made(self, name: str) -> int:
        found = _PTR()
        self._call(name, ctypes.byref(found))
        return found.value or 0

    # --- plans ----------------------------------------------------------------------------------

    def _array(self, shape: Sequence[int], kind: int, filters: bool, last: bool) -> int:
        shape = list(shape)
        if len(shape) == 3:  # cuDNN knows no lines
            shape.insert(2, 1)
        n, steps = len(shape), channels_last_strides(shape) if last else contiguous_strides(shape)
        sizes, strides = (_INT * n)(*shape), (_INT * n)(*steps)
        if filters:
            made = self._made("cudnnCreateFilterDescriptor")
            layout = _NHWC if last else _NCHW
            self._call("cudnnSetFilterNdDescriptor", made, kind, layout, n, sizes)
            return made
        made = self._made("cudnnCreateTensorDescriptor")
        self._call("cudnnSetTensorNdDescriptor", made, kind, n, sizes, strides)
        return made

    def _convolution(self, how: How, of: str) -> int:
        parts = [list(part) for part in how[:3]]
        if len(parts[0]) == 1:
            for part, one in zip(parts, (1, 0, 1), strict=True):
                part.insert(0, one)
        n = len(parts[0])
        stride, padding, dilation = ((_INT * n)(*part) for part in parts)
        made = self._made("cudnnCreateConvolutionDescriptor")
        self._call(
            "cudnnSetConvolutionNdDescriptor", made, n, padding, stride, dilation, _CROSS_CORRELATION,
            _TYPES[of][1],
        )  # fmt: skip
        self._call("cudnnSetConvolutionGroupCount", made, how.groups)
        self._call("cudnnSetConvolutionMathType", made, _math(of))
        return made

    def _plan(self, kind: str, of: str, shapes: Sequence[tuple[int, ...]], how: How, last: bool) -> _Plan:
        stem, filters = _STEMS[kind]
        if of not in _TYPES or any([math.prod(shape) >= _LARGE for shape in shapes]):
            raise NotServed(f"cuDNN has no convolutions of {of}, or of so many elements")
        each = [self._array(shape, _TYPES[of][0], k == filters, last) for k, shape in enumerate(shapes)]
        one, two, made = each
        convolution = self._convolution(how, of)
        found, count = (_Algorithm * _ASKED)(), _INT()
        self._call(
            f"cudnnGetConvolution{stem}Algorithm_v7", self.handle, one, two, convolution, made, _ASKED,
            ctypes.byref(count), found,
        )  # fmt: skip
        for each_found in found[: count.value]:
            if each_found.status or each_found.determinism != _DETERMINISTIC or each_found.memory > _MOST:
                continue
            size = _SIZE()
            try:
                # What is proposed may round operands, also where that was not allowed.
                way = _FMA if _math(of) == _FMA else each_found.math
                self._call("cudnnSetConvolutionMathType", convolution, way)
                self._call(
                    f"cudnnGetConvolution{stem}WorkspaceSize", self.handle, one, two, convolution, made,
                    each_found.algorithm, ctypes.byref(size),
                )  # fmt: skip
            except NotServed:  # the next one may do it
                continue
            number = ctypes.c_double if of == "float64" else ctypes.c_float
            scalars = ctypes.byref(number(1)), ctypes.byref(number(0))
            name = f"cudnnConvolution{stem}"
            return _Plan(name, (one, two, made), convolution, each_found.algorithm, size.value, scalars)
        raise NotServed("cuDNN proposes no deterministic algorithm")

    # --- convolutions ---------------------------------------------------------------------------

    def _laid(self, a: DeviceArray, last: bool) -> DeviceArray:
        if not last:
            return launches.contiguous(self.device, a)
        strides = tuple([s * a.itemsize for s in channels_last_strides(a.shape)])
        return a if a.strides == strides else launches.copied(self.device, a, strides)

    def run(
        self,
        kind: str,
        one: DeviceArray,
        two: DeviceArray,
        shape: tuple[int, ...],
        how: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int],
        last: bool,
    ) -> DeviceArray:
        """A convolution ("forward" of x and w), or its gradient (to the "input", of w and g; to the "weight",
        of x and g), of this shape.

        last: whether memory has the channels last. NotServed where cuDNN does not take it.
        """
        way = How(*how)
        if not _switch("enabled"):
            raise NotServed("torch.backends.cudnn.enabled is False")
        last, of = last and len(shape) == 4, dt.from_numpy_dtype(one.dtype).name
        key = kind, of, one.shape, two.shape, way, last, _switch("allow_tf32")
        if key not in self.plans:
            self.device.enter()
            try:
                self.plans[key] = self._plan(kind, of, (one.shape, two.shape, shape), way, last)
            except NotServed as error:
                self.plans[key] = str(error)
        plan = self.plans[key]
        if isinstance(plan, str):
            raise NotServed(plan)
        given = [self._laid(a, last) for a in (one, two)]
        strides = tuple([s * one.itemsize for s in channels_last_strides(shape)]) if last else None
        made: DeviceArray = self.device.empty(shape, one.dtype, strides, poison=False)
        room = self.device.empty((max(plan.room, 1),), np.dtype(np.uint8), None, poison=False)
        arrays = [*given, made, room]
        self.device.alive()
        self.device.enter()
        self.device.flush_before(given, [made])
        try:
            self._queue(plan, [a.address for a in arrays])
        except NotServed as error:
            self.plans[key] = str(error)
            raise
        recording = self.device.recording
        if recording is not None:
            recording.product(partial(self._queue, plan), arrays)
        return made

    def _queue(self, plan: _Plan, addresses: Sequence[int]) -> None:
        """Queue a convolution on the current stream: addresses of the arrays and of the room."""
        one, two, made, room = addresses
        (a, b, c), (alpha, beta) = plan.descriptors, plan.scalars
        with self._turn:
            self._call("cudnnSetStream", self.handle, self.device.stream.handle)
            self._call(
                plan.name, self.handle, alpha, a, one, b, two, plan.convolution, plan.algorithm, room,
                plan.room, beta, c, made,
            )  # fmt: skip
