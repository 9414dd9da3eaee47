"""NumPy's functions of elements, by tensors' ops: dtypes are resolved as NumPy resolves them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._dynamo.exc import TorchDynamoException
from rushlight._numpy._ndarray import (
    NUMBERS,
    as_tensor,
    by_numpy,
    dtype_of,
    fits,
    from_numpy,
    kind_of,
    ndarray,
)

# Names that tensors' ops have, and those that are other ones there.
_SAME = (
    "add multiply maximum minimum fmax fmin hypot logaddexp logaddexp2 copysign logical_and logical_or "
    "logical_xor logical_not bitwise_and bitwise_or bitwise_xor fmod gcd lcm heaviside nextafter ldexp sin "
    "cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh arctan2 exp exp2 expm1 log log2 "
    "log10 log1p sqrt square reciprocal floor ceil trunc sign signbit isnan isinf isfinite absolute negative "
    "positive deg2rad rad2deg less greater less_equal greater_equal not_equal matmul floor_divide remainder"
)
_OPS: dict[str, Any] = {
    **{name: getattr(torch, name) for name in _SAME.split() if hasattr(torch, name)},
    "subtract": torch.sub,
    "divide": torch.true_divide,
    "power": torch.pow,
    "float_power": torch.pow,
    "equal": torch.eq,
    "left_shift": torch.bitwise_left_shift,
    "right_shift": torch.bitwise_right_shift,
    "invert": torch.bitwise_not,
    "conjugate": torch.conj_physical,
    "rint": torch.round,
    "fabs": torch.abs,
    "degrees": torch.rad2deg,
    "radians": torch.deg2rad,
}
# Of dtypes for which tensors' ops refuse, or say something else.
_NOT_COMPLEX = frozenset("sign floor_divide remainder fmod maximum minimum fmax fmin less greater".split())
_ALIASES = {
    "true_divide": "divide",
    "mod": "remainder",
    "abs": "absolute",
    "bitwise_not": "invert",
    "conj": "conjugate",
}


class Ufunc:
    """A function of elements: called as NumPy's is, with `out`, `where`, `casting` and `dtype`."""

    def __init__(self, name: str) -> None:
        self.__name__, self.own, self.op = name, getattr(np, name), _OPS.get(name)
        self.nin, self.nout, self.nargs = self.own.nin, self.own.nout, self.own.nargs

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__!r}>"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)

    def __call__(
        self,
        *args: Any,
        out: Any = None,
        where: Any = True,
        casting: str = "same_kind",
        dtype: Any = None,
        **rest: Any,
    ) -> Any:
        if len(args) > self.nin:
            out, args = args[self.nin], args[: self.nin]
        found = self._computed(args, dtype, casting) if self.op is not None and not rest else None
        if found is None:
            return self._by_numpy(args, out, where, casting, dtype, rest)
        if where is not True:
            before = as_tensor(out) if out is not None else torch.empty_like(found)
            found = torch.where(as_tensor(where), found, before.to(found.dtype))
        return ndarray(found) if out is None else _written(out, found, casting, self.__name__)

    def _computed(self, args: Any, dtype: Any, casting: str) -> Any:
        """The result as a tensor; None where no op computes it."""
        try:
            given = [a if type(a) in NUMBERS else as_tensor(a) for a in args]
        except TypeError:
            return None
        if not any(isinstance(a, torch.Tensor) for a in given):
            given = [as_tensor(a) for a in given]
        kinds = [kind_of(a) if isinstance(a, torch.Tensor) else _weak(a) for a in given]
        how: dict[str, Any] = {} if dtype is None else {"signature": (*[None] * self.nin, np.dtype(dtype))}
        *loop, result = self.own.resolve_dtypes((*kinds, None), casting=casting, **how)
        if any(k.kind not in "biufc" for k in (*loop, result)) or self.nout != 1:
            return None
        if loop[0].kind == "c" and self.__name__ in _NOT_COMPLEX:
            return None
        if loop[0].kind == "u" and loop[0].itemsize > 1:
            return None
        if any(type(a) is int and not fits(a, k) for a, k in zip(given, loop, strict=True)):
            return None
        ready = [
            a.to(dtype_of(k)) if isinstance(a, torch.Tensor) else a for a, k in zip(given, loop, strict=True)
        ]
        if len(ready) == 2 and not all(isinstance(a, torch.Tensor) for a in ready):
            left, right = ready
            first = not isinstance(left, torch.Tensor) or self.__name__ not in _SCALARS
            ready = [
                a if isinstance(a, torch.Tensor) else torch.tensor(a, dtype=dtype_of(k)) if first else a
                for a, k in zip((left, right), loop, strict=True)
            ]
        op: Any = self.op
        try:
            with np.errstate(all="ignore"):
                return op(*ready).to(dtype_of(result))
        except TorchDynamoException:
            raise
        except RuntimeError:
            return None

    def _by_numpy(
        self, args: Any, out: Any, where: Any, casting: str, dtype: Any, rest: dict[str, Any]
    ) -> Any:
        """The same by NumPy's own function."""
        several = out if isinstance(out, tuple) else (out,) * self.nout
        if where is not True:
            rest = rest | {"where": where}
        found = by_numpy(self.own, *args, casting=casting, dtype=dtype, **rest)
        results = found if isinstance(found, tuple) else (found,)
        made = tuple(
            r if o is None else _written(o, as_tensor(r), casting, self.__name__)
            for r, o in zip(results, several, strict=True)
        )
        return made if self.nout > 1 else made[0]


_SCALARS = frozenset(
    "add subtract multiply divide power less greater less_equal greater_equal equal not_equal".split()
)


def _weak(value: Any) -> Any:
    """A number of Python's, as NumPy's promotion takes it."""
    return np.dtype(bool) if type(value) is bool else type(value)


def _written(out: Any, found: Any, casting: str, name: str) -> Any:
    """`out`, with the result in it. TypeError where it cannot hold that."""
    if type(out) is not ndarray:
        out = from_numpy(out)
    if not np.can_cast(kind_of(found), out.dtype, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"Cannot cast ufunc '{name}' output from {kind_of(found)!r} to {out.dtype!r} with casting rule "
            f"'{casting}'"
        )
    if torch.broadcast_shapes(found.shape, out.tensor.shape) != out.tensor.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {out.shape} doesn't match the broadcast shape "
            f"{tuple(found.shape)}"
        )
    out.tensor.copy_(found)
    return out


@cache
def named(name: str) -> Any:
    """The function of NumPy's name."""
    return Ufunc(_ALIASES.get(name, name))


def __getattr__(name: str) -> Any:
    """Each of NumPy's functions of elements."""
    if isinstance(getattr(np, name, None), np.ufunc):
        return named(name)
    raise AttributeError(f"module 'torch._numpy._ufuncs' has no attribute {name!r}")


UFUNCS = sorted(name for name in dir(np) if isinstance(getattr(np, name), np.ufunc))
# Those of one operand, and of two, with one result.
_unary = [name for name in UFUNCS if (named(name).nin, named(name).nout) == (1, 1)]
_binary = [name for name in UFUNCS if (named(name).nin, named(name).nout) == (2, 1)]
__all__ = UFUNCS
