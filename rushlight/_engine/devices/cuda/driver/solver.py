"""Linear algebra by cuSOLVER: its functions of dense matrices (cusolverDn), one matrix of a batch after the
other.

Matrices lie column by column, as cuSOLVER and PyTorch's results have them. What a function found is in
`info`, on the device, as LAPACK tells it: 0, or where a pivot is missing, or how many values did not
converge.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import NotServed
from rushlight._engine.devices.cuda.driver import nvidia_libraries

_INT, _PTR = ctypes.c_int, ctypes.c_void_p
_VERSIONS = ("12", "11")
# Arguments of the functions, "?" for the letter of the dtype, in LAPACK's order; _PTR: a handle, an
# address, or where a size is filled in.
_TYPES: dict[str, tuple[Any, ...]] = {
    "?potrf_bufferSize": (_PTR, _INT, _INT, _PTR, _INT, _PTR),
    "?potrf": (_PTR, _INT, _INT, _PTR, _INT, _PTR, _INT, _PTR),
    "?getrf_bufferSize": (_PTR, _INT, _INT, _PTR, _INT, _PTR),
    "?getrf": (_PTR, _INT, _INT, _PTR, _INT, _PTR, _PTR, _PTR),
    "?getrs": (_PTR, _INT, _INT, _INT, _PTR, _INT, _PTR, _PTR, _INT, _PTR),
    "?geqrf_bufferSize": (_PTR, _INT, _INT, _PTR, _INT, _PTR),
    "?geqrf": (_PTR, _INT, _INT, _PTR, _INT, _PTR, _PTR, _INT, _PTR),
    "?orgqr_bufferSize": (_PTR, _INT, _INT, _INT, _PTR, _INT, _PTR, _PTR),
    "?orgqr": (_PTR, _INT, _INT, _INT, _PTR, _INT, _PTR, _PTR, _INT, _PTR),
    "?syevd_bufferSize": (_PTR, _INT, _INT, _INT, _PTR, _INT, _PTR, _PTR),
    "?syevd": (_PTR, _INT, _INT, _INT, _PTR, _INT, _PTR, _PTR, _INT, _PTR),
    "?gesvd_bufferSize": (_PTR, _INT, _INT, _PTR),
    "?gesvd": (
        _PTR, ctypes.c_byte, ctypes.c_byte, _INT, _INT, _PTR, _INT, _PTR, _PTR, _INT, _PTR, _INT, _PTR,
        _INT, _PTR, _PTR,
    ),
}  # fmt: skip
_KIND, _LONG = ctypes.c_int, ctypes.c_int64
_GEEV = (_PTR, _PTR, _INT, _INT, _LONG, _KIND, _PTR, _LONG, _KIND, _PTR, *[_KIND, _PTR, _LONG] * 2, _KIND)
# What came with cuSOLVER 11.7, and is looked up when it is asked for.
NEWER: dict[str, tuple[Any, ...]] = {
    "cusolverDnCreateParams": (_PTR,),
    "cusolverDnXgeev_bufferSize": (*_GEEV, _PTR, _PTR),
    "cusolverDnXgeev": (*_GEEV, _PTR, ctypes.c_size_t, _PTR, ctypes.c_size_t, _PTR),
}
# cudaDataType, and the one of the eigenvalues.
KINDS = {"float32": (0, 4), "float64": (1, 5), "complex64": (4, 4), "complex128": (5, 5)}
_LETTERS = {"float32": "S", "float64": "D", "complex64": "C", "complex128": "Z"}
# What has no such function for complex numbers, or one with other arguments.
_REAL = ("orgqr", "syevd", "gesvd")
_STATUS = {
    1: "NOT_INITIALIZED",
    2: "ALLOC_FAILED",
    3: "INVALID_VALUE",
    4: "ARCH_MISMATCH",
    6: "EXECUTION_FAILED",
}
_STATUS |= {7: "INTERNAL_ERROR", 8: "MATRIX_TYPE_NOT_SUPPORTED", 9: "NOT_SUPPORTED"}
LOWER, UPPER = 0, 1
PLAIN, TRANSPOSED = 0, 1


class Override:
    """Which library is used, cuSOLVER if None: tests put an imitation here."""

    library: Any = None


def _places(driver: int) -> list[str]:
    """Where a cuSOLVER may be that a driver of this version takes."""
    return nvidia_libraries.places("cusolver", nvidia_libraries.fitting(_VERSIONS, driver))


# Libraries that cuSOLVER needs, in the order in which they need each other, with their versions.
_NEEDS = (
    ("nvJitLink", ("13", "12")),
    ("cublasLt", ("13", "12")),
    ("cublas", ("13", "12")),
    ("cusparse", ("12",)),
)


def functions() -> dict[str, tuple[Any, ...]]:
    """The library's functions that are used, with the types of their arguments."""
    known: dict[str, tuple[Any, ...]] = {"Create": (_PTR,), "SetStream": (_PTR, _PTR)}
    for stem, types in _TYPES.items():
        letters = "SD" if stem[1:].startswith(_REAL) else "SDCZ"
        known.update({stem.replace("?", letter): types for letter in letters})
    return {f"cusolverDn{stem}": types for stem, types in known.items()}


@cache
def _installed(driver: int) -> Any:
    """cuSOLVER for a driver of this version."""
    nvidia_libraries.preload(_NEEDS, driver)
    library, reason = nvidia_libraries.loaded(_places(driver), functions())
    if library is None:
        raise nvidia_libraries.NotInstalled(
            "linear algebra on a CUDA device needs NVIDIA's cuSOLVER, which is not installed: pip install "
            f"'rushlight[cusolver]' brings it, or move the matrices to the host with .cpu() ({reason})"
        )
    return library


class Solver:
    """A device's cuSOLVER. NotInstalled where it is not there."""

    def __init__(self, device: Any) -> None:
        self.device, self.library = device, Override.library
        if self.library is None:
            self.library = _installed(device.driver.version)
        handle = _PTR()
        self._checked("Create", ctypes.byref(handle))
        self.handle = handle.value
        # A handle has one stream: threads with others take turns.
        self._turn = threading.RLock()
        self._params: int | None = None

    def _checked(self, name: str, *args: Any) -> None:
        code = self._function(f"cusolverDn{name}")(*args)
        if code:
            status = _STATUS.get(code, f"status {code}")
            raise RuntimeError(f"cusolver error: CUSOLVER_STATUS_{status}, when calling `cusolverDn{name}`")

    def _function(self, name: str) -> Any:
        """A function of the library; NotServed where it is too old."""
        found = getattr(self.library, name, None)
        if found is None:
            raise NotServed(f"this cuSOLVER has no {name}: it came with version 11.7")
        if name in NEWER and isinstance(self.library, ctypes.CDLL):
            found.argtypes, found.restype = NEWER[name], _INT
        return found

    def call(self, stem: str, of: Any, *args: Any) -> None:
        """A function that works in no memory, on the current stream; of: NumPy's dtype."""
        device = self.device
        device.alive()
        device.enter()
        device.flush()
        with self._turn:
            self._checked("SetStream", self.handle, device.stream.handle)
            self._checked(f"{_LETTERS[of.name]}{stem}", self.handle, *args)

    def room(self, stem: str, of: Any, *args: Any) -> tuple[DeviceArray, int]:
        """(memory that a function works in, its elements)."""
        size = ctypes.c_int()
        self.device.enter()
        self._checked(f"{_LETTERS[of.name]}{stem}_bufferSize", self.handle, *args, ctypes.byref(size))
        return self.device.empty((max(size.value, 1),), np.dtype(of), poison=False), size.value

    def general(self, of: Any, n: int, places: Sequence[Sequence[int]], vectors: bool) -> None:
        """Eigenvalues and right eigenvectors of matrices of dtype `of`: for each the addresses of the matrix,
        which is written over, of n complex eigenvalues, of the vectors' first column, and of its info.

        A real matrix's vectors are real: of two conjugate eigenvalues, of which the one with the positive
        imaginary part comes first, the first column is the real part of both, and the second the imaginary
        part of the first.
        """
        device, (kind, of_values) = self.device, KINDS[of.name]
        device.alive()
        device.enter()
        device.flush()
        if self._params is None:
            found = _PTR()
            self._checked("CreateParams", ctypes.byref(found))
            self._params = found.value
        with self._turn:
            self._checked("SetStream", self.handle, device.stream.handle)
            there, here = ctypes.c_size_t(), ctypes.c_size_t()
            for k, (matrix, values, right, info) in enumerate(places):
                given = (
                    *(self.handle, self._params, 0, int(vectors), n, kind, matrix, n, of_values, values),
                    *(kind, None, n, kind, right if vectors else None, n, kind),
                )
                if not k:
                    self._checked("Xgeev_bufferSize", *given, ctypes.byref(there), ctypes.byref(here))
                    room = device.empty((max(there.value, 1),), np.dtype(np.uint8), poison=False)
                    buffer = ctypes.create_string_buffer(max(here.value, 1))
                self._checked("Xgeev", *given, room.address, there.value, buffer, here.value, info)
            device.stream.run()  # the host's buffer is in use until then
