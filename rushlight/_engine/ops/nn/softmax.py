"""Softmax and its relatives: composites with one fused kernel each way."""

from __future__ import annotations

from math import inf
from typing import Any

from rushlight._engine.core.callers import warn
from rushlight._engine.core.dtype import get_default_dtype
from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.ops.expressions import m, symbol
from rushlight._engine.ops.reductions.reductions import amax, sum, with_dims
from rushlight._engine.ops.row_expressions import reduce_
from rushlight._engine.ops.row_kernels import RowKernel
from rushlight._engine.ops.table import ROWS, composite


@composite(out=True, aliases=("special.softmax",), planned=True)
def softmax(input, dim: int, dtype: dtype | None = None):
    """exp(input) / sum(exp(input)) along dim; `dtype` converts the input first."""
    return _softmax(input if dtype is None else input.to(dtype), dim)


@composite(out=True, aliases=("special.log_softmax",), planned=True)
def log_softmax(input, dim: int, dtype: dtype | None = None):
    """log(softmax(input)) along dim, without overflow."""
    return _log_softmax(input if dtype is None else input.to(dtype), dim)


abs_, exp, log = (ROWS[name] for name in ("abs", "exp", "log"))
_X, _G, _Y = symbol("x"), symbol("g"), symbol("y")


def _shifted_exp() -> Any:
    return m.exp(_X - reduce_("max", _X))


_softmax_kernel = RowKernel(lambda: (_shifted_exp() / reduce_("add", _shifted_exp()),), "x")
_log_softmax_kernel = RowKernel(
    lambda: (_X - reduce_("max", _X) - m.log(reduce_("add", _shifted_exp())),), "x"
)
_softmax_back = RowKernel(lambda: (_Y * (_G - reduce_("add", _G * _Y)),), "gy")
_log_softmax_back = RowKernel(lambda: (_G - m.exp(_Y) * reduce_("add", _G),), "gy")


def implicit_dim(name: str, ndim: int) -> int:
    """The dim that the functional form takes when none is given, with PyTorch's warning."""
    warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to "
        "include dim=X as an argument."
    )
    return 0 if ndim in (0, 1, 3) else 1


@composite(where=("aten",), fused=_softmax_kernel.of_row, planned_gradient=True)
def _softmax(input, dim: int):
    """exp(x - max) / sum(exp(x - max)) along dim."""
    wrap_dim(dim, input.ndim)
    if not input.numel():
        return input.clone()
    input = input.contiguous()
    e = exp(input - amax(input, dim, True))
    return e / sum(e, dim, True)


@_softmax.gradient
def _softmax_gradient(s: Any, grad: Any) -> Any:
    return _softmax_backward(grad, s.result, s.dim)


@composite(where=("aten",), fused=_softmax_back.of_row)
def _softmax_backward(grad, output, dim: int):
    """y * (g - sum(g * y))."""
    grad = grad.contiguous()
    return output * (grad - sum(grad * output, dim, True))


@composite(where=("aten",), fused=_log_softmax_kernel.of_row, planned_gradient=True)
def _log_softmax(input, dim: int):
    """x - max - log(sum(exp(x - max))) along dim."""
    wrap_dim(dim, input.ndim)
    if not input.numel():
        return input.clone()
    input = input.contiguous()
    shifted = input - amax(input, dim, True)
    return shifted - log(sum(exp(shifted), dim, True))


@_log_softmax.gradient
def _log_softmax_gradient(s: Any, grad: Any) -> Any:
    return _log_softmax_backward(grad, s.result, s.dim)


@composite(where=("aten",), fused=_log_softmax_back.of_row)
def _log_softmax_backward(grad, output, dim: int):
    """g - exp(y) * sum(g)."""
    grad = grad.contiguous()
    return grad - exp(output) * sum(grad, dim, True)


def _cast(input: Any, dtype: Any) -> Any:
    return input if dtype is None else input.to(dtype)


def _functional(name: str, inner: Any, prepare: Any, doc: str) -> Any:
    def body(input, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None):
        d = implicit_dim(name, input.ndim) if dim is None else dim
        return inner(_cast(prepare(input), dtype), d)

    return composite(
        body, name=f"_functional_{name}", doc=doc, where=(f"nn.functional.{name}",), planned=True
    )


_MORE = (
    "\n\ndtype: what the input is converted to. Without dim: 0 for 0, 1 or 3 dims, else 1, with a warning."
)
_functional("softmax", _softmax, lambda x: x, f"exp(input) / sum(exp(input)) along dim.{_MORE}")
_functional(
    "log_softmax", _log_softmax, lambda x: x, f"log(softmax(input)) along dim, without overflow.{_MORE}"
)
_functional("softmin", _softmax, lambda x: -x, f"softmax(-input) along dim.{_MORE}")


@composite(out=True, aliases=("special.logsumexp",), planned=True)
def logsumexp(input, dim: Ints, keepdim: bool = False):
    """log(sum(exp(input))) over dims, without overflow."""
    if input.dtype.category < 2:
        input = input.to(get_default_dtype())
    return _logsumexp(input, dim, keepdim)


@composite(name="_logsumexp", where=("aten",), planned=True)
def _logsumexp(input, dim: Ints, keepdim: bool):
    """log(sum(exp(input)))."""
    if not input.numel():
        return log(sum(exp(input), dim, keepdim))
    high = amax(input.real if input.is_complex() else input, dim, True)
    high = high.masked_fill(abs_(high) == inf, 0)
    total = log(sum(exp(input - high), dim, keepdim))
    return total + (high if keepdim else high.reshape(total.shape))


@_logsumexp.gradient
def _logsumexp_gradient(s: Any, grad: Any) -> Any:
    x, (grad, y) = s.input, with_dims(s, grad, s.result)
    part = exp(x - y)  # nan where everything is -inf, as PyTorch's
    return grad * (part.conj() if x.is_complex() else part)
