"""torch.SymInt, SymFloat and SymBool: numbers that depend on a program's inputs, while it is exported.

Such a number is the number that it was in this call, a node of the graph, and an expression. Arithmetic
writes further nodes. A comparison is a SymBool. To ask it for True or False decides what the program does:
from what is known, else, where only sizes of inputs are compared, as in this call, which is noted as a guard;
what a tensor's numbers decide raises GuardOnDataDependentSymNode. The framework itself sees plain numbers.
"""

from __future__ import annotations

import ast
import dis
import math
import numbers
import operator
import os
import sys
from collections.abc import Callable, Container
from typing import Any

import rushlight as torch
from rushlight._engine.core.recording import KEPT
from rushlight._engine.lazy import package
from rushlight.export.errors import GuardOnDataDependentSymNode
from rushlight.export.numbers.expressions import Expr, Known, Relation, applied, number, power, symbol
from rushlight.export.symbols import Sym
from rushlight.fx.graph import Graph
from rushlight.fx.node import Node

_PACKAGE = torch.__file__.rpartition("__init__")[0]
_SPEAKING = f"{_PACKAGE}toplevel", f"{_PACKAGE}{os.path.join('fx', 'interpreter')}"
_CONSIDER = (
    "consider using data-dependent friendly APIs such as guard_or_false, guard_or_true and "
    "statically_known_true."
)


def from_package(depth: int = 2, past: Container[str] = ()) -> bool:
    """Whether the code that called the function that calls this one is the framework's; its checks, its
    functions of symbolic numbers and what runs graphs node by node speak for the program. past: files whose
    functions hand on what they are called for.
    """
    frame: Any = sys._getframe(depth)
    while frame.f_code.co_filename in past:
        frame = frame.f_back
    file = frame.f_code.co_filename
    return file.startswith(_PACKAGE) and not file.startswith(_SPEAKING)


class Numbers:
    """The numbers of one record: its graph, what is known, values of the symbols in this call, and which of
    them are sizes of inputs (`backed`).
    """

    def __init__(
        self,
        graph: Graph,
        known: Known,
        values: dict[str, Any],
        backed: set[str],
        place: Callable[[], Any],
    ) -> None:
        self.graph, self.known, self.values, self.place = graph, known, dict(values), place
        self.backed = backed
        self._env: Any = None
        self.guards: list[tuple[Relation, str]] = []
        # The guards of sizes, which further records must fulfil.
        self.kept: list[Relation] = []
        # Sizes of which their Dims say nothing.
        self.unnamed: set[str] = set()
        # What ops ask of sizes at each call, which is no guard.
        self.possible: list[Relation] = []
        # What the program asserts of numbers of tensors, with the words it has for it.
        self.asserted: list[tuple[Relation, str | None]] = []
        # What the program notes of its nodes where it asserts something of sizes.
        self.notes: dict[Relation, Any] = {}
        # The symbols that are numbers of tensors, with the node that has the number first; and which of a
        # tensor's dims it is, where it is a size.
        self.unbacked: dict[str, tuple[Node, int | None]] = {}
        # Bounds that need no comparison.
        self.natural: dict[str, tuple[float, float]] = {}
        # Whether the record is over: what is done with its numbers now is no part of the program.
        self.closed = False
        # Whether a size was read of which only further records say what it depends on.
        self.unknown = False
        # Whether relations of several sizes are asserted instead of guards.
        self.deferred = False
        # Of a draft: hears of decisions by data, which are then made as in this call.
        self.excused: Callable[[str, str], None] | None = None
        # The node of a number, in the graph that is being written.
        self.argument: Callable[[Any], Any] = lambda a: a
        # While it tells nodes, there is a node of each expression.
        self.nodes: Callable[[Expr], Any] = lambda expr: expr.constant

    def fresh(self, kind: str, value: float, node: Node, dim: int | None = None) -> Expr:
        """A symbol for a number of a tensor: `u0`, or `zuf0` for a float."""
        name = f"{kind}{self.count(kind)}"
        self.unbacked[name] = node, dim
        self.values.setdefault(name, value)
        return symbol(name)

    def count(self, kind: str) -> int:
        """How many symbols of a kind there are for numbers of tensors."""
        return sum(name.rstrip("0123456789") == kind for name in self.unbacked)

    def made(self, function: Any, args: tuple[Any, ...], found: Any, value: Any) -> Any:
        """What function(*args) is: an expression or a relation whose value in this call is known."""
        if isinstance(found, Expr) and found.constant is not None:
            return type(value)(found.constant)
        node = None
        if not self.closed:
            operands = tuple(map(self.argument, args))
            node = self.graph.call_function(function, operands)
            node.meta.update(self.place(), sym=True)
        made: Any
        if isinstance(found, Relation):
            made = SymBool(value, self, found, node)
        else:
            made = (SymFloat if isinstance(value, float) else SymInt).of(value, self, found, node)
        if node is not None:
            node.meta["val"] = made
        return made

    def decide(self, relation: Relation, value: bool) -> bool:
        """What a relation is, for a program that goes on by it."""
        found = self.known.holds(relation)
        if found is not None:
            return found
        if relation.free() <= self.backed:
            told = relation if value else relation.opposite()
            if self.deferred and not told.is_simple():
                self.known.learn(told, False)
                self.asserted.append((told, None))
                self.notes.setdefault(told, self.place().get("custom"))
                return value
            self.guards.append((told, self.line()))
            self.kept.append(told)
            self.known.learn(told)
            return value
        where = self.place().get("stack_trace", "").strip()
        if self.excused is not None:
            self.excused(str(relation), where)
            self.check(relation if value else relation.opposite(), True, None)
            return value
        sizes = ", ".join(sorted(n for n in relation.free() if self.unbacked.get(n, (0, 0))[1] is not None))
        raise GuardOnDataDependentSymNode(
            f"Could not guard on data-dependent expression {relation} (unhinted: {relation}).  (Size-like "
            f"symbols: {sizes or 'none'})\n\n{_CONSIDER}\nCaused by: ({self.line()})\n"
            f'For more information, run with TORCH_LOGS="dynamic"\n\n'
            f"The following call raised this error:\n  {where}\n"
        )

    def env(self) -> Any:
        """The ShapeEnv of these numbers."""
        if self._env is None:
            from rushlight.fx.experimental.symbolic_shapes import ShapeEnv  # it imports this file

            self._env = ShapeEnv.of(self)
        return self._env

    def close(self) -> None:
        """The record is over: what it took to write it is let go."""
        self.place, self.excused, self.nodes = dict, None, lambda expr: expr.constant
        self.argument = _as_written
        self.closed = True

    def line(self) -> str:
        """Where the program is, as `file:line in function`."""
        frame: Any = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
            frame = frame.f_back
        code = frame.f_code
        return f"{'/'.join(code.co_filename.split('/')[-2:])}:{frame.f_lineno} in {code.co_name}"

    def check(self, relation: Relation, value: bool, message: str | None) -> None:
        """The program asserts a relation, which its further course may rely upon."""
        if relation.free() <= self.backed:
            self.decide(relation, value)
            return
        if self.known.holds(relation) is not True:
            self.known.learn(relation)
        self.asserted.append((relation, message))


def _as_written(value: Any) -> Any:
    return value.written if isinstance(value, SYMBOLIC) else value


def _is_asserted(frame: Any) -> bool:
    """Whether a program asks for a condition in order to assert it."""
    following = [i for i in dis.get_instructions(frame.f_code) if i.offset > frame.f_lasti]
    names = [i.opname for i in following if i.opname not in ("CACHE", "EXTENDED_ARG", "NOT_TAKEN")][:2]
    asserts = {"LOAD_ASSERTION_ERROR", "LOAD_COMMON_CONSTANT"}
    return not asserts.isdisjoint(names[:1]) or (
        len(names) > 1 and names[0].startswith("POP_JUMP") and names[1] in asserts
    )


def expression(value: Any) -> Expr:
    """A number's expression."""
    return value.expr if isinstance(value, _Number) else number(value)


def _plain(value: Any) -> Any:
    """The number of this call."""
    if isinstance(value, SymInt):
        return int.__int__(value)
    if isinstance(value, SymFloat):
        return float.__float__(value)
    return value.value if isinstance(value, SymBool) else value


def _of(*values: Any) -> Numbers:
    found: Numbers = next(v.numbers for v in values if isinstance(v, SYMBOLIC))
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, torch.Tensor)


def applied_to(function: Any, op: Callable[..., Expr], *args: Any) -> Any:
    """function(*args) of numbers, written to the graph; op(*expressions) says what it is."""
    value = function(*map(_plain, args))
    return _of(*args).made(function, args, op(*map(expression, args)), value)


def _named(name: str) -> Callable[..., Expr]:
    def op(*args: Expr) -> Expr:
        return applied(name, *args)

    return op


_BINARY: dict[str, tuple[Any, Callable[..., Expr]]] = {
    "add": (operator.add, Expr.__add__),
    "sub": (operator.sub, Expr.__sub__),
    "mul": (operator.mul, Expr.__mul__),
    "floordiv": (operator.floordiv, _named("FloorDiv")),
    "truediv": (operator.truediv, _named("TrueDiv")),
    "mod": (operator.mod, _named("Mod")),
    "pow": (operator.pow, power),
    "lshift": (operator.lshift, _named("LShift")),
    "rshift": (operator.rshift, _named("RShift")),
    "and": (operator.and_, _named("BitwiseAnd")),
    "or": (operator.or_, _named("BitwiseOr")),
    "xor": (operator.xor, _named("BitwiseXor")),
}
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


class _Number:
    """What whole numbers and floats that depend on inputs share."""

    numbers: Numbers
    expr: Expr
    written: Node | None  # the node of the graph that has it

    @property
    def node(self) -> SymNode:
        """What is known about it, as PyTorch's users read it."""
        return SymNode(self, self.expr)

    @property
    def expression(self) -> str:
        """Its expression, in Python's syntax."""
        return str(self.expr)

    @property
    def hint(self) -> Any:
        """The number that it was."""
        return _plain(self)

    def tree(self) -> ast.Expression:
        """Its expression, parsed; ValueError where files have no word for it."""
        return Sym(str(self.expr), 0).tree()

    def __str__(self) -> str:
        return str(self.expr)

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(str(self.expr), spec)

    def __bool__(self) -> bool:
        value = bool(_plain(self))
        if from_package():
            return value
        return self.numbers.decide(Relation("!=", self.expr, number(0)), value)

    def __neg__(self) -> Any:
        return applied_to(operator.neg, Expr.__neg__, self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return applied_to(abs, _named("Abs"), self)

    def __sym_max__(self, other: Any) -> Any:
        return applied_to(torch.sym_max, _named("Max"), self, other)

    def __sym_min__(self, other: Any) -> Any:
        return applied_to(torch.sym_min, _named("Min"), self, other)

    def __reduce_ex__(self, protocol: Any) -> Any:
        value = _plain(self)
        return type(value), (value,)

    def __deepcopy__(self, memo: Any) -> Any:
        return self


def _binary(name: str, function: Any, op: Callable[..., Expr], back: bool) -> Any:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, SymBool):
            other = other.as_int()
        if not _is_number(other):
            return NotImplemented
        return applied_to(function, op, *((other, self) if back else (self, other)))

    method.__name__ = f"__{'r' if back else ''}{name}__"
    return method


def _comparison(name: str, sign: str) -> Any:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, SymBool):
            other = other.as_int()
        if not _is_number(other):
            return NotImplemented
        function = getattr(operator, name)
        value = function(_plain(self), _plain(other))
        if from_package():
            return value
        relation = Relation(sign, expression(self), expression(other))
        if self.numbers.backed >= relation.free() and (relation.left - relation.right).constant is not None:
            return value
        return self.numbers.made(function, (self, other), relation, value)

    method.__name__ = f"__{name}__"
    return method


for _name, (_function, _op) in _BINARY.items():
    setattr(_Number, f"__{_name}__", _binary(_name, _function, _op, False))
    setattr(_Number, f"__r{_name}__", _binary(_name, _function, _op, True))
for _name, _sign in _COMPARISONS.items():
    setattr(_Number, f"__{_name}__", _comparison(_name, _sign))


class _Whole(type):
    """SymInt's: the size of a nested tensor's uneven dim is an instance, too, though of no record."""

    def __instancecheck__(cls, value: Any) -> bool:
        return super().__instancecheck__(value) or getattr(type(value), "uneven", False)


class SymInt(_Number, int, metaclass=_Whole):
    """A whole number that depends on a program's inputs."""

    __hash__ = int.__hash__

    @classmethod
    def of(cls, value: int, numbers: Numbers, expr: Expr, node: Node | None) -> SymInt:
        """The number, of a record."""
        made = int.__new__(cls, value)
        made.numbers, made.expr, made.written = numbers, expr, node
        return made

    def __int__(self) -> int:
        value = int.__int__(self)
        if not from_package():
            self.numbers.decide(Relation("==", self.expr, number(value)), True)
        return value

    def __float__(self) -> float:  # also what functions of math call
        value = int.__int__(self)
        if not from_package():
            self.numbers.decide(Relation("==", self.expr, number(value)), True)
        return float(value)

    def __sym_float__(self) -> Any:
        return applied_to(torch.sym_float, _named("ToFloat"), self)

    def __sym_int__(self) -> Any:
        return self

    def __round__(self, ndigits: Any = None) -> Any:
        return self

    __floor__ = __ceil__ = __trunc__ = __round__

    def __sym_sqrt__(self) -> Any:
        return applied_to(torch.sym_sqrt, _named("OpaqueUnaryFn_sqrt"), self)

    def is_integer(self) -> bool:
        """True."""
        return True


class SymFloat(_Number, float):
    """A float that depends on a program's inputs."""

    __hash__ = float.__hash__

    @classmethod
    def of(cls, value: float, numbers: Numbers, expr: Expr, node: Node | None) -> SymFloat:
        """The number, of a record."""
        made = float.__new__(cls, value)
        made.numbers, made.expr, made.written = numbers, expr, node
        return made

    def __int__(self) -> int:
        value = float.__float__(self)
        if not from_package():
            self.numbers.decide(Relation("==", self.expr, number(value)), True)
        return int(value)

    def __float__(self) -> float:
        value = float.__float__(self)
        if not from_package():
            self.numbers.decide(Relation("==", self.expr, number(value)), True)
        return value

    def __sym_float__(self) -> Any:
        return self

    def __trunc__(self) -> Any:
        return applied_to(math.trunc, _named("TruncToInt"), self)

    def __floor__(self) -> Any:
        return applied_to(math.floor, _named("FloorToInt"), self)

    def __ceil__(self) -> Any:
        return applied_to(math.ceil, _named("CeilToInt"), self)

    def __round__(self, ndigits: Any = None) -> Any:
        if ndigits is None:
            return applied_to(round, _named("RoundToInt"), self)
        return applied_to(round, _named("RoundDecimal"), self, ndigits)

    def __sym_int__(self) -> Any:
        return self.__trunc__()

    def __sym_sqrt__(self) -> Any:
        return applied_to(torch.sym_sqrt, _named("OpaqueUnaryFn_sqrt"), self)


class SymBool:
    """A condition that depends on a program's inputs."""

    def __init__(self, value: bool, numbers: Numbers, relation: Relation, node: Node | None) -> None:
        self.value, self.numbers, self.relation, self.written = value, numbers, relation, node

    @property
    def node(self) -> SymNode:
        """What is known about it, as PyTorch's users read it."""
        return SymNode(self, self.relation)

    def __bool__(self) -> bool:
        if from_package():
            return self.value
        if not self.relation.free() <= self.numbers.backed and _is_asserted(sys._getframe(1)):
            self.numbers.check(self.relation, self.value, None)
            return True
        return self.numbers.decide(self.relation, self.value)

    def __int__(self) -> int:
        return int(self.value if from_package() else self.numbers.decide(self.relation, self.value))

    def __sym_ite__(self, yes: Any, no: Any) -> Any:
        chosen = applied("Ite", self._expression(), expression(yes), expression(no))
        return self.numbers.made(torch.sym_ite, (self, yes, no), chosen, _plain(yes if self.value else no))

    def as_int(self) -> Any:
        """1 or 0."""
        return self.__sym_ite__(1, 0)

    def _expression(self) -> Expr:
        return symbol(f"[{self.relation}]")

    def check(self, message: Callable[[], Any] | None = None) -> None:
        """The program asserts it."""
        self.numbers.check(self.relation, self.value, None if message is None else str(message()))

    def _joined(self, sign: str, function: Any, other: Any) -> Any:
        if isinstance(other, bool):
            return self.numbers.made(function, (self, other), self.relation, function(self.value, other))
        if not isinstance(other, SymBool):
            return NotImplemented
        joint = Relation(sign, parts=(self.relation, other.relation))
        return self.numbers.made(function, (self, other), joint, function(self.value, other.value))

    def __and__(self, other: Any) -> Any:
        return (
            self if other is True else other if other is False else self._joined("And", operator.and_, other)
        )

    def __or__(self, other: Any) -> Any:
        return self if other is False else other if other is True else self._joined("Or", operator.or_, other)

    __rand__, __ror__ = __and__, __or__

    def __sym_not__(self) -> Any:
        return self.numbers.made(torch.sym_not, (self,), self.relation.opposite(), not self.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: Any) -> Any:
        if isinstance(other, (bool, int)) and not isinstance(other, SymInt):
            told = self.relation if other else self.relation.opposite()
            return self.numbers.made(operator.eq, (self, other), told, self.value == bool(other))
        return other is self

    def __add__(self, other: Any) -> Any:
        return self.as_int() + other

    __radd__ = __add__

    def __mul__(self, other: Any) -> Any:
        return self.as_int() * other

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return str(self.relation)

    def __deepcopy__(self, memo: Any) -> Any:
        return self


class SymNode:
    """What is known about a symbolic number: `x.node` of a torch.SymInt, SymFloat or SymBool."""

    def __init__(self, of: Any, expr: Expr | Relation) -> None:
        self.of, self.expr = of, expr

    _expr = property(lambda self: self.expr)

    @property
    def hint(self) -> Any:
        """The number that it was; None where a tensor decides it."""
        return _plain(self.of) if self.has_hint() else None

    @property
    def pytype(self) -> type:
        """int, float or bool."""
        return {SymInt: int, SymFloat: float, SymBool: bool}[type(self.of)]

    @property
    def shape_env(self) -> Any:
        """The ranges of its symbols, and what was decided by them."""
        return self.of.numbers.env()

    @property
    def fx_node(self) -> Any:
        """The node of the graph that has it."""
        return self.of.written

    def has_hint(self) -> bool:
        """Whether its number is that of the inputs' sizes alone."""
        return bool(self.expr.free() <= self.of.numbers.backed)

    def require_hint(self, fallback: Any = None) -> Any:
        """The number that it was. ValueError where there is none."""
        if not self.has_hint():
            if fallback is not None:
                return fallback
            raise ValueError(f"{self.expr} has no hint")
        return self.hint

    def maybe_as_int(self) -> int | None:
        """The number, where it is the same in all calls."""
        constant = self.expr.constant if isinstance(self.expr, Expr) else None
        return None if constant is None else int(constant)

    def is_symbolic(self) -> bool:
        """True: plain numbers have no node."""
        return True

    def is_constant(self) -> bool:
        """Whether it is the same in all calls."""
        return self.maybe_as_int() is not None

    def is_int(self) -> bool:
        """Whether it is a whole number."""
        return self.pytype is int

    def is_float(self) -> bool:
        """Whether it is a float."""
        return self.pytype is float

    def is_bool(self) -> bool:
        """Whether it is a condition."""
        return self.pytype is bool

    def __str__(self) -> str:
        return str(self.expr)

    __repr__ = __str__


# What is of a record: unlike SymInt, without the sizes of nested tensors.
SYMBOLIC = (_Number, SymBool)
for _class in (SymInt, SymFloat, SymBool):
    _class.__module__ = package()
SIZES = (Sym, _Number)


KEPT.update((SymInt, SymFloat, SymBool))
numbers.Number.register(SymBool)  # so that ops take it as one


def plain(value: Any) -> Any:
    """Arguments with the numbers of this call."""
    if isinstance(value, SYMBOLIC):
        return _plain(value)
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list, torch.Size):
        return type(value)(map(plain, value)) if any_symbolic(value) else value
    if isinstance(value, dict) and any_symbolic(value.values()):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, slice) and any_symbolic((value.start, value.stop, value.step)):
        return slice(plain(value.start), plain(value.stop), plain(value.step))
    return value


def any_symbolic(values: Any) -> bool:
    """Whether there are numbers among arguments that depend on inputs."""
    return any(
        isinstance(v, SYMBOLIC)
        or (isinstance(v, (tuple, list)) and any_symbolic(v))
        or (isinstance(v, slice) and any_symbolic((v.start, v.stop, v.step)))
        for v in values
    )
