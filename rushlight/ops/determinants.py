"""Determinants and their logarithms."""
from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.base.results import named
from rushlight.ops.lufactors import factor
from rushlight.ops.matrices import Array, check_floating, check_square, dagger
from rushlight.ops.table import ROWS, composite, opaque


@opaque(name="_det", where=("aten",), node="linalg_det")
def _det(A) -> Array:
    """The product of U's diagonal, with the sign of the swaps."""
    packed, pivots, _info = factor(A)
    swaps = (pivots != np.arange(1, A.shape[-1] + 1)).sum(-1)
    found = packed.diagonal(0, -2, -1).prod(-1)
    return np.asarray(np.where(swaps % 2, -found, found), A.dtype)


_det.shape_rule(lambda A: A.new_empty(A.shape[:-2], device="meta"))


@_det.gradient
def _(s: Any, grad: Any) -> Any:
    """Jacobi's formula: grad det(A)* A^-H; the adjugate's singular vectors where A has no inverse
    (https://nhigham.com/2020/06/16/what-is-the-adjugate-of-a-matrix/)."""
    A, det = s.A, s.result
    if not (det._a == 0).any():
        return ROWS["_inverse"](dagger(A))[0] * (grad * det.conj())[..., None, None]
    U, S, Vh = ROWS["_svd"](A, False)
    others = S.unsqueeze(-2).expand(*S.shape, S.shape[-1])
    own = ROWS["eye"](S.shape[-1], device=S.device).bool()
    scale = others.masked_fill(own, 1).prod(-1) * ((_det(U) * _det(Vh)).conj() * grad).unsqueeze(-1)
    return (U * scale.unsqueeze(-2)) @ Vh


@composite(where=("linalg.det",), name="linalg_det", out=True)
def linalg_det(A):
    """The determinants of square matrices."""
    check_square("linalg.det", A._a)
    check_floating("linalg.det", A._a, "lu_cpu")
    return _det(A)


@composite
def det(input):
    """linalg.det in its older spelling."""
    return linalg_det(input)


@opaque(name="_slogdet", where=("aten",), node="linalg_slogdet")
def _slogdet(A) -> tuple[Array, Array]:
    """(sign, log |det|)."""
    sign, size = np.linalg.slogdet(A)
    return np.asarray(sign), np.asarray(size)


@_slogdet.gradient
def _(s: Any, grad_sign: Any, grad_size: Any) -> Any:
    """d log|det| = Re tr(A^-1 dA), d sign = i sign Im tr(A^-1 dA)."""
    A, sign = s.A, s.result[0]
    scale = grad_size
    if grad_sign is not None and A.is_complex():
        turn = ROWS["complex"](ROWS["zeros_like"](s.result[1]), -(grad_sign.conj() * sign).imag)
        scale = turn if scale is None else scale + turn
    if scale is None:
        return None
    return ROWS["_inverse"](dagger(A))[0] * scale[..., None, None]


def _logarithm(op: str, A: Any) -> tuple[Any, Any]:
    check_square(op, A._a)
    check_floating(op, A._a)
    return _slogdet(A)


@composite(where=("linalg.slogdet",), name="linalg_slogdet", out=True)
def linalg_slogdet(A):
    """(sign, logabsdet) with det(A) = sign * exp(logabsdet); sign has modulus 1, or is 0."""
    return named("linalg_slogdet")(*_logarithm("linalg.slogdet", A))


@composite(out=True)
def slogdet(input):
    """linalg.slogdet in its older spelling."""
    return named("slogdet")(*_logarithm("linalg.slogdet", input))


@composite
def logdet(input):
    """log det(A); nan for a negative determinant."""
    sign, size = _logarithm("logdet", input)
    return sign.log() + size if input.is_complex() else ROWS["where"](sign == -1, float("nan"), size)
