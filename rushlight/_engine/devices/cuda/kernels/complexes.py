"""Expressions of complex numbers as expressions of their parts, which kernels compute as any others.

An input of complex numbers becomes two, its real and its imaginary parts (views of the same memory); so does
a result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import NotServed
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.ops.expressions import Expr, const, m, make, symbol, toposort

_REAL = {"complex64": "float32", "complex128": "float64"}
ZERO = const(0.0)
# (the real part, the imaginary part; None where it is a real number)
Parts = tuple[Expr, Expr | None]


def _both(z: Parts) -> tuple[Expr, Expr]:
    return z[0], ZERO if z[1] is None else z[1]


def _each(op: str) -> Callable[..., Parts]:
    """Part by part."""
    return lambda *z: (make(op, *[x[0] for x in z]), make(op, *[_both(x)[1] for x in z]))


def _mul(a: Parts, b: Parts) -> Parts:
    if a[1] is None or b[1] is None:
        (x, y), real = (b, a[0]) if a[1] is None else (a, b[0])
        return x * real, None if y is None else y * real
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def _div(a: Parts, b: Parts) -> Parts:
    """By the larger part of the divisor, so that nothing overflows on the way."""
    (x, y), (c, d) = _both(a), _both(b)
    if b[1] is None:
        return x / c, y / c
    wide = m.ge(m.abs(c), m.abs(d))
    one, two = d / c, c / d
    below, beside = c + d * one, c * two + d
    return (
        m.where(wide, (x + y * one) / below, (x * two + y) / beside),
        m.where(wide, (y - x * one) / below, (y * two - x) / beside),
    )


def _exp(z: Parts) -> Parts:
    x, y = _both(z)
    size = m.exp(x)
    return size * m.cos(y), size * m.sin(y)


def _sqrt(z: Parts) -> Parts:
    x, y = _both(z)
    root = m.sqrt((m.abs(x) + m.hypot(x, y)) / 2.0)
    other = m.where(m.eq(root, 0.0), ZERO, m.abs(y) / (root * 2.0))
    right = m.ge(x, 0.0)
    return m.where(right, root, other), m.copysign(m.where(right, other, root), y)


def _log(z: Parts) -> Parts:
    x, y = _both(z)
    return m.log(m.hypot(x, y)), m.atan2(y, x)


def _sgn(z: Parts) -> Parts:
    x, y = _both(z)
    size = m.hypot(x, y)
    nothing = m.eq(size, 0.0)
    return m.where(nothing, ZERO, x / size), m.where(nothing, ZERO, y / size)


def _pow(a: Parts, b: Parts) -> Parts:
    exponent = b[0].arg if b[0].op == "const" and b[1] is None else None
    if exponent in (1, 2, 3):
        return a if exponent == 1 else _mul(a, a) if exponent == 2 else _mul(_mul(a, a), a)
    if exponent == 0.5:
        return _sqrt(a)
    return _exp(_mul(_both(b), _log(a)))


def _test(op: str, how: str) -> Callable[..., Parts]:
    """A test of both parts."""
    return lambda *z: (make(how, make(op, *[x[0] for x in z]), make(op, *[_both(x)[1] for x in z])), None)


def _where(c: Parts, a: Parts, b: Parts) -> Parts:
    return m.where(c[0], a[0], b[0]), m.where(c[0], _both(a)[1], _both(b)[1])


_RULES: dict[str, Callable[..., Parts]] = {
    "add": _each("add"),
    "sub": _each("sub"),
    "neg": _each("neg"),
    "mul": _mul,
    "div": _div,
    "reciprocal": lambda z: _div((const(1.0), ZERO), z),
    "fma": lambda a, b, c: _each("add")(_mul(a, b), c),
    "conj": lambda z: (z[0], -_both(z)[1]),
    "real": lambda z: (z[0], None),
    "imag": lambda z: (_both(z)[1], None),
    "abs": lambda z: (m.hypot(*_both(z)), None),
    "angle": lambda z: (m.atan2(_both(z)[1], z[0]), None),
    "pow": _pow,
    "power": _pow,
    "exp": _exp,
    "log": _log,
    "sqrt": _sqrt,
    "sgn": _sgn,
    "sin": lambda z: (m.sin(z[0]) * m.cosh(_both(z)[1]), m.cos(z[0]) * m.sinh(_both(z)[1])),
    "cos": lambda z: (m.cos(z[0]) * m.cosh(_both(z)[1]), -(m.sin(z[0]) * m.sinh(_both(z)[1]))),
    "sinh": lambda z: (m.sinh(z[0]) * m.cos(_both(z)[1]), m.cosh(z[0]) * m.sin(_both(z)[1])),
    "cosh": lambda z: (m.cosh(z[0]) * m.cos(_both(z)[1]), m.sinh(z[0]) * m.sin(_both(z)[1])),
    "where": _where,
    "eq": _test("eq", "logical_and"),
    "ne": _test("ne", "logical_or"),
    "isnan": _test("isnan", "logical_or"),
    "isinf": _test("isinf", "logical_or"),
    "isfinite": _test("isfinite", "logical_and"),
}


def is_complex(meaning: Meaning) -> bool:
    """Whether numbers that are read or written are complex."""
    return any(d in _REAL for _, d in meaning.inputs) or any(d in _REAL for d in meaning.out_dtypes)


@cache
def lowered(meaning: Meaning) -> Meaning:
    """The meaning of the parts. NotServed for atoms without a rule."""
    inputs, dtypes = list[tuple[str, str]](), dict(meaning.inputs)
    for name, d in meaning.inputs:
        inputs += [(f"{name} re", _REAL[d]), (f"{name} im", _REAL[d])] if d in _REAL else [(name, d)]
    parts: dict[Expr, Parts] = {}
    for node in toposort(meaning.outputs):
        parts[node] = _node(node, parts, dtypes)
    outputs, stored = list[Expr](), list[str]()
    for root, d in zip(meaning.outputs, meaning.out_dtypes, strict=True):
        outputs += _both(parts[root]) if d in _REAL else [parts[root][0]]
        stored += [_REAL[d]] * 2 if d in _REAL else [d]
    work = _REAL.get(meaning.work, meaning.work)
    return Meaning(tuple(outputs), tuple(inputs), tuple(stored), work)


def _node(node: Expr, parts: dict[Expr, Parts], dtypes: dict[str, str]) -> Parts:
    if node.op == "in":
        if dtypes[node.arg] not in _REAL:
            return node, None
        return symbol(f"{node.arg} re"), symbol(f"{node.arg} im")
    if node.op == "const":
        return (const(node.arg.real), const(node.arg.imag)) if isinstance(node.arg, complex) else (node, None)
    given = [parts[s] for s in node.src]
    if node.op == "cast":
        to, (x, y) = node.arg, given[0]
        if to in _REAL:
            real = _REAL[to]
            return m.cast(x, arg=real), ZERO if y is None else m.cast(y, arg=real)
        return m.cast(x, arg=to), None
    if all(z[1] is None for z in given):
        return make(node.op, *[z[0] for z in given], arg=node.arg), None
    rule = _RULES.get(node.op)
    if rule is None or node.arg is not None:
        raise NotServed(f"{node.op} of complex numbers")
    return rule(*given)


def split(a: Any) -> list[Any]:
    """The parts of an operand, or a result: views of an array, numbers of a number."""
    if a.dtype.kind != "c":
        return [a]
    if a.__class__ is not DeviceArray:
        return [np.asarray(a.real), np.asarray(a.imag)]
    of = np.dtype(f"f{a.itemsize // 2}")
    return [a.relaid(a.shape, a.strides, k * a.itemsize // 2, of) for k in range(2)]


def every(arrays: Sequence[Any]) -> list[Any]:
    """All parts of operands."""
    return [part for a in arrays for part in split(a)]
