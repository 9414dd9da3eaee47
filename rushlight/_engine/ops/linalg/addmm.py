"""Products with something added: linear, addmm and its relatives, outer, tensordot."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.errors import check_multipliable, wrap_dim
from rushlight._engine.core.promotion import combine, promote_types
from rushlight._engine.core.recording import fusing
from rushlight._engine.core.services import service
from rushlight._engine.ops.expressions import Expr, symbol
from rushlight._engine.ops.linalg.matmul import (
    bmm,
    conjugate,
    is_low_precision,
    mm,
    mv,
    product_function,
    same_dtype,
    sum_of_outers,
    unrounded_product_function,
)
from rushlight._engine.ops.resolved import ArrayFunction, resolved
from rushlight._engine.ops.row_kernels import BIG, RowKernel
from rushlight._engine.ops.table import ROWS, Array, composite, contract, pointwise


@pointwise(where=(), inplace=False)
def _scaled_sum(product: Expr, input: Expr, beta: Number = 1, alpha: Number = 1) -> Expr:
    """beta * input + alpha * product, laid out as the product."""
    found: Expr = input * beta + product * alpha
    return found


@contract(where=("nn.functional",), last_leaf_first=True, out=True, planned_gradient=True)
def linear(input, weight, bias: Tensor | None = None) -> str:
    """input @ weight.T + bias: (*, in) with a weight (out, in) and a bias (out,) or None gives (*, out).

    RuntimeError for other sizes, or two dtypes.
    """
    return "...i,oi->...o"


@linear.kernel
@resolved
def linear_kernel(x: Array, w: Array, bias: Array | None) -> ArrayFunction:
    if not (x.ndim and w.ndim):
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {x.ndim}D and {w.ndim}D"
        )
    if bias is None:
        same_dtype(x, w)
    elif not bias.dtype == x.dtype == w.dtype:
        _dtypes_apart("linear", *[dt.from_numpy_dtype(a.dtype) for a in (bias, x, w)])
    if bias is not None and is_low_precision(x) and (x.ndim < 3 or x.flags.c_contiguous):
        # One rounding, of the sum: so does PyTorch, save for what it cannot see as one matrix.
        return _linear(x, w, bias, unrounded_product_function)
    return _linear(x, w, bias, product_function)


@cache
def biased(sums: Any, bias: Any, out: Any) -> Callable[..., Any]:
    """The kernel of a product and its bias, which is rounded once."""
    names = [dt.from_numpy_dtype(of).name for of in (sums, bias, out)]
    inputs = ("x", names[0]), ("b", names[1])
    found: Callable[..., Any] = service("pointwise kernel")((symbol("x") + symbol("b"),), inputs, (names[2],))
    return found


def _plus(found: Array, bias: Array, of: Any) -> Array:
    """found + bias, in a dtype; in the place of `found` where that has it."""
    few = found.size < BIG
    if few and found.dtype == of:
        found += bias
        return found
    if bias.ndim > 1 or bias.itemsize < 2 or found.dtype.kind != "f":
        return np.asarray(found + bias.astype(found.dtype), of)
    out = found if found.dtype == of else np.empty(found.shape, of)
    kernel: Any = biased(found.dtype, bias.dtype, out.dtype)
    (kernel if few else kernel.large)(found, bias, out=out)
    return out


def _linear(
    x: Array, w: Array, bias: Array | None, resolve: Callable[[Array, Array], ArrayFunction]
) -> ArrayFunction:
    """x @ w.T + bias. resolve: a matrix product's function for operands that lie so."""
    shape, sizes = (*x.shape[:-1], *w.shape[:-1]), x.shape
    if w.ndim > 1:
        check_multipliable((math.prod(x.shape[:-1]), x.shape[-1]), w.T.shape)
    if bias is not None and bias.ndim and bias.shape[-1] not in (1, *shape[-1:]):
        raise RuntimeError(
            f"The expanded size of the tensor ({shape[-1]}) must match the existing size "
            f"({bias.shape[-1]}) at non-singleton dimension {len(shape) - 1}.  Target sizes: "
            f"{list(shape)}.  Tensor sizes: {list(bias.shape)}"
        )
    if w.ndim > 1 and x.ndim != 2:
        sizes = math.prod(x.shape[:-1]), x.shape[-1]
    multiply = resolve(x.reshape(sizes), w.T)

    def run(x: Array, w: Array, bias: Array | None = None) -> Array:
        found = np.asarray(multiply(x.reshape(sizes), w.T)).reshape(shape)
        return found if bias is None else _plus(found, bias, x.dtype)

    return run


@linear.gradient
def linear_gradient(s: Any, grad: Any) -> Any:
    to_input = to_weight = to_bias = None
    if len(s.shape("weight")) == 1:
        to_input = grad.unsqueeze(-1) * s.weight.conj() if s.needs("input") else None
        if s.needs("weight"):
            to_weight = (grad.unsqueeze(-1) * s.input.conj()).sum_to_size(s.shape("weight"))
        return to_input, to_weight, grad.sum() if s.needs("bias") else None
    if s.needs("input"):
        weight = conjugate(s.weight)
        to_input = mm(grad, weight) if grad.ndim == 2 else linear(grad, weight.t())
    if s.needs("weight"):
        to_weight = sum_of_outers(grad, conjugate(s.input))
    if s.needs("bias"):
        to_bias = grad.sum(tuple(range(grad.ndim - 1))) if grad.ndim > 1 else grad
        if to_bias.shape != s.shape("bias"):  # one number for all, or with further dims of 1
            to_bias = to_bias.sum_to_size(s.shape("bias")[-1:]).reshape(s.shape("bias"))
    return to_input, to_weight, to_bias


def _added(op: str, input: Any, multiply: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Any:
    """beta * input + alpha * multiply(a, b), rounded once; a beta of 0 ignores input, nan and all."""
    if input.is_floating_point() and input.dtype.itemsize == 2 and a.dtype is b.dtype is input.dtype:
        wide = _added(op, input.float(), multiply, a.float(), b.float(), beta, alpha)
        return wide.to(input.dtype)
    if not input.dtype is a.dtype is b.dtype:
        _dtypes_apart(op, input.dtype, a.dtype, b.dtype)
    found = multiply(a, b)
    if found.dtype.category < 2:
        beta, alpha = int(beta), int(alpha)
    if beta == 0:
        return found * alpha if alpha != 1 else found
    try:
        input.expand(found.shape)
    except RuntimeError as error:
        raise RuntimeError(f"{op}: {error}") from None
    return _scaled_sum(found, input, beta, alpha)


def _dtypes_apart(op: str, own: Any, one: Any, two: Any) -> None:
    """Raise PyTorch's RuntimeError for dtypes of a sum and a product; what `bmm` refuses is left to it."""
    if op == "addmv":
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {own.legacy}, {one.legacy}, "
            f"and {two.legacy}"
        )
    if op == "baddbmm":
        if own is not one:
            raise RuntimeError(
                f"Input dtypes must be the same, got: input {own.c_name}, batch1: {one.c_name}, "
                f"batch2: {two.c_name}"
            )
    elif own is not two:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {own.legacy} and {two.legacy}")
    else:
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {one.legacy} and {two.legacy}")


@composite(out=True, inplace=True, planned=True)
def addmm(input, mat1, mat2, *, beta: Number = 1, alpha: Number = 1):
    """beta * input + alpha * (mat1 @ mat2): (n, k) @ (k, m), to which input broadcasts. With beta 0, input is
    not read.
    """
    return _added("addmm", input, mm, mat1, mat2, beta, alpha)


@composite(where=("torch",), out=True, planned=True)
def _addmm_activation(input, mat1, mat2, *, beta: Number = 1, alpha: Number = 1, use_gelu: bool = False):
    """relu or gelu of addmm; on CUDA gelu in tanh's form, as PyTorch's kernel there has it."""
    found = addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    if not use_gelu:
        return ROWS["relu"](found)
    return ROWS["gelu"](found, approximate="tanh" if found.is_cuda else "none")


@composite(out=True, inplace=True, planned=True)
def baddbmm(input, batch1, batch2, *, beta: Number = 1, alpha: Number = 1):
    """beta * input + alpha * (batch1 @ batch2): (b, n, k) @ (b, k, m), to which input broadcasts."""
    return _added("baddbmm", input, bmm, batch1, batch2, beta, alpha)


@composite(out=True, inplace=True, planned=True)
def addmv(input, mat, vec, *, beta: Number = 1, alpha: Number = 1):
    """beta * input + alpha * (mat @ vec)."""
    return _added("addmv", input, mv, mat, vec, beta, alpha)


@composite(out=True, inplace=True, planned=True)
def addbmm(input, batch1, batch2, *, beta: Number = 1, alpha: Number = 1):
    """beta * input + alpha * the sum of batch1 @ batch2 over the batch."""
    return _added("addbmm", input, lambda a, b: bmm(a, b).sum(0, dtype=a.dtype), batch1, batch2, beta, alpha)


@composite(out=True, inplace=True, planned=True)
def addr(input, vec1, vec2, *, beta: Number = 1, alpha: Number = 1):
    """beta * input + alpha * the outer product of two vectors."""
    for name, vector in (("vec1", vec1), ("vec2", vec2)):
        if vector.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vector.ndim}-D")
    found = outer(vec1, vec2)
    for name, scale in (("beta", beta), ("alpha", alpha)):
        if isinstance(scale, bool) and not found.dtype.category == input.dtype.category == 0:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if isinstance(scale, float) and found.dtype.category < 2:
            raise RuntimeError(
                f"For integral input tensors, argument {name} must not be a floating point number."
            )
    if input.dtype is not found.dtype:
        lone = not input.ndim  # a number's dtype, which a matrix's of its category outranks
        dims = found.dtype if lone else promote_types(input.dtype, found.dtype)
        common = combine(dims, input.dtype if lone else None, None)
        input, found = input.to(common), found.to(common)
    return _added("addr", input, lambda a, b: a, found, found, beta, alpha)


@composite(out=True, aliases=("ger",), planned=True)
def outer(input, vec2):
    """All products of two vectors: (n), (m) -> (n, m)."""
    if input.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(
            f"outer: Expected 1-D argument self and vec2, but got {input.ndim}-D and {vec2.ndim}-D"
        )
    return input.unsqueeze(1) * vec2


_products, _SOME = RowKernel(lambda: (symbol("x") * symbol("y"),), "xy", "x"), 1 << 12


@outer.kernel
def outer_kernel(a: Array, b: Array) -> Any:
    # Rows are gone through by machine code: NumPy's way to a short one takes longer than its products.
    some = a.ndim == b.ndim == 1 and a.dtype is b.dtype and _SOME <= a.size * b.size < BIG and not fusing()
    return _products(-1, a[:, None], b) if some else NotImplemented


@composite(out=True, planned=True)
def inner(input, other):
    """The sum of products over the last dims."""
    if not input.ndim or not other.ndim:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    return tensordot(input, other, ((-1,), (-1,)))


@composite(out=True, planned=True)
def vdot(input, other):
    """The dot product with the first vector conjugated."""
    if input.ndim != 1 or other.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.ndim}D and {other.ndim}D tensors")
    return input.conj().dot(other)


@composite(where=("torch",), out=True, planned="not hasattr(dims, 'tolist')")
def tensordot(a, b, dims: Any = 2):
    """The sum of products over given dims of both, the rest of a's dims before b's."""
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    left, right = _dot_dims(a, b, dims)
    keep_a = [d for d in range(a.ndim) if d not in left]
    keep_b = [d for d in range(b.ndim) if d not in right]
    for i, j in zip(left, right, strict=True):
        if a.shape[i] != b.shape[j] and 1 in (a.shape[i], b.shape[j]):
            # A size of 1 is broadcast: sum the other over that dim.
            a, b = (a, b.sum(j, True)) if a.shape[i] == 1 else (a.sum(i, True), b)
        if a.shape[i] != b.shape[j]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} "
                f"in dim {i} and second has size {b.shape[j]} in dim {j}"
            )
    shape_a, shape_b = [a.shape[d] for d in keep_a], [b.shape[d] for d in keep_b]
    inner_size = int(np.prod([a.shape[d] for d in left], dtype=np.int64))
    rows = a.permute((*keep_a, *left)).reshape(int(np.prod(shape_a, dtype=np.int64)), inner_size)
    columns = b.permute((*right, *keep_b)).reshape(inner_size, int(np.prod(shape_b, dtype=np.int64)))
    return mm(rows, columns).reshape([*shape_a, *shape_b])


def _dot_dims(a: Any, b: Any, dims: Any) -> tuple[list[int], list[int]]:
    if hasattr(dims, "tolist"):
        dims = dims.tolist() if dims.ndim else int(dims)
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return list(range(a.ndim - dims, a.ndim)), list(range(dims))
    left, right = dims
    left = [left] if isinstance(left, int) else list(left)
    right = [right] if isinstance(right, int) else list(right)
    if len(left) != len(right):
        raise RuntimeError("both dimension lists should have same length")
    return [wrap_dim(d, a.ndim) for d in left], [wrap_dim(d, b.ndim) for d in right]


@composite(where=("torch", "nn.functional"), planned=True)
def bilinear(input1, input2, weight, bias: Tensor | None = None):
    """x1 @ weight[k] @ x2 for each k: (*, in1), (*, in2), (out, in1, in2) -> (*, out)."""
    _check_bilinear(input1, input2, weight, bias)
    lead = input1.shape[:-1]
    a, b = input1.reshape(-1, input1.shape[-1]), input2.reshape(-1, input2.shape[-1])
    left = tensordot(a, weight, ((1,), (1,)))  # (N, out, in2)
    found = (left * b.unsqueeze(1)).sum(-1, dtype=input1.dtype).reshape(*lead, weight.shape[0])
    return found if bias is None else found + bias


def _check_bilinear(input1: Any, input2: Any, weight: Any, bias: Any) -> None:
    given = {"input1": input1, "input2": input2, "weight": weight, "bias": bias}
    dtypes = {name: t.dtype for name, t in given.items() if t is not None}
    if len(set(dtypes.values())) > 1:
        told = ", ".join([f"{name}: {of.c_name}" for name, of in dtypes.items()])
        raise RuntimeError(f"All tensors must have the same dtype, got {told}")
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for d, (one, other) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if one != other:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {d}: got {one} and {other}"
            )
    for number, x in ((1, input1), (2, input2)):
        if x.shape[-1] != weight.shape[number]:
            raise RuntimeError(
                f"bilinear(): input{number} size does not match weight size: got "
                f"{x.shape[-1]} but expected {weight.shape[number]}"
            )
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} "
            f"but expected {weight.shape[0]}"
        )
