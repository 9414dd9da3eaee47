"""kl_divergence(p, q), the mean under p of log p(x) - log q(x), and a table of functions for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from rushlight import Tensor
from rushlight._engine.core.callers import warn

__all__ = ["kl_divergence", "register_kl"]

_F = TypeVar("_F", bound=Callable[..., Tensor])
_KL_REGISTRY: dict[tuple[type, type], Callable[..., Tensor]] = {}
_KL_MEMOIZE: dict[tuple[type, type], Callable[..., Tensor] | None] = {}


def register_kl(type_p: type[Any], type_q: type[Any]) -> Callable[[_F], _F]:
    """Decorator: the function is kl_divergence(p, q) for p and q of these classes and subclasses of them.

    A class need not be one of ours (pyro's Distribution is none). TypeError for what is no class.
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def register(function: _F) -> _F:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return register


def _closest(type_p: type[Any], type_q: type[Any]) -> Callable[..., Tensor] | None:
    """The function of the nearest base classes; RuntimeWarning if p and q disagree."""
    near = {
        (p, q): (type_p.__mro__.index(p), type_q.__mro__.index(q))
        for p, q in _KL_REGISTRY
        if issubclass(type_p, p) and issubclass(type_q, q)
    }
    if not near:
        return None
    by_p = min(near, key=lambda pair: near[pair])
    by_q = min(near, key=lambda pair: near[pair][::-1])
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
            f"register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
        )
    return _KL_REGISTRY[by_p]


def kl_divergence(p: Any, q: Any) -> Tensor:
    """The divergence of p from q for each place of the batch; NotImplementedError for unregistered pairs."""
    pair = type(p), type(q)
    function = _KL_MEMOIZE.get(pair) or _closest(*pair)
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {pair[0].__name__} and q type {pair[1].__name__}"
        )
    _KL_MEMOIZE[pair] = function
    return function(p, q)


import rushlight.distributions.kl_between  # noqa: E402, F401
from rushlight.distributions.kl_within import (  # noqa: E402
    _exponential_family as _kl_expfamily_expfamily,  # noqa: F401
)
