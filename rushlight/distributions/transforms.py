"""torch.distributions.transforms: functions of values whose densities are known."""
from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Number
from typing import Any

import rushlight as torch
from rushlight.distributions import constraints
from rushlight.distributions.constraints import Constraint
from rushlight.distributions.distribution import broadcast, sum_rightmost
from rushlight.nn.functional import logsigmoid, pad, softplus


class Transform:
    """A function of values in `domain`; `inv` is its inverse.

    Subclasses define _call, _inverse and log_abs_det_jacobian(x, y). cache_size=1: the last pair (x, y) is
    kept, so that the inverse of a result is what it was made of. ValueError for other cache sizes.
    """

    bijective = False
    domain: Constraint = constraints.real
    codomain: Constraint = constraints.real
    sign: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size, self._inv, self._pair = cache_size, None, (None, None)

    @property
    def event_dim(self) -> int:
        """How many last dims are one value; ValueError where the result's differ."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return self.domain.event_dim

    @property
    def inv(self) -> Any:
        """The inverse function."""
        return _Inverse(self)

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same function with this size of cache."""
        if self._cache_size == cache_size:
            return self
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, _cache_size=cache_size, _pair=(None, None))
        return made

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        own, others = ({k: v for k, v in vars(t).items() if k not in ("_pair", "_inv", "_cache_size")}
                       for t in (self, other))
        return all(bool(torch.as_tensor(v == others[k]).all()) for k, v in own.items())

    __hash__ = object.__hash__

    def __call__(self, x: Any) -> Any:
        if self._cache_size and x is self._pair[0]:
            return self._pair[1]
        y = self._call(x)
        self._pair = (x, y) if self._cache_size else (None, None)
        return y

    def _inv_call(self, y: Any) -> Any:
        if self._cache_size and y is self._pair[1]:
            return self._pair[0]
        x = self._inverse(y)
        self._pair = (x, y) if self._cache_size else (None, None)
        return x

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of how much larger y's surroundings are than x's."""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the result of a value of this shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The other way."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Inverse(Transform):
    def __init__(self, inner: Transform) -> None:
        super().__init__()
        self._of = inner

    bijective = property(lambda self: self._of.bijective)  # type: ignore[assignment]
    domain = property(lambda self: self._of.codomain)  # type: ignore[assignment]
    codomain = property(lambda self: self._of.domain)  # type: ignore[assignment]
    sign = property(lambda self: self._of.sign)
    inv = property(lambda self: self._of)

    def __call__(self, x: Any) -> Any:
        return self._of._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Of the inverse."""
        return -self._of.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the result."""
        return self._of.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        """The other way."""
        return self._of.forward_shape(shape)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._of!r})"


class ComposeTransform(Transform):
    """Several transforms, one after the other."""

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)

    bijective = property(lambda self: all(p.bijective for p in self.parts))  # type: ignore[assignment]
    sign = property(lambda self: math.prod(p.sign for p in self.parts))
    inv = property(lambda self: ComposeTransform([p.inv for p in reversed(self.parts)]))

    def _end(self, parts: Sequence[Transform], far: str, near: str) -> Constraint:
        """The constraint of the first part's `near` side, of as many dims as any part needs."""
        if not parts:
            return constraints.real
        dims = getattr(parts[-1], far).event_dim
        for part in reversed(parts):
            own = getattr(part, near).event_dim
            dims = max(dims + own - getattr(part, far).event_dim, own)
        end = getattr(parts[0], near)
        return constraints.independent(end, dims - end.event_dim) if dims > end.event_dim else end

    domain = property(lambda self: self._end(self.parts, "codomain", "domain"))  # type: ignore[assignment]
    codomain = property(  # type: ignore[assignment]
        lambda self: self._end(self.parts[::-1], "domain", "codomain"))

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same parts with this size of cache."""
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The parts' sum."""
        total, dims = 0 if self.parts else torch.zeros_like(x), self.domain.event_dim
        for i, part in enumerate(self.parts):
            made = y if i == len(self.parts) - 1 else part(x)
            total = total + sum_rightmost(part.log_abs_det_jacobian(x, made), dims - part.domain.event_dim)
            dims, x = dims + part.codomain.event_dim - part.domain.event_dim, made
        return total

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the result."""
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The other way."""
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        return "ComposeTransform(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last `reinterpreted_batch_ndims` dims more are one value."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int,
                 cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = count = reinterpreted_batch_ndims
        self.domain = constraints.independent(base_transform.domain, count)
        self.codomain = constraints.independent(base_transform.codomain, count)
        self.bijective = base_transform.bijective
        self.forward_shape = base_transform.forward_shape  # type: ignore[method-assign]
        self.inverse_shape = base_transform.inverse_shape  # type: ignore[method-assign]

    sign = property(lambda self: self.base_transform.sign)

    def _call(self, x: Any) -> Any:
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The sum over these dims."""
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


def _elementwise(name: str, doc: str, codomain: Constraint, call: Any, inverse: Any, jacobian: Any) -> type:
    return type(name, (Transform,), {
        "__doc__": doc, "__module__": __name__, "bijective": True, "sign": 1, "codomain": codomain,
        "_call": lambda self, x: call(x), "_inverse": lambda self, y: inverse(y),
        "log_abs_det_jacobian": lambda self, x, y: jacobian(x)})


def _clipped(x: Any) -> Any:
    limits = torch.finfo(x.dtype)
    return x.clamp(min=limits.tiny, max=1.0 - limits.eps)


def _logit(y: Any) -> Any:
    y = _clipped(y)
    return y.log() - (-y).log1p()


ExpTransform = _elementwise(
    "ExpTransform", "exp(x).", constraints.positive, torch.exp, torch.log, lambda x: x)
SigmoidTransform = _elementwise(
    "SigmoidTransform", "sigmoid(x), never 0 or 1.", constraints.unit_interval,
    lambda x: _clipped(torch.sigmoid(x)), _logit, lambda x: -softplus(-x) - softplus(x))
SoftplusTransform = _elementwise(
    "SoftplusTransform", "softplus(x).", constraints.positive, softplus,
    lambda y: (-y).expm1().neg().log() + y, lambda x: -softplus(-x))
TanhTransform = _elementwise(
    "TanhTransform", "tanh(x).", constraints.interval(-1.0, 1.0), torch.tanh, torch.atanh,
    lambda x: 2.0 * (math.log(2.0) - x - softplus(-2.0 * x)))


class AbsTransform(Transform):
    """|x|; as its inverse, x."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class PowerTransform(Transform):
    """x ** exponent of positive x."""

    domain = codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        [self.exponent] = broadcast(exponent)

    sign = property(lambda self: self.exponent.sign())

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |exponent y / x|."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        """Broadcast with the exponent."""
        return torch.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class AffineTransform(Transform):
    """loc + scale * x; the last `event_dim` dims are one value."""

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale = loc, scale
        ends = constraints.independent(constraints.real, event_dim) if event_dim else constraints.real
        self.domain = self.codomain = ends

    @property
    def sign(self) -> Any:  # type: ignore[override]
        """The sign of scale."""
        number = isinstance(self.scale, Number)
        return (self.scale > 0) - (self.scale < 0) if number else self.scale.sign()  # type: ignore[operator]

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |scale|."""
        number = isinstance(self.scale, Number)
        found = torch.full_like(x, math.log(abs(self.scale))) if number else self.scale.abs().log()
        return sum_rightmost(found.expand(torch.broadcast_shapes(found.shape, x.shape)), self.event_dim)

    def forward_shape(self, shape: Any) -> Any:
        """Broadcast with loc and scale."""
        return torch.broadcast_shapes(shape, *[getattr(v, "shape", ()) for v in (self.loc, self.scale)])

    inverse_shape = forward_shape


class SoftmaxTransform(Transform):
    """softmax(x) along the last dim, whose inverse forgets a constant."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Any) -> Any:
        found = (x - x.max(-1, True)[0]).exp()
        return found / found.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()


class StickBreakingTransform(Transform):
    """K numbers as K + 1 probabilities: each takes a share of what is left of 1."""

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = True

    @staticmethod
    def _left(x: Any) -> Any:
        return torch.arange(x.shape[-1], 0, -1, dtype=x.dtype).log()

    def _call(self, x: Any) -> Any:
        z = _clipped(torch.sigmoid(x - self._left(x)))
        return pad(z, [0, 1], value=1) * pad((1 - z).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        y = y[..., :-1]
        rest = (1 - y.cumsum(-1)).clamp(min=torch.finfo(y.dtype).tiny)
        return y.log() - rest.log() + self._left(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The sum over the shares."""
        x = x - self._left(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        """One more."""
        return torch.Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Any:
        """One less."""
        return torch.Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(Transform):
    """Matrices as lower triangular ones with a positive diagonal."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()
