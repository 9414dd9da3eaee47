"""What the rows of linear algebra share: checks of matrices, LAPACK's column-major results, its infos.

`Array` functions see NumPy arrays, the others tensors. An *info* is LAPACK's report for each matrix of a
batch: 0 for success, or the (one-based) place where an algorithm could not go on.
"""

from __future__ import annotations

from functools import partial, wraps
from typing import Any

import numpy as np

from rushlight._engine.core.accelerator import host
from rushlight._engine.core.errors import LinAlgError
from rushlight._engine.core.layout import broadcast_shapes
from rushlight._engine.core.recording import checked
from rushlight._engine.core.results import named
from rushlight._engine.ops.indexing.along_dim import Array, legacy
from rushlight._engine.ops.signature import Param
from rushlight._engine.ops.table import ROWS, composite

SINGULAR = (
    "The diagonal element {} is zero, the inversion could not be completed because the input "
    "matrix is singular."
)


def check_matrix(op: str, a: Array, name: str = "A") -> None:
    """RuntimeError unless there are two dims or more."""
    if a.ndim < 2:
        raise RuntimeError(f"{op}: The input tensor {name} must have at least 2 dimensions.")


def check_square(op: str, a: Array, name: str = "A") -> None:
    """RuntimeError unless the last two dims are equal."""
    check_matrix(op, a, name)
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"{op}: {name} must be batches of square matrices, but they are {a.shape[-2]} by "
            f"{a.shape[-1]} matrices"
        )


def check_floating(op: str, a: Array) -> None:
    """RuntimeError for integers and for floats of two bytes; LAPACK has neither."""
    if not is_inexact(a):
        raise RuntimeError(f"{op}: Expected a floating point or complex tensor as input. Got {legacy(a)}")
    if not has_lapack(a):
        raise RuntimeError(f"{op}: Low precision dtypes not supported. Got {legacy(a)}")


def is_inexact(a: Array) -> bool:
    """Floating or complex, ml_dtypes' floats among them."""
    return a.dtype.kind not in "biu"


def has_lapack(a: Array) -> bool:
    """Whether LAPACK has the dtype."""
    return a.dtype.kind in "fc" and a.dtype.itemsize >= 4


def size_of(x: Array) -> Array:
    """LAPACK's measure of numbers, which pivots are chosen by."""
    return abs(x.real) + abs(x.imag) if x.dtype.kind == "c" else abs(x)


def check_same(op: str, a: Array, b: Array, name: str = "A") -> None:
    """RuntimeError unless both have one dtype."""
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"{op}: Expected {name} and B to have the same dtype, but found {name} of type "
            f"{legacy(a)} and B of type {legacy(b)} instead"
        )


def check_equation(op: str, a: Array, b: Array, left: bool) -> None:
    """RuntimeError unless A X = B (or X A = B) can be."""
    if a.shape[-2] != b.shape[-2 if left else -1]:
        raise RuntimeError(
            f"{op}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})"
        )


def columns(a: Array) -> Array:
    """The matrices laid out column by column, as LAPACK leaves them and PyTorch hands them on."""
    turned = np.ascontiguousarray(a.swapaxes(-1, -2))
    if not turned.size or 1 in turned.shape[-2:]:  # NumPy leaves any strides where a size is 0 or 1
        turned = np.ndarray(turned.shape, turned.dtype, turned)
    return turned.swapaxes(-1, -2)


def batch_of(a: Array, b: Array) -> tuple[int, ...]:
    """The batch dims of two operands broadcast."""
    return broadcast_shapes(a.shape[:-2], b.shape[:-2])


def blame(
    op: str, info: Any, text: str, error: type[RuntimeError] = LinAlgError, wanted: bool = True
) -> None:
    """Raise, if `wanted`, for the first matrix of a batch that infos complain of; text: "... {} ..."."""
    if not wanted:
        return
    while getattr(info, "_many", False):  # inside vmap, an info stands for those of all examples
        info = info.value
    checked(partial(_complain, op, text, error), getattr(info, "_array", info))


def _complain(op: str, text: str, error: type[RuntimeError], info: Any) -> None:
    found = host(info)
    if not (np.count_nonzero(found) if found.ndim else found.item()):
        return
    at = int(np.flatnonzero(found)[0])
    where = f"(Batch element {at}): " if found.ndim else ""
    raise error(f"{op}: {where}{text.format(int(found.reshape(-1)[at]))}")


def reporting(
    text: str,
    doc: str,
    error: type[RuntimeError] = LinAlgError,
    spaces: tuple[str, str] = ("torch.linalg.", "torch.linalg."),
) -> Any:
    """Decorator of a body that answers (*results, info): it declares linalg.NAME, which raises what infos
    complain of, and linalg.NAME_ex, which hands them on, and whose docstring is `doc`.

    text, error: as `blame` takes them; spaces: where PyTorch's messages say that these functions are.
    """

    def declare(body: Any) -> Any:
        name = body.__name__.rstrip("_")

        plain, extended = spaces[0] + name, f"{spaces[1]}{name}_ex"

        @wraps(body)
        def raises(*values: Any, **more: Any) -> Any:
            found = body(*values, **more)
            blame(plain, found[-1], text, error)
            return named(f"linalg_{name}")(*found[:-1]) if found[2:] else found[0]

        @wraps(body)
        def reports(*values: Any, check_errors: bool, **more: Any) -> Any:
            found = body(*values, **more)
            blame(extended, found[-1], text, error, wanted=check_errors)
            return named(f"linalg_{name}_ex")(*found)

        composite(
            reports,
            where=(f"linalg.{name}_ex",),
            name=f"linalg_{name}_ex",
            out=True,
            doc=doc,
            tail=(Param("check_errors", "bool", False, True),),
        )
        return composite(raises, where=(f"linalg.{name}",), name=f"linalg_{name}", out=True)

    return declare


def infos(a: Array) -> Array:
    """Success for every matrix of the batch."""
    return np.zeros(a.shape[:-2], np.int32)


def dagger(t: Any) -> Any:
    """The conjugate transpose of a tensor's matrices."""
    return t.mT.conj() if t._kind.dtype.is_complex else t.mT


def column_major(t: Any) -> Any:
    """The tensor with its matrices laid out column by column."""
    if not t.numel() or 1 in t.shape[-2:]:  # whatever the strides, a size of 0 or 1 is contiguous
        return ROWS["transpose_copy"](t, -2, -1).mT
    return t.mT.contiguous().mT


def diagonal_of(t: Any) -> Any:
    """The main diagonals, as a view."""
    return t.diagonal(0, -2, -1)
