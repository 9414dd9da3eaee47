"""Scalar expressions: the language in which pointwise and reduce rows say what they mean.

An Expr is a node of a hash-consed DAG, so equal subterms are one object and compare by identity.
  op "in":    an input, `arg` is its name
  op "const": a number, `arg` is the Python bool, int, float or complex
  otherwise:  an atom (see atoms.py) applied to `src`; `arg` is the atom's static argument or None
Rows' bodies build Exprs with Python operators and with `m.exp(x)`, `m.where(c, a, b)`, ...
Interpretations lie apart: NumPy evaluation and differentiation in derive/, LLVM in kernels/emit/.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Union

Operand = Union["Expr", bool, int, float, complex]

# The argument of atoms that stands for "the dtype of the arrays".
STORED = "stored"
_interned: dict[tuple[Any, ...], Expr] = {}


class Expr:
    """One node of a scalar expression; make it with `symbol`, `const` or the namespace `m`."""

    __slots__ = ("op", "src", "arg", "__weakref__")
    op: str
    src: tuple[Expr, ...]
    arg: Any

    def __add__(self, other: Operand) -> Expr:
        return make("add", self, other)

    def __radd__(self, other: Operand) -> Expr:
        return make("add", other, self)

    def __sub__(self, other: Operand) -> Expr:
        return make("sub", self, other)

    def __rsub__(self, other: Operand) -> Expr:
        return make("sub", other, self)

    def __mul__(self, other: Operand) -> Expr:
        return make("mul", self, other)

    def __rmul__(self, other: Operand) -> Expr:
        return make("mul", other, self)

    def __truediv__(self, other: Operand) -> Expr:
        return make("div", self, other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return make("div", other, self)

    def __pow__(self, other: Operand) -> Expr:
        return make("pow", self, other)

    def __lt__(self, other: Operand) -> Expr:
        return make("lt", self, other)

    def __le__(self, other: Operand) -> Expr:
        return make("le", self, other)

    def __gt__(self, other: Operand) -> Expr:
        return make("gt", self, other)

    def __ge__(self, other: Operand) -> Expr:
        return make("ge", self, other)

    def __and__(self, other: Operand) -> Expr:
        return make("logical_and", self, other)

    def __or__(self, other: Operand) -> Expr:
        return make("logical_or", self, other)

    def __neg__(self) -> Expr:
        return make("neg", self)

    def __invert__(self) -> Expr:
        return make("logical_not", self)

    def __bool__(self) -> bool:
        raise TypeError("a scalar expression has no truth value: use m.where, not `if`")

    def __repr__(self) -> str:
        return show(self)


def intern(op: str, src: tuple[Expr, ...], arg: Any) -> Expr:
    """The one node with these parts."""
    # repr tells 0.0 from -0.0 and keeps nan equal to itself; the type tells 1 from 1.0 and True.
    tag = (type(arg), repr(arg)) if op == "const" else arg
    key = (op, src, tag)
    found = _interned.get(key)
    if found is None:
        found = object.__new__(Expr)
        found.op, found.src, found.arg = op, src, arg
        found = _interned.setdefault(key, found)
    return found


def symbol(name: str) -> Expr:
    """The input called `name`."""
    return intern("in", (), name)


def const(value: bool | int | float | complex) -> Expr:
    """A literal; int literals adapt to the dtype of the kernel, floats need a floating one."""
    return intern("const", (), value)


def lift(value: Operand) -> Expr:
    """An Expr as it is, a Python number as a literal."""
    return value if isinstance(value, Expr) else const(value)


def is_const(e: Expr, value: float | None = None) -> bool:
    """Whether `e` is a literal (equal to `value`, if given; a -0.0 literal is not 0)."""
    if e.op != "const":
        return False
    return value is None or (e.arg == value and not (value == 0 and repr(e.arg) == "-0.0"))


def make(op: str, *operands: Operand, arg: Any = None) -> Expr:
    """The atom `op` applied to operands, simplified where that cannot change a value."""
    src = tuple(map(lift, operands))
    for place, literal, answer in _LITERALS.get(op, ()):
        if is_const(src[place], literal):
            return answer(src[1 - place])
    rule = _SIMPLIFY.get(op)
    found = rule(*src) if rule is not None else None
    return intern(op, src, arg) if found is None else found


# --- simplification: only identities that hold for every value, nan, inf and signed zero included,
# --- except those with a literal 0 factor, which arise from differentiation alone ----------------


_Answer = Callable[["Expr"], "Expr"]


def _same(e: Expr) -> Expr:
    return e


def _negated(e: Expr) -> Expr:
    return make("neg", e)


def _zero(_e: Expr) -> Expr:
    return const(0)


# What an atom of two operands is where one of them, by its place, is a literal: by the other one.
_LITERALS: dict[str, tuple[tuple[int, int, _Answer], ...]] = {
    "add": ((0, 0, _same), (1, 0, _same)),
    "sub": ((1, 0, _same), (0, 0, _negated)),
    "mul": (
        (0, 1, _same),
        (1, 1, _same),
        (0, 0, _zero),
        (1, 0, _zero),
        (0, -1, _negated),
        (1, -1, _negated),
    ),
    "div": ((1, 1, _same),),
    "pow": ((1, 1, _same), (1, 2, lambda e: make("mul", e, e))),
}


def _simplify_sum(op: str) -> Callable[[Expr, Expr], Expr | None]:
    """With a negative behind it, the opposite op."""
    return lambda a, b: make(op, a, b.src[0]) if b.op == "neg" else None


def _simplify_neg(a: Expr) -> Expr | None:
    if a.op == "neg":
        return a.src[0]
    if a.op == "const" and a.arg is not False and a.arg is not True:
        return const(-a.arg)
    return None


def _simplify_pow(a: Expr, b: Expr) -> Expr | None:
    return make("power", a, b) if b.op == "const" else None


def _simplify_fma(a: Expr, b: Expr, c: Expr) -> Expr | None:
    for one, other in ((a, b), (b, a)):
        if is_const(one, 1) or is_const(one, -1):
            return make("add" if is_const(one, 1) else "sub", c, other)
    return None


def _simplify_where(c: Expr, a: Expr, b: Expr) -> Expr | None:
    if c.op == "const":
        return a if c.arg else b
    return a if a is b else None


def _simplify_conj(a: Expr) -> Expr | None:
    if a.op == "conj":
        return a.src[0]
    if a.op == "const" and not isinstance(a.arg, complex):
        return a
    return None


_SIMPLIFY: dict[str, Callable[..., Expr | None]] = {
    "add": _simplify_sum("sub"),
    "sub": _simplify_sum("add"),
    "neg": _simplify_neg,
    "pow": _simplify_pow,
    "where": _simplify_where,
    "fma": _simplify_fma,
    "conj": _simplify_conj,
}


class Atoms:
    """`m.exp(x)` makes the atom `exp` of x; the vocabulary is the table in atoms.py."""

    def __getattr__(self, op: str) -> Callable[..., Expr]:
        from rushlight._engine.ops.atoms import ATOMS  # it imports this file

        if op not in ATOMS:
            raise AttributeError(f"{op!r} is not a scalar atom; atoms are {sorted(ATOMS)}")

        def build(*operands: Operand, arg: Any = None) -> Expr:
            return make(op, *operands, arg=arg)

        self.__dict__[op] = build
        return build


m = Atoms()


# --- walks ----------------------------------------------------------------------------------------


def toposort(roots: Iterable[Expr], known: Iterable[Expr] = ()) -> list[Expr]:
    """Every node under `roots`, sources first, without the `known` ones and what only they need.

    Iterative, since depth may exceed the stack.
    """
    order: list[Expr] = []
    seen: set[Expr] = set(known)
    stack: list[tuple[Expr, bool]] = [(r, False) for r in reversed(list(roots))]
    while stack:
        node, finished = stack.pop()
        if finished:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((s, False) for s in reversed(node.src))
    return order


def inputs(roots: Iterable[Expr]) -> list[str]:
    """Names of the inputs that `roots` read, in order of first use."""
    return [node.arg for node in toposort(roots) if node.op == "in"]


def substitute(root: Expr, mapping: dict[Expr, Expr]) -> Expr:
    """`root` with nodes replaced (inputs renamed, say), simplified again on the way up."""
    built = dict(mapping)
    for node in toposort([root]):
        if node not in mapping:
            built[node] = make(node.op, *[built[s] for s in node.src], arg=node.arg) if node.src else node
    return built[root]


def stored(e: Expr) -> Expr:
    """A value that PyTorch rounds to the arrays' dtype on the way, which two-byte dtypes feel."""
    return make("cast", e, arg=STORED)


def floor_divided(a: Expr, b: Expr) -> Expr:
    """The quotient rounded down as PyTorch computes it of two-byte numbers: each step is rounded to them."""
    rest = m.fmod(a, b)
    quotient = stored(stored(a - rest) / b)
    opposed = m.logical_and(m.ne(rest, 0), m.ne(m.lt(rest, 0), m.lt(b, 0)))
    quotient = m.where(opposed, stored(quotient - 1), quotient)
    whole = m.floor(quotient)
    whole = m.where(m.gt(stored(quotient - whole), 0.5), stored(whole + 1), whole)
    whole = m.where(m.eq(quotient, 0), m.copysign(const(0.0), a / b), whole)
    return m.where(m.eq(b, 0), a / b, whole)


# What atoms are in two-byte dtypes; of two zeros bfloat16's fmax and fmin are the second.
NARROW: dict[str, Callable[..., Expr]] = {
    "floor_divide": floor_divided,
    "fmax": lambda a, b: m.fmax(b, a),
    "fmin": lambda a, b: m.fmin(b, a),
}


def narrowed(root: Expr, dtype: str | None) -> Expr:
    """The expression as PyTorch computes it of values that are stored in `dtype`."""
    forms = NARROW if dtype == "bfloat16" else {"floor_divide": floor_divided} if dtype == "float16" else {}
    root = substitute(root, {n: forms[n.op](*n.src) for n in toposort([root]) if n.op in forms})
    return round_stored((root,), dtype)[0]


def round_stored(roots: Sequence[Expr], dtype: str | None) -> tuple[Expr, ...]:
    """Atoms of STORED as atoms of `dtype`; None: casts to it are none, and the others have no argument."""
    built: dict[Expr, Expr] = {}
    for node in toposort(roots):
        src = [built[s] for s in node.src]
        if node.op == "cast" and node.arg == STORED and dtype is None:
            built[node] = src[0]
        else:
            built[node] = make(node.op, *src, arg=dtype if node.arg == STORED else node.arg) if src else node
    return tuple(built[root] for root in roots)


_INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "pow": "**",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
    "logical_and": "&",
    "logical_or": "|",
}


def show(root: Expr) -> str:
    """The expression as text, as the cards and error messages print it."""
    text: dict[Expr, str] = {}
    for node in toposort([root]):
        parts = [text[s] for s in node.src]
        if node.op in ("in", "const"):
            text[node] = str(node.arg)
        elif node.op in _INFIX:
            text[node] = f"({parts[0]} {_INFIX[node.op]} {parts[1]})"
        elif node.op == "neg":
            text[node] = f"-{parts[0]}"
        else:
            extra = [] if node.arg is None else [str(node.arg)]
            text[node] = f"{node.op}({', '.join(parts + extra)})"
    return text[root]
