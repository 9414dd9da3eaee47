"""Matrix products, on BLAS."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight.base.layout import broadcast_shapes
from rushlight.ops.copying import converted
from rushlight.ops.machine import machine as by_name
from rushlight.ops.table import composite, opaque
from rushlight.ops.ways import Way, resolved

Array = np.ndarray[Any, Any]


def same_dtype(op: str, a: Array, b: Array) -> None:
    """Matrix products do not promote: RuntimeError where dtypes differ."""
    if a.dtype != b.dtype:
        raise RuntimeError(f"{op}: expected m1 and m2 to have the same dtype, but got: "
                           f"{_c_name(a)} != {_c_name(b)}")


def _c_name(a: Array) -> str:
    return {"float32": "float", "float64": "double", "int64": "long int", "float16": "c10::Half",
            "bfloat16": "c10::BFloat16", "int32": "int"}.get(a.dtype.name, a.dtype.name)


# From this many multiplications on, products are the compiler's, which shares them out over threads.
LARGE = 1 << 18
machine: Callable[[Array, Array], Way] = lambda a, b: np.matmul


def narrow(a: Array) -> bool:
    """Whether these are floats of one or two bytes."""
    return a.dtype.itemsize <= 2 and a.dtype.kind not in "iub"


def product(a: Array, b: Array) -> Array:
    """NumPy's matmul; two-byte floats multiply in float32 and round once."""
    return multiplier(a, b)(a, b)  # type: ignore[no-any-return]


def multiplier(a: Array, b: Array) -> Way:
    """`product` of operands that lie like these."""
    if narrow(a):
        return _narrow_product
    if a.size * b.shape[-1] >= LARGE and a.ndim > 1 and b.ndim > 1:
        return machine(a, b)
    # Of two matrices, dot is the shorter way to the same routine.
    return np.ndarray.dot if a.ndim == 2 == b.ndim else np.matmul


def _narrow_product(a: Array, b: Array) -> Array:
    found = wide(a, b)
    return converted(found, np.empty(found.shape, a.dtype))


def wide(a: Array, b: Array) -> Array:
    """The product of two-byte floats in float32."""
    if a.size * b.shape[-1] >= LARGE:
        thin: Array | None = by_name("dots", "dots")(a, b)
        if thin is not None:
            return thin
    return product(*[converted(x, np.empty_like(x, np.float32)) for x in (a, b)])


@opaque(out=True)
@resolved
def mm(input, mat2) -> Way:
    """The product of two matrices: (n, k) @ (k, m) -> (n, m)."""
    if input.ndim != 2 or mat2.ndim != 2:
        which = "self" if input.ndim != 2 else "mat2"
        raise RuntimeError(f"{which} must be a matrix")
    same_dtype("expected scalar type", input, mat2)
    if input.dtype.kind == "b":
        raise NotImplementedError('"addmm_impl_cpu_" not implemented for \'Bool\'')
    if input.shape[1] != mat2.shape[0]:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied "
                           f"({input.shape[0]}x{input.shape[1]} and {mat2.shape[0]}x{mat2.shape[1]})")
    return multiplier(input, mat2)


@mm.gradient
def _(s: Any, grad: Any) -> Any:
    return (mm(grad, conjugate(s.mat2).t()) if s.needs("input") else None,
            sum_of_outers(conjugate(s.input), grad) if s.needs("mat2") else None)


def conjugate(t: Any) -> Any:
    """The conjugate; a real tensor as it is."""
    return t.conj() if t._k.dtype.is_complex else t


@opaque(name="_sum_of_outers", where=("aten",))
def sum_of_outers(input, other) -> Array:
    """The sum of the outer products of rows: (*, n), (*, m) -> (n, m)."""
    if input.ndim != 2:
        input, other = input.reshape(-1, input.shape[-1]), other.reshape(-1, other.shape[-1])
    return product(input.T, other)


@sum_of_outers.gradient
def _(s: Any, grad: Any) -> Any:
    a, b = (conjugate(x) for x in (s.input, s.other))
    return (_matmul(b, grad.t()) if s.needs("input") else None,
            _matmul(a, grad) if s.needs("other") else None)


@opaque(out=True)
@resolved
def bmm(input, mat2) -> Way:
    """The products of two batches of matrices: (b, n, k) @ (b, k, m) -> (b, n, m)."""
    if input.ndim != 3 or mat2.ndim != 3:
        which = "batch1" if input.ndim != 3 else "batch2"
        raise RuntimeError(f"{which} must be a 3D tensor")
    same_dtype("expected scalar type", input, mat2)
    if input.shape[0] != mat2.shape[0] or input.shape[2] != mat2.shape[1]:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: "
                           f"[{input.shape[0]}, {input.shape[2]}] but got: "
                           f"[{mat2.shape[0]}, {mat2.shape[1]}].")
    return multiplier(input, mat2)


@bmm.gradient
def _(s: Any, grad: Any) -> Any:
    return (bmm(grad, s.mat2.transpose(1, 2).conj()) if s.needs("input") else None,
            bmm(s.input.transpose(1, 2).conj(), grad) if s.needs("mat2") else None)


@opaque(out=True)
@resolved
def mv(input, vec) -> Way:
    """Matrix times vector."""
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {input.ndim}, {input.ndim}, {vec.ndim}")
    same_dtype("expected scalar type", input, vec)
    if input.shape[1] != vec.shape[0]:
        n, m = input.shape
        raise RuntimeError(f"size mismatch, got input ({n}), mat ({n}x{m}), vec ({vec.shape[0]})")
    return multiplier(input, vec)


@mv.gradient
def _(s: Any, grad: Any) -> Any:
    return (grad.unsqueeze(1) * conjugate(s.vec) if s.needs("input") else None,
            mv(conjugate(s.input).t(), grad) if s.needs("vec") else None)


@opaque(out=True)
@resolved
def dot(input, tensor) -> Way:
    """The sum of products of two vectors."""
    if input.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors")
    if input.dtype != tensor.dtype:
        raise RuntimeError(f"dot : expected both vectors to have same dtype, but found "
                           f"{_c_name(input)} and {_c_name(tensor)}")
    if input.shape != tensor.shape:
        raise RuntimeError(f"inconsistent tensor size, expected tensor [{input.shape[0]}] and src "
                           f"[{tensor.shape[0]}] to have the same number of elements, but got "
                           f"{input.shape[0]} and {tensor.shape[0]} elements respectively")
    return multiplier(input, tensor)


@dot.gradient
def _(s: Any, grad: Any) -> Any:
    return grad * conjugate(s.tensor), grad * conjugate(s.input)


@composite(out=True, aliases=("linalg.matmul",), planned=True)
def matmul(input, other):
    """The matrix product with broadcast batch dims; vectors count as rows or columns."""
    n, k = input._a.ndim, other._a.ndim
    if n == 2 and k == 2:
        return mm(input, other)
    if n == 1 and k == 1:
        return dot(input, other)
    if n == 2 and k == 1:
        return mv(input, other)
    if n == 0 or k == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {n}D and {k}D")
    if n == 1:
        return _batched(input.unsqueeze(0), other).squeeze(-2)
    if k == 1:
        return _batched(input, other.unsqueeze(1)).squeeze(-1)
    return _batched(input, other)


def _batched(a: Any, b: Any) -> Any:
    if b.ndim == 2 and a.ndim > 2:
        # One matrix on the right: fold the batch into the rows, one big product.
        _check_inner(a, b)
        rows = int(np.prod(a.shape[:-1], dtype=np.int64))
        return mm(a.reshape(rows, a.shape[-1]), b).reshape(*a.shape[:-1], b.shape[-1])
    return _matmul(a, b)


def _check_inner(a: Any, b: Any) -> None:
    if a.shape[-1] != b.shape[-2]:
        rows = int(np.prod(a.shape[:-1]))
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows}x{a.shape[-1]} and "
                           f"{b.shape[-2]}x{b.shape[-1]})")


@opaque(name="_matmul", where=("aten",))
@resolved
def _matmul(input, other) -> Way:
    """The product over the last two dims, batch dims broadcast."""
    same_dtype("expected scalar type", input, other)
    if input.shape[-1] != other.shape[-2]:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: "
                           f"[{int(np.prod(input.shape[:-2]))}, {input.shape[-1]}] but got: "
                           f"[{int(np.prod(other.shape[:-2]))}, {other.shape[-2]}].")
    broadcast_shapes(input.shape[:-2], other.shape[:-2])
    return multiplier(input, other)


@_matmul.gradient
def _(s: Any, grad: Any) -> Any:
    left = right = None
    if s.needs("input"):
        left = _matmul(grad, s.other.transpose(-1, -2).conj()).sum_to_size(s.shape("input"))
    if s.needs("other"):
        right = _matmul(s.input.transpose(-1, -2).conj(), grad).sum_to_size(s.shape("other"))
    return left, right
