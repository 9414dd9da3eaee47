"""Quantiles, covariance and correlation."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.callers import warn
from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.core.recording import checked
from rushlight._engine.ops.creation.copying import tensor_of
from rushlight._engine.ops.table import ROWS, composite

# --- quantiles ------------------------------------------------------------------------------------

_MODES = ("linear", "lower", "higher", "midpoint", "nearest")


def _check_range(name: str, q: Any) -> None:
    if not ((q >= 0) & (q <= 1)).all():
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")


def _points(name: str, input: Any, q: Any, interpolation: str) -> Any:
    """q as a tensor, checked."""
    if input.dtype.name not in ("float32", "float64"):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype, got {input.dtype}")
    if interpolation not in _MODES:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or "
            f"nearest, but got {interpolation}"
        )
    known = not hasattr(q, "_kind")
    if known:
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        q = tensor_of(np.asarray(q, input.dtype.np))
    if q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor, got {q.ndim} dims")
    if q.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}() q tensor must be same dtype as the input tensor, got {q.dtype} and {input.dtype}"
        )
    if not (known or q._kind.on_meta):
        checked(partial(_check_range, name), q._array)
    if not input.numel():
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    return q


def _between(ordered: Any, ranks: Any, interpolation: str) -> Any:
    """What lies at the ranks, which are fractions of places, of rows in order."""
    round_to = {"lower": "floor", "higher": "ceil", "nearest": "round"}.get(interpolation)
    if round_to:
        ranks = getattr(ranks, round_to)()
    below = ranks.detach().long()
    found = ordered.gather(-1, below)
    if round_to:
        return found
    weight = (ranks - below) if interpolation == "linear" else ROWS["full_like"](ranks, 0.5)
    return found.lerp(ordered.gather(-1, ranks.detach().ceil().long()), weight)


def _quantile(name: str, skip_nan: bool, doc: str) -> None:
    def body(input, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"):
        if not isinstance(q, (int, float)) and not hasattr(q, "_kind"):
            raise TypeError(
                f"{name}() received an invalid combination of arguments: q must be float or "
                f"Tensor, not {type(q).__name__}"
            )
        q = _points(name, input, q, interpolation)
        ndim, d = input.ndim, None if dim is None else wrap_dim(dim, input.ndim)
        rows = input.reshape(-1) if d is None or not ndim else input.movedim(d, -1)
        ordered, _ = rows.sort(-1)
        last = rows.shape[-1] - 1
        holes = ordered.isnan()
        if skip_nan:
            ranks = q * (last - holes.sum(-1, True)).clamp(min=0).to(input.dtype)
        else:
            # A row with nan has it at the end of the order: that is its every quantile.
            ranks = (q * last).masked_fill(holes.any(-1, True), last)
        found = _between(ordered, ranks.reshape(*rows.shape[:-1], max(q.numel(), q.ndim == 0)), interpolation)
        if keepdim and ndim:
            kept = [1] * ndim if d is None else [*input.shape[:d], 1, *input.shape[d + 1 :]]
            found = found.movedim(-1, 0).reshape(-1, *kept)
        else:
            found = found.movedim(-1, 0)
        return found if q.ndim else found.squeeze(0)

    composite(body, name=name, doc=doc, out=True)


_quantile("quantile", False, "The values below which fractions q of the elements lie; nan where one is nan.")
_quantile("nanquantile", True, "quantile of what is not nan.")


# --- covariance -----------------------------------------------------------------------------------


def _check_weights(what: str, weights: Any, count: int, floating: bool) -> None:
    if weights.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {what} to have one or fewer dimensions but got {what} with "
            f"{weights.ndim} dimensions"
        )
    if (weights.dtype.category == dt.FLOATING) is not floating or weights.dtype.category == dt.BOOL:
        kind = "floating point" if floating else "integral"
        raise RuntimeError(
            f"cov(): expected {what} to have {kind} dtype but got {what} with {weights.dtype.legacy} dtype"
        )
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {what} to have the same numel as there are observations in the "
            f"input but got {weights.numel()} != {count}"
        )
    if not weights._kind.on_meta and weights.numel():
        checked(partial(_check_sign, what), weights._array)


def _check_sign(what: str, weights: Any) -> None:
    if float(weights.min()) < 0:
        raise RuntimeError(f"cov(): {what} cannot be negative")


def _weights(fweights: Any, aweights: Any, count: int) -> Any:
    """The product of both weights, or None."""
    if fweights is not None:
        _check_weights("fweights", fweights, count, False)
    if aweights is not None:
        _check_weights("aweights", aweights, count, True)
    if fweights is None or aweights is None:
        return fweights if aweights is None else aweights
    return fweights * aweights


@composite(planned="fweights is None and aweights is None")
def cov(input, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None):
    """The covariance of variables (rows) over observations (columns).

    fweights: how often each observation occurs, int.  aweights: its relative weight.
    """
    if input.ndim > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions"
        )
    if input.dtype.name == "bool":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input if input.ndim == 2 else input.reshape(1, -1)
    count = x.shape[1]
    weights = _weights(fweights, aweights, count)
    total = count if weights is None else weights.sum()
    mean = (x if weights is None else x * weights).sum(1) / total
    if weights is None or not correction or aweights is None:
        freedom = total - correction
    else:
        freedom = total - correction * (weights * aweights).sum() / total
    if (not hasattr(freedom, "_kind") or not freedom._kind.on_meta) and float(freedom) <= 0:
        warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the "
            "number of observations.",
            UserWarning,
        )
        freedom = freedom * 0 if hasattr(freedom, "_kind") else 0
    apart = x - mean.unsqueeze(1)
    weighted = apart if weights is None else apart * weights
    return (apart @ weighted.to(apart.dtype).mT.conj() / freedom).squeeze()


@composite(planned=True)
def corrcoef(input):
    """The correlation of variables (rows): their covariance over their standard deviations."""
    if input.ndim > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input "
            f"with {input.ndim} dimensions"
        )
    c = cov(input)
    if not c.ndim:
        return c / c
    d = c.diagonal()
    spread = (d.real if d.is_complex() else d).sqrt()
    found = c / spread.view(-1, 1) / spread.view(1, -1)
    if not found.is_complex():
        return found.clip(-1, 1)
    return ROWS["complex"](found.real.clip(-1, 1), found.imag.clip(-1, 1))
