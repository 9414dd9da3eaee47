"""Matrix products by cuBLASLt: row-major products of strided matrices, plans kept by shape.

cuBLASLt's matrices lie column by column; a row-major C = A @ B is its C' = B' @ A'.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.accelerator import PRODUCTS
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import NotServed
from rushlight._engine.devices.cuda.driver import nvidia_libraries
from rushlight._engine.devices.cuda.kernels import launches
from rushlight._engine.devices.cuda.served import multiplying

# dtype -> (cudaDataType of the matrices, of the scale, cublasComputeType).
_TYPES = {
    "float32": (0, 0, 68),
    "float64": (1, 1, 70),
    "float16": (2, 0, 68),
    "bfloat16": (14, 0, 68),
    "complex64": (4, 4, 68),
    "complex128": (5, 5, 70),
}
_COMPLEX, _TF32 = (4, 5), 77
_SCALARS: dict[int, Any] = {
    0: ctypes.c_float,
    1: ctypes.c_double,
    4: ctypes.c_float * 2,
    5: ctypes.c_double * 2,
}
# Attributes: of a product, of a matrix, of a search.
_TRANSA, _TRANSB, _EPILOGUE, _BIAS = 3, 4, 7, 8
_BATCHES, _BATCH_STRIDE = 5, 6
_MOST_WORKSPACE, _ALIGNMENTS = 1, (5, 6, 7, 8)
_PLAIN, _WITH_BIAS = 1, 4
# Bytes that a product may work in, for each stream: as PyTorch's are on Hopper, and on other cards.
_WORKSPACE, _WORKSPACE_HOPPER = 8519680, 32 << 20
_VERSIONS = ("13", "12")
_ALLOC_FAILED, _NOT_SUPPORTED = 3, 15
# What operands begin at a multiple of where nothing else is known of what a product needs.
_EVEN = 16
_PTR, _SIZE = ctypes.c_void_p, ctypes.c_size_t


class _Heuristic(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = [
        ("algorithm", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    ]


_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "cublasLtCreate": (_PTR,),
    "cublasLtDestroy": (_PTR,),
    "cublasLtMatmulDescCreate": (_PTR, ctypes.c_int, ctypes.c_int),
    "cublasLtMatmulDescSetAttribute": (_PTR, ctypes.c_int, _PTR, _SIZE),
    "cublasLtMatmulDescDestroy": (_PTR,),
    "cublasLtMatrixLayoutCreate": (_PTR, ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int64),
    "cublasLtMatrixLayoutSetAttribute": (_PTR, ctypes.c_int, _PTR, _SIZE),
    "cublasLtMatrixLayoutDestroy": (_PTR,),
    "cublasLtMatmulPreferenceCreate": (_PTR,),
    "cublasLtMatmulPreferenceSetAttribute": (_PTR, ctypes.c_int, _PTR, _SIZE),
    "cublasLtMatmulPreferenceDestroy": (_PTR,),
    "cublasLtMatmulAlgoGetHeuristic": (*[_PTR] * 7, ctypes.c_int, _PTR, _PTR),
    "cublasLtMatmul": (*[_PTR] * 14, _SIZE, _PTR),
}
_STATUS = {
    1: "CUBLAS_STATUS_NOT_INITIALIZED",
    3: "CUBLAS_STATUS_ALLOC_FAILED",
    7: "CUBLAS_STATUS_INVALID_VALUE",
    8: "CUBLAS_STATUS_ARCH_MISMATCH",
    11: "CUBLAS_STATUS_MAPPING_ERROR",
    13: "CUBLAS_STATUS_EXECUTION_FAILED",
    14: "CUBLAS_STATUS_INTERNAL_ERROR",
    15: "CUBLAS_STATUS_NOT_SUPPORTED",
}


class Override:
    """Which library is used, cuBLASLt if None: tests put an imitation here."""

    library: Any = None


def _places(driver: int) -> list[str]:
    """Where a cuBLASLt may be that a driver of this version takes."""
    return nvidia_libraries.places("cublasLt", nvidia_libraries.fitting(_VERSIONS, driver))


@cache
def _installed(driver: int) -> Any:
    """cuBLASLt for a driver of this version."""
    library, reason = nvidia_libraries.loaded(_places(driver), _FUNCTIONS)
    if library is None:
        raise nvidia_libraries.NotInstalled(
            "NVIDIA's cuBLAS, which computes matrix products on a CUDA device, is not installed: pip install "
            f"'rushlight[cuda]' brings it ({reason})"
        )
    return library


class PreparedProduct(NamedTuple):
    """A product that is ready for matrices of a geometry."""

    product: int
    layouts: tuple[int, int, int]
    algorithm: Any
    alpha: Any
    beta: Any
    told: str  # what it is, for errors


def _error(code: int, name: str, told: str = "") -> RuntimeError:
    """The error for what a function answers."""
    status = _STATUS.get(code, f"status {code}")
    return RuntimeError(f"CUDA error: {status} when calling `{name}`" + (f" ({told})" if told else ""))


class _Matrix(NamedTuple):
    """A batch of matrices as cuBLASLt sees it: columns of `rows` elements, `ld` apart."""

    transposed: bool
    rows: int
    columns: int
    ld: int
    batches: int
    step: int


def _alignment(a: DeviceArray) -> int:
    """The largest power of two up to 256 that divides an array's address."""
    return min(a.address & -a.address, 256)


def _is_plain(a: DeviceArray) -> bool:
    """Whether an array lies row by row, at a multiple of what any product takes."""
    return a.flags.c_contiguous and a.address % _EVEN == 0


class Products:
    """A device's matrix products. NotInstalled where there is no cuBLAS."""

    def __init__(self, device: Any) -> None:
        self.device, self.library = device, Override.library
        if self.library is None:
            self.library = _installed(device.driver.version)
        self.handle = self._made("cublasLtCreate")
        self._plans: dict[Any, PreparedProduct | None] = {}
        # A plan has one bias: threads take turns.
        self._turn = threading.RLock()
        self._workspaces: weakref.WeakKeyDictionary[Any, DeviceArray] = weakref.WeakKeyDictionary()
        self.size = _WORKSPACE_HOPPER if device.card.capability >= (9, 0) else _WORKSPACE

    def _call(self, name: str, *args: Any) -> None:
        code = getattr(self.library, name)(*args)
        if code == _ALLOC_FAILED:  # for what the library needs beside its workspace
            self.device.driver.relieve()
            code = getattr(self.library, name)(*args)
        if code:
            raise _error(code, name)

    def _made(self, name: str, *args: Any) -> int:
        found = _PTR()
        self._call(name, ctypes.byref(found), *args)
        return found.value or 0

    def _set(self, kind: str, handle: int, attribute: int, value: Any) -> None:
        name = f"cublasLt{kind}SetAttribute"
        self._call(name, handle, attribute, ctypes.byref(value), ctypes.sizeof(value))

    # --- geometry -------------------------------------------------------------------------------

    def _seen(self, a: DeviceArray) -> tuple[DeviceArray, _Matrix]:
        """(the array or a copy, how its row-major matrices look column by column)."""
        item, (rows, columns) = a.itemsize, a.shape[-2:]
        down, right = a.strides[-2] // item, a.strides[-1] // item
        batches, step = 1, 0
        if a.ndim == 3:
            batches, step = a.shape[0], a.strides[0] // item if a.shape[0] > 1 else 0
        if step >= 0 and (right == 1 or columns == 1) and (down >= max(columns, 1) or rows == 1):
            return a, _Matrix(False, columns, rows, max(down if rows > 1 else 0, columns, 1), batches, step)
        if step >= 0 and (down == 1 or rows == 1) and (right >= max(rows, 1) or columns == 1):
            return a, _Matrix(True, rows, columns, max(right if columns > 1 else 0, rows, 1), batches, step)
        return self._seen(launches.copied(self.device, a))

    # --- products -------------------------------------------------------------------------------

    def product(self, a: DeviceArray, b: DeviceArray, bias: DeviceArray | None = None) -> DeviceArray:
        """a @ b over the last two dims, batch dims broadcast; `bias` is added to each row."""
        of = dt.from_numpy_dtype(a.dtype).name
        if of not in _TYPES:
            raise NotServed(f"cuBLAS has no products of {of}")
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        made: DeviceArray = self.device.empty((*lead, a.shape[-2], b.shape[-1]), a.dtype, None, poison=False)
        if not made.size:
            return made
        if not a.shape[-1]:
            launches.convert(self.device, made, np.zeros((), a.dtype))
            return made
        one, two, out = (multiplying.folded(x, lead) for x in (a, b, made))
        one, left = self._seen(one)
        two, right = self._seen(two)
        _, result = self._seen(out)
        if bias is not None:
            bias = launches.contiguous(self.device, bias)
        # cuBLASLt has no attribute for a bias: as PyTorch does, the result's alignment stands for both.
        last = _alignment(made) if bias is None else min(_alignment(made), _alignment(bias))
        aligned = (_alignment(two), _alignment(one), _alignment(made), last)
        key = of, left, right, result, bias is not None, aligned, PRODUCTS.allow_tf32
        self.device.alive()
        self.device.enter()
        if key not in self._plans:
            self._plans[key] = self._plan(of, left, right, result, bias, aligned)
        plan = self._plans[key]
        if plan is None:
            return self._otherwise(one, two, made, bias)
        given = [two, one, made] if bias is None else [two, one, made, bias]
        recording = self.device.recording
        if recording is not None:
            recording.product(partial(self._queue, plan), given)
        self.device.flush_before([*given[:2], *given[3:]], [made])
        self._queue(plan, [a.address for a in given])
        return made

    def _otherwise(
        self, one: DeviceArray, two: DeviceArray, made: DeviceArray, bias: DeviceArray | None
    ) -> DeviceArray:
        """A product that cuBLASLt has no algorithm for: with the bias added after it, of copies that lie row
        by row, or by the device's own kernels.
        """
        if bias is not None:
            found = self.product(one, two).reshape(made.shape)
            multiplying.add(self.device, found, bias)
            return found
        plain = [a if _is_plain(a) else launches.copied(self.device, a) for a in (one, two)]
        if plain[0] is one and plain[1] is two:
            return multiplying.product(self.device, one, two).reshape(made.shape)
        return self.product(*plain).reshape(made.shape)

    def _queue(self, plan: PreparedProduct, addresses: Sequence[int]) -> None:
        """Queue a product on the current stream: addresses of b, a, the result, and of a bias if any."""
        two, one, made, *bias = addresses
        if bias:
            with self._turn:
                self._set("MatmulDesc", plan.product, _BIAS, ctypes.c_uint64(bias[0]))
                self._multiply(plan, two, one, made)
        else:
            self._multiply(plan, two, one, made)

    def _multiply(self, plan: PreparedProduct, two: int, one: int, made: int) -> None:
        stream = self.device.stream
        of_b, of_a, of_c = plan.layouts
        try:
            self._call(
                "cublasLtMatmul", self.handle, plan.product, plan.alpha, two, of_b, one, of_a, plan.beta,
                made, of_c, made, of_c, plan.algorithm, self._workspace(stream).address, self.size,
                stream.handle,
            )  # fmt: skip
        except RuntimeError as error:
            error.add_note(f"The product was {plan.told}, addresses {[hex(a) for a in (two, one, made)]}")
            raise

    def _workspace(self, stream: Any) -> DeviceArray:
        """What products of a stream work in; those of a graph have memory of the graph's own, which a replay
        beside other work must not share.
        """
        capture = self.device.capture
        rooms = self._workspaces if capture is None else capture.workspaces
        found = rooms.get(stream)
        if found is None:
            with self.device.aside():
                found = rooms[stream] = self.device.empty((self.size,), np.dtype(np.uint8))
        return found

    def _layout(self, matrix: _Matrix, kind: int) -> int:
        made = self._made("cublasLtMatrixLayoutCreate", kind, matrix.rows, matrix.columns, matrix.ld)
        if matrix.batches > 1:
            self._set("MatrixLayout", made, _BATCHES, ctypes.c_int32(matrix.batches))
            self._set("MatrixLayout", made, _BATCH_STRIDE, ctypes.c_int64(matrix.step))
        return made

    def _plan(
        self, of: str, left: _Matrix, right: _Matrix, result: _Matrix, bias: Any, aligned: tuple[int, ...]
    ) -> PreparedProduct | None:
        """How cuBLASLt computes such a product; None where it has no algorithm for it."""
        kind, scale, compute = _TYPES[of]
        if bias is not None and kind in _COMPLEX:
            return None  # cuBLASLt adds none to complex numbers
        told = (
            f"{of}, column by column {right} @ {left} = {result}, bias {bias is not None}, aligned {aligned}"
        )
        if of == "float32" and PRODUCTS.allow_tf32:
            compute = _TF32
        product = self._made("cublasLtMatmulDescCreate", compute, scale)
        self._set("MatmulDesc", product, _TRANSA, ctypes.c_int32(right.transposed))
        self._set("MatmulDesc", product, _TRANSB, ctypes.c_int32(left.transposed))
        self._set("MatmulDesc", product, _EPILOGUE, ctypes.c_uint32(_PLAIN if bias is None else _WITH_BIAS))
        if bias is not None:
            self._set("MatmulDesc", product, _BIAS, ctypes.c_uint64(bias.address))
        layouts = self._layout(right, kind), self._layout(left, kind), self._layout(result, kind)
        search = self._made("cublasLtMatmulPreferenceCreate")
        self._set("MatmulPreference", search, _MOST_WORKSPACE, ctypes.c_uint64(self.size))
        # Without these cuBLASLt takes addresses for multiples of 256, which those of views are not.
        for attribute, size in zip(_ALIGNMENTS, aligned, strict=True):
            self._set("MatmulPreference", search, attribute, ctypes.c_uint32(size))
        found, count = _Heuristic(), ctypes.c_int(0)
        of_b, of_a, of_c = layouts
        code = self.library.cublasLtMatmulAlgoGetHeuristic(
            self.handle, product, of_b, of_a, of_c, of_c, search, 1, ctypes.byref(found), ctypes.byref(count)
        )
        self._call("cublasLtMatmulPreferenceDestroy", search)
        if code == _NOT_SUPPORTED or not (code or count.value):
            return None
        if code:
            raise _error(code, "cublasLtMatmulAlgoGetHeuristic", told)
        alpha, beta = _SCALARS[scale](), _SCALARS[scale]()
        if scale >= 4:
            alpha[0] = 1
        else:
            alpha.value = 1
        return PreparedProduct(
            product, layouts, ctypes.byref(found.algorithm), ctypes.byref(alpha), ctypes.byref(beta), told
        )
