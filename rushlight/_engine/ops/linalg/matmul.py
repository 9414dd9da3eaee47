"""Matrix products: contractions, on BLAS."""

from __future__ import annotations

import math
from string import ascii_lowercase
from typing import Any

import numpy as np

from rushlight._engine.core.dtype import C_NAMES
from rushlight._engine.core.errors import check_batches, check_multipliable
from rushlight._engine.core.layout import broadcast_shapes
from rushlight._engine.core.services import service
from rushlight._engine.ops.creation.copying import converted
from rushlight._engine.ops.expressions import const, symbol
from rushlight._engine.ops.indexing.along_dim import legacy
from rushlight._engine.ops.resolved import ArrayFunction, resolved
from rushlight._engine.ops.table import Array, composite, contract


def same_dtype(a: Array, b: Array) -> None:
    """Matrix products do not promote: RuntimeError where dtypes differ."""
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {_c_name(a)} != {_c_name(b)}"
        )


def _same_dtype(a: Array, b: Array) -> None:
    """As `same_dtype`, of batches."""
    if a.dtype != b.dtype:
        raise RuntimeError(f"expected scalar type {legacy(a)} but found {legacy(b)}")


def _c_name(a: Array) -> str:
    found: str = C_NAMES.get(a.dtype.name, a.dtype.name)
    return found


# From this many multiplications on, products are the compiler's, which shares them out over threads.
_LARGE = 1 << 18


def is_low_precision(a: Array) -> bool:
    """Whether these are floats of one or two bytes."""
    return a.dtype.itemsize <= 2 and a.dtype.kind not in "iub"


def product(a: Array, b: Array) -> Array:
    """NumPy's matmul; two-byte floats multiply in float32 and round once."""
    found: Array = product_function(a, b)(a, b)
    return found


def product_function(a: Array, b: Array) -> ArrayFunction:
    """`product` of operands that lie like these."""
    low = is_low_precision(a)
    found = service("rounded matrix product")(a, b) if low and is_large_product(a, b) else None
    if found is not None:
        return found  # type: ignore[no-any-return]
    multiply = unrounded_product_function(a, b)
    return _rounded(multiply) if low else multiply


def _rounded(multiply: ArrayFunction) -> ArrayFunction:
    def run(a: Array, b: Array) -> Array:
        found = multiply(a, b)
        return converted(found, np.empty(found.shape, a.dtype))

    return run


def unrounded_product(a: Array, b: Array) -> Array:
    """The product, of two-byte floats in float32."""
    found: Array = unrounded_product_function(a, b)(a, b)
    return found


def is_large_product(a: Array, b: Array) -> bool:
    """Whether a product is the compiler's, where it has machine code for the operands."""
    return a.ndim > 1 and b.ndim > 1 and a.size * b.shape[-1] >= _LARGE


def unrounded_product_function(a: Array, b: Array) -> ArrayFunction:
    """`unrounded_product` of operands that lie like these."""
    if _is_outer(a, b):
        return _outer_function(a, b)
    many = is_large_product(a, b)
    found: ArrayFunction | None = service("matrix product")(a, b) if many else None
    if found is not None:
        return found
    if is_low_precision(a):
        multiply = unrounded_product_function(np.empty_like(a, np.float32), np.empty_like(b, np.float32))
        return lambda a, b: multiply(
            converted(a, np.empty_like(a, np.float32)), converted(b, np.empty_like(b, np.float32))
        )
    if many and a.dtype.kind in "iu" and a.dtype == b.dtype:
        return _by_doubles
    # Of two matrices or two vectors, dot is the shorter way to the same routine.
    if 0 < a.ndim == b.ndim < 3 and not many:
        return np.ndarray.dot
    return (not many and service("product of few elements")(a, b)) or np.matmul


# Elements of an outer product from which on it is a pointwise kernel's, and of a batch of them.
_OUTER, _OUTERS = 1 << 18, 1 << 12


def _is_outer(a: Array, b: Array) -> bool:
    """Whether each element of a product is one of two numbers, of many."""
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != 1 or b.shape[-2] != 1 or a.dtype != b.dtype:
        return False
    least = _OUTER if a.ndim == b.ndim == 2 else _OUTERS
    return a.dtype.char in "fd" and a.size * b.shape[-1] >= least


def _outer_function(a: Array, b: Array) -> ArrayFunction:
    shape = *np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]
    of = a.dtype.name
    found = symbol("a") * symbol("b") - const(-0.0)  # a sum that begins with 0 is never -0
    kernel = service("pointwise kernel")((found,), (("a", of), ("b", of)), (of,))

    def run(a: Array, b: Array) -> Array:
        found: Array = kernel.large(a, b, out=np.empty(shape, a.dtype))
        return found

    return run


# Whole numbers below this are exact in float64, and so are their sums.
_WHOLE = 1 << 53


def _by_doubles(a: Array, b: Array) -> Array:
    """The product of integers: in float64, which multiplies by BLAS, where no sum can be rounded."""
    if a.size and b.size and _most(a) * _most(b) * a.shape[-1] < _WHOLE:
        found = unrounded_product(a.astype(np.float64), b.astype(np.float64))
        return found.astype(np.int64).astype(a.dtype, copy=False)
    return np.asarray(np.matmul(a, b))


def _most(a: Array) -> int:
    """The largest magnitude."""
    return max(abs(int(a.min())), abs(int(a.max())))


@contract(out=True, planned_gradient=True)
def mm(input, mat2) -> str:
    """The product of two matrices: (n, k) @ (k, m) -> (n, m); both of one dtype, nothing broadcasts
    (RuntimeError).
    """
    return "ij,jk->ik"


@mm.kernel
@resolved
def mm_kernel(a: Array, b: Array) -> ArrayFunction:
    if a.ndim != 2 or b.ndim != 2:
        which = "self" if a.ndim != 2 else "mat2"
        raise RuntimeError(f"{which} must be a matrix")
    same_dtype(a, b)
    check_multipliable(a.shape, b.shape)
    return product_function(a, b)


@mm.gradient
def mm_gradient(s: Any, grad: Any) -> Any:
    return (
        mm(grad, conjugate(s.mat2).t()) if s.needs("input") else None,
        sum_of_outers(conjugate(s.input), grad) if s.needs("mat2") else None,
    )


def conjugate(t: Any) -> Any:
    """The conjugate; a real tensor as it is."""
    return t.conj() if t._kind.dtype.is_complex else t


@contract(name="_sum_of_outers", where=("aten",))
def sum_of_outers(input, other) -> str:
    """The sum of the outer products of rows: (*, n), (*, m) -> (n, m)."""
    lead = ascii_lowercase[: len(input) - 1]
    return f"{lead}y,{lead}z->yz"


@sum_of_outers.kernel
@resolved
def sum_of_outers_kernel(a: Array, b: Array) -> ArrayFunction:
    if a.ndim == 2:
        multiply = product_function(a.T, b)
        return lambda a, b: multiply(a.T, b)
    rows = math.prod(a.shape[:-1])
    left, right = (rows, a.shape[-1]), (rows, b.shape[-1])
    multiply = product_function(a.reshape(left).T, b.reshape(right))
    return lambda a, b: multiply(a.reshape(left).T, b.reshape(right))


@contract(out=True, planned_gradient=True)
def bmm(input, mat2) -> str:
    """The products of two batches of matrices: (b, n, k) @ (b, k, m) -> (b, n, m); nothing broadcasts
    (RuntimeError).
    """
    return "bij,bjk->bik"


@bmm.kernel
@resolved
def bmm_kernel(a: Array, b: Array) -> ArrayFunction:
    if a.ndim != 3 or b.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor" if a.ndim != 3 else "batch2 must be a 3D tensor")
    _same_dtype(a, b)
    check_batches(a.shape, b.shape)
    return product_function(a, b)


@bmm.gradient
def bmm_gradient(s: Any, grad: Any) -> Any:
    return (
        bmm(grad, s.mat2.transpose(1, 2).conj()) if s.needs("input") else None,
        bmm(s.input.transpose(1, 2).conj(), grad) if s.needs("mat2") else None,
    )


@contract(out=True, planned_gradient=True)
def mv(input, vec) -> str:
    """Matrix times vector: (n, m) and (m,) -> (n,); both of one dtype (RuntimeError)."""
    return "ij,j->i"


@mv.kernel
@resolved
def mv_kernel(a: Array, b: Array) -> ArrayFunction:
    if a.ndim != 2 or b.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {a.ndim}, {a.ndim}, {b.ndim}")
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {legacy(b)}, {legacy(a)}, and {legacy(b)}"
        )
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({a.shape[0]}), mat ({a.shape[0]}x{a.shape[1]}), vec ({b.shape[0]})"
        )
    return product_function(a, b)


@mv.gradient
def mv_gradient(s: Any, grad: Any) -> Any:
    return (
        grad.unsqueeze(1) * conjugate(s.vec) if s.needs("input") else None,
        mv(conjugate(s.input).t(), grad) if s.needs("vec") else None,
    )


@contract(out=True, planned_gradient=True)
def dot(input, tensor) -> str:
    """The sum of products of two vectors of one size and dtype: (n,) and (n,) -> ()."""
    return "i,i->"


@dot.kernel
@resolved
def dot_kernel(a: Array, b: Array) -> ArrayFunction:
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {legacy(a)} and {legacy(b)}"
        )
    if a.shape != b.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a.shape[0]}] and src [{b.shape[0]}] to have the "
            f"same number of elements, but got {a.shape[0]} and {b.shape[0]} elements respectively"
        )
    return product_function(a, b)


@dot.gradient
def dot_gradient(s: Any, grad: Any) -> Any:
    return (
        grad * conjugate(s.tensor) if s.needs("input") else None,
        grad * conjugate(s.input) if s.needs("tensor") else None,
    )


@composite(out=True, aliases=("linalg.matmul",), planned=True)
def matmul(input, other):
    """The matrix product: (*, n, k) @ (*, k, m) -> (*, n, m), batch dims broadcast.

    A vector counts as a row in front and as a column behind, and the dim disappears: two vectors give a
    number. RuntimeError for 0 dims, sizes that do not fit, or two dtypes.
    """
    n, k = input._geometry.ndim, other._geometry.ndim
    if n == 2 and k == 2:
        return mm.call(input, other)
    if n == 1 and k == 1:
        return dot(input, other)
    if n == 2 and k == 1:
        return mv(input, other)
    if n == 0 or k == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {n}D and {k}D")
    if n == 1 and k == 2:
        return mm(input.unsqueeze(0), other).squeeze(-2)
    if n == 1:
        return _batched(input.unsqueeze(0), other).squeeze(-2)
    if k == 1:
        return _batched(input, other.unsqueeze(1)).squeeze(-1)
    return _batched(input, other)


def _batched(a: Any, b: Any) -> Any:
    if b.ndim == 2 and a.ndim > 2:
        # One matrix on the right: fold the batch into the rows, one big product.
        rows = math.prod(a.shape[:-1])
        check_multipliable((rows, a.shape[-1]), b.shape)
        return mm(a.reshape(rows, a.shape[-1]), b).reshape(*a.shape[:-1], b.shape[-1])
    return _matmul(a, b)


@contract(name="_matmul", where=("aten",))
def _matmul(input, other) -> str:
    """The product over the last two dims, batch dims broadcast."""
    return "...ij,...jk->...ik"


@_matmul.kernel
@resolved
def _matmul_kernel(a: Array, b: Array) -> ArrayFunction:
    _same_dtype(a, b)
    if a.shape[-1] != b.shape[-2]:  # told, as PyTorch does, with all batch dims as one
        check_batches((math.prod(a.shape[:-2]), *a.shape[-2:]), (math.prod(b.shape[:-2]), *b.shape[-2:]))
    broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return product_function(a, b)


@_matmul.gradient
def _matmul_gradient(s: Any, grad: Any) -> Any:
    left = right = None
    if s.needs("input"):
        left = _matmul(grad, s.other.transpose(-1, -2).conj()).sum_to_size(s.shape("input"))
    if s.needs("other"):
        right = _matmul(s.input.transpose(-1, -2).conj(), grad).sum_to_size(s.shape("other"))
    return left, right
