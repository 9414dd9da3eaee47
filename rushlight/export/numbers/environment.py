"""ShapeEnv: the symbols of sizes, their bounds, and what was decided by them, as PyTorch's users read it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rushlight.export.numbers.expressions import Expr, Known, Relation, number, symbol
from rushlight.export.numbers.symbolic import Numbers, SymBool, SymFloat, SymInt
from rushlight.export.symbols import UNBOUNDED, ValueRanges
from rushlight.fx.graph import Graph


@dataclass(frozen=True)
class CallMethodKey:
    """A step of a path to a number: by a method."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}()"

    def get(self, o: Any) -> Any:
        """What the method gives."""
        return getattr(o, self.name)()


class ShapeGuard:
    """A relation of sizes that decided what a program did."""

    def __init__(self, expr: Relation, where: str) -> None:
        self.expr, self.where = expr, where

    def __repr__(self) -> str:
        return f"ShapeGuard({self.expr})"


class ShapeEnv:
    """Symbols of sizes, and what is known of them. The options are PyTorch's, and accepted."""

    def __init__(self, **options: Any) -> None:
        self.settings = options
        self.tracked_fakes = options.get("tracked_fakes")
        self.numbers = Numbers(Graph(), Known(), {}, set(), dict)
        self.numbers.close()
        self.sources: dict[Expr, Any] = {}
        self._of_size: dict[int, Expr] = {}

    @classmethod
    def of(cls, numbers: Numbers) -> ShapeEnv:
        """Of the numbers of a record."""
        made = cls()
        made.numbers = numbers
        return made

    # --- what is known ---------------------------------------------------------------------------

    @property
    def var_to_range(self) -> dict[Any, Any]:
        """The bounds of each symbol."""
        return {symbol(name): ValueRanges(*found) for name, found in self.numbers.known.ranges.items()}

    @property
    def var_to_val(self) -> dict[Any, Any]:
        """What the sizes of inputs were."""
        return {symbol(name): v for name, v in self.numbers.values.items() if name in self.numbers.backed}

    backed_var_to_val = var_to_val

    @property
    def guards(self) -> list[ShapeGuard]:
        """What was decided by sizes of inputs."""
        return [ShapeGuard(told, where) for told, where in self.numbers.guards]

    @property
    def deferred_runtime_asserts(self) -> dict[Any, list[Any]]:
        """What is asserted of numbers that tensors decide, by a symbol."""
        found: dict[Any, list[Any]] = {}
        for relation, _ in self.numbers.asserted:
            last = max(relation.free(), key=lambda name: (name.startswith("u"), name))
            found.setdefault(symbol(last), []).append(relation)
        return found

    @property
    def unbacked_symint_counter(self) -> int:
        """How many symbols there are for numbers of tensors."""
        return self.numbers.count("u")

    def bound_sympy(self, expr: Any, size_oblivious: bool = False) -> ValueRanges:
        """Between which numbers an expression lies."""
        low, high = expr.bounds(self.numbers.known.ranges)
        return ValueRanges(*(n if abs(n) == UNBOUNDED else int(n) for n in (low, high)))

    def size_hint(self, expr: Any, *, allow_none: bool = False) -> Any:
        """What an expression was in this call; None, or ValueError, where a tensor decides it."""
        if expr.free() <= self.numbers.backed:
            return expr.at(self.numbers.values)
        if allow_none:
            return None
        raise ValueError(f"{expr} has no hint")

    def is_unbacked_symint(self, of: Any) -> bool:
        """Whether a symbol is a number of a tensor."""
        return of.name not in self.numbers.backed

    def evaluate_expr(self, expr: Any, hint: Any = None, **options: Any) -> Any:
        """What an expression or a relation is, for a program that goes on by it."""
        if isinstance(expr, Relation):
            return self.numbers.decide(expr, expr.at(self.numbers.values))
        value = expr.at(self.numbers.values)
        self.numbers.decide(Relation("==", expr, number(value)), True)
        return value

    # --- new symbols -----------------------------------------------------------------------------

    def create_symbol(
        self, val: int, source: Any = None, dynamic_dim: Any = None, *options: Any, **more: Any
    ) -> Expr:
        """A symbol for a size of an input: that of another one of this size, and the number for 0 and 1."""
        always = getattr(dynamic_dim, "name", "") == "DYNAMIC"
        if val in (0, 1) and not always:
            return number(val)
        if val in self._of_size and not always:
            return self._of_size[val]
        name = f"s{len(self.numbers.backed)}"
        self._declared(name, val, 2)
        self._of_size.setdefault(val, symbol(name))
        self.sources[symbol(name)] = source
        return symbol(name)

    create_unspecified_symbol = create_symbol

    def _declared(self, name: str, value: Any, low: float) -> None:
        self.numbers.backed.add(name)
        self.numbers.values[name] = value
        self.numbers.known.ranges[name] = low, UNBOUNDED

    def create_symintnode(self, sym: Any, *, hint: int | None, source: Any = None) -> Any:
        """The torch.SymInt of an expression; the number that it is the same in all calls."""
        if not isinstance(sym, Expr):
            return int(sym)
        if sym.constant is not None:
            return int(sym.constant)
        value = hint if hint is not None else sym.at(self.numbers.values)
        return SymInt.of(int(value), self.numbers, sym, None)

    def create_symfloatnode(self, sym: Any, *, hint: float | None, source: Any = None) -> Any:
        """The torch.SymFloat of an expression."""
        value = hint if hint is not None else sym.at(self.numbers.values)
        return SymFloat.of(float(value), self.numbers, sym, None)

    def create_symboolnode(self, sym: Any) -> Any:
        """The torch.SymBool of a relation."""
        return SymBool(bool(sym.at(self.numbers.values)), self.numbers, sym, None)

    def _unbacked(self, kind: str, low: float, high: float, value: Any) -> Expr:
        name = f"{kind}{self.numbers.count(kind)}"
        self.numbers.unbacked[name] = None, None  # type: ignore[assignment]
        self.numbers.values[name] = value
        self.numbers.known.ranges[name] = low, high
        return symbol(name)

    def create_unbacked_symint(self, source: Any = None) -> Any:
        """A number of which nothing is known."""
        expr = self._unbacked("u", -UNBOUNDED, UNBOUNDED, 1)
        return SymInt.of(1, self.numbers, expr, None)

    def unbacked_size(self, value: int, low: int, high: float) -> Any:
        """A size of which its bounds are known; `value` is what it is taken for."""
        return SymInt.of(value, self.numbers, self._unbacked("u", low, high, value), None)

    def create_unbacked_symfloat(self) -> Any:
        """A float of which nothing is known."""
        expr = self._unbacked("zuf", -UNBOUNDED, UNBOUNDED, 1.0)
        return SymFloat.of(1.0, self.numbers, expr, None)

    def create_unbacked_symbool(self) -> Any:
        """A condition of which nothing is known."""
        relation = Relation("==", self._unbacked("u", 0, 1, 1), number(1))
        return SymBool(True, self.numbers, relation, None)

    @contextmanager
    def ignore_fresh_unbacked_symbols(self) -> Iterator[None]:
        """A context in which new symbols are nobody's."""
        yield

    @contextmanager
    def suppress_guards(self) -> Iterator[None]:
        """A context in which decisions are not noted."""
        before = len(self.numbers.guards), len(self.numbers.kept)
        try:
            yield
        finally:
            del self.numbers.guards[before[0] :]
            del self.numbers.kept[before[1] :]
