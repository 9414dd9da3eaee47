"""Sizes that may change: Dims, how a caller names them, and numbers as expressions of them.

An exported program is recorded at several sizes. A number in it that is not the same in all records is an
expression of the sizes, and `fitted` finds it: nothing is traced symbolically, and nothing is believed that
one record refutes.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import inspect
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import rushlight as torch
from rushlight._engine.core.pytree import NODES, flatten, kind_of
from rushlight.export.errors import ConstraintViolationError, UserError
from rushlight.export.numbers.expressions import Relation

_Leaf = Callable[[Any], Any]
UNBOUNDED = float("inf")
_LINEAR = "(Only increasing linear operations with integer coefficients are supported.)"


class _Hint(NamedTuple):
    """Dim.AUTO, Dim.DYNAMIC, Dim.STATIC; calling one gives it bounds."""

    kind: str
    min: Any = 2
    max: Any = UNBOUNDED
    told: tuple[int | None, int | None] = (None, None)  # the bounds, as far as they were given

    def __repr__(self) -> str:
        return f"DimHint({self.kind})"

    def __call__(self, min: int | None = None, max: int | None = None) -> _Hint:
        return _Hint(self.kind, 2 if min is None else min, UNBOUNDED if max is None else max, (min, max))


class Dim:
    """A size with a name, the same wherever it is mentioned; `2 * dim + 1` is one that follows it.

    min defaults to 0, max to no bound. AssertionError for an empty range or a name that is no identifier.
    """

    AUTO, DYNAMIC, STATIC = _Hint("AUTO"), _Hint("DYNAMIC"), _Hint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        self.min: int = 0 if min is None else min
        self.max: Any = UNBOUNDED if max is None else max
        if not self.max > self.min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__, self.root = name, self
        self.of: Callable[[int], int] = lambda x: x

    @property
    def fn(self) -> Callable[[int], int]:
        """The size that it is where its root has a size."""
        return self.of

    def _derived(self, text: str, of: Callable[[int], int]) -> Dim:
        made = Dim("derived", min=int(of(self.min)), max=None if self.max == UNBOUNDED else of(self.max))
        before = self.of
        made.__name__, made.root, made.of = text.format(self.__name__), self.root, lambda x: of(before(x))
        return made

    def __add__(self, other: int) -> Dim:
        if type(other) is not int:
            raise NotImplementedError(
                f"Attempted to add {other} to {self.__name__}, where an integer was expected. {_LINEAR}"
            )
        return self._derived(f"{{}} {'+-'[other < 0]} {abs(other)}", lambda x: x + other)

    def __sub__(self, other: int) -> Dim:
        return self + -other

    def __mul__(self, other: int) -> Dim:
        if type(other) is not int or other <= 0:
            raise NotImplementedError(
                f"Attempted to multiply {other} with {self.__name__}, where a positive integer was expected. "
                f"{_LINEAR}"
            )
        return self._derived(f"{other}*{{}}", lambda x: x * other)

    __radd__, __rmul__ = __add__, __mul__

    def __repr__(self) -> str:
        low = f", min={self.min}" if self.min != 2 else ""
        return f"Dim('{self.__name__}'{low}{'' if self.max == UNBOUNDED else f', max={self.max}'})"


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """A Dim for each name."""
    return tuple(Dim(name, min=min, max=max) for name in names)


class ValueRanges(NamedTuple):
    """The bounds of a size."""

    lower: Any
    upper: Any

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {'int_oo' if self.upper == UNBOUNDED else self.upper}]"


class Place(NamedTuple):
    """Where a size is found: which input's dimension; None where the input is the number itself."""

    leaf: int
    dim: int | None


class Symbol:
    """A size that may change: its name, the size it had, its bounds, and the inputs' dimensions that are
    it.
    """

    def __init__(self, name: str, hint: int, given: Dim | _Hint) -> None:
        self.name, self.given, self.size = name, given, hint
        root = given.root if isinstance(given, Dim) else given
        self.low, self.high = root.min, root.max
        # Sizes 0 and 1 broadcast, so that a record at them says little about others.
        self.hint = max(hint, min(2, self.high), self.low)
        self.places: dict[Place, Callable[[int], int]] = {}
        self.source = ""
        # The hint, where the sample's size lies outside of its bounds.
        self.wanted: _Hint | None = None

    @property
    def shown(self) -> str:
        """What its user calls it."""
        return self.given.root.__name__ if isinstance(self.given, Dim) else self.source

    def told(self, relation: Relation) -> str:
        """A relation in the user's words."""
        return re.sub(rf"\b{self.name}\b", self.source, str(relation))

    def refuses(self, low: Any, high: Any) -> bool:
        """Whether it may not have these bounds alone: a Dim has the bounds that it says, and what is
        DYNAMIC is not one number.
        """
        if isinstance(self.given, Dim):
            return True
        return self.given.kind == "DYNAMIC" and low == high

    @property
    def range(self) -> ValueRanges:
        """Its bounds; an input that may be any number is told like a size."""
        return ValueRanges(0 if self.places and self.low == -UNBOUNDED else self.low, self.high)

    def ranges(self) -> dict[str, ValueRanges]:
        """Its bounds, and those of Dims that follow it, by expression."""
        found = {self.name: self.range}
        for of in self.places.values():
            plus, by = of(0), of(1) - of(0)
            if (plus, by) != (0, 1):
                text = _sum({self.name: by, "": plus})
                high = self.high if self.high == UNBOUNDED else of(self.high)
                found[text] = ValueRanges(of(self.low), high)
        return found

    @property
    def first(self) -> Place:
        """Where it is first found."""
        return min(self.places, key=lambda p: (p.leaf, p.dim or 0))

    @property
    def path(self) -> str:
        """The same, as a path from the inputs."""
        place = self.first
        source = re.sub(r"\.size\(\)\[\d+\]$", "", re.sub(r"^L", "inputs", self.source))
        return source if place.dim is None else f"{source}.shape[{place.dim}]"

    def others(self) -> list[int]:
        """Sizes to record at, beside the hint: a neighbour and one further away."""
        wanted: tuple[int, ...] = (self.hint + 1, 2 * self.hint + 3, self.hint - 1, self.hint - 2)
        found = [v for v in wanted if max(self.low, 2) <= v <= self.high]
        # Size 1 says something where there is no other.
        return found or [v for v in (1,) if self.low <= v and self.hint != v]


class Read(Symbol):
    """A number that a program reads of a tensor, or a size that hangs on data."""

    def __init__(self, name: str, hint: int, low: Any, high: Any) -> None:
        super().__init__(name, hint, Dim.AUTO)
        self.hint, self.low, self.high = hint, low, high

    def others(self) -> list[int]:
        """Numbers to record with."""
        wanted: tuple[int, ...] = (self.hint + 1, 2 * self.hint + 3, self.hint - 1, self.hint - 2)
        wanted += (self.hint + 2, self.hint + 4, *range(self.hint + 5, self.hint + 70))
        return [v for v in wanted if self.low <= v <= self.high and (v > 1 or self.hint < 2)]


def symbols(spec: Sequence[Any], leaves: Sequence[Any], sources: Sequence[str]) -> list[Symbol]:
    """The symbols of inputs: `spec` says for each leaf None, or a dict or sequence of dimensions.

    UserError for what is no dimension, or no tensor.
    """
    found: dict[Any, Symbol] = {}
    taken: set[str] = set()
    small: list[tuple[int, str]] = []
    for leaf, (given, value) in enumerate(zip(spec, leaves, strict=True)):
        shape: Any = getattr(value, "shape", None)
        if type(value) is int and isinstance(given, (Dim, _Hint)):
            if not (isinstance(given, _Hint) and given.kind == "STATIC"):
                _placed(found, taken, given, Place(leaf, None), value, sources[leaf])
            continue
        items: Any = given.items() if isinstance(given, dict) else enumerate(given or ())
        if given and shape is None:
            raise UserError(
                f"Cannot associate shape {given} to non-tensor type {type(value)} (expected None)"
            )
        if isinstance(given, (tuple, list)) and shape is not None and given and len(given) != len(shape):
            raise UserError(
                f"Expected dynamic shape spec {given} to have the same length as the actual "
                f"tensor shape {shape} (expected {len(shape)}, but got {len(given)} instead)"
            )
        for d, dim in items:
            if type(dim) is int and dim != shape[d]:
                raise ConstraintViolationError(
                    f"Static shape constraint of {dim} does not match input size of {shape[d]}, for "
                    f"{sources[leaf]}.size()[{d}]"
                )
            if dim is None or isinstance(dim, int) or _static(dim, shape[d], sources[leaf], d):
                continue
            if not isinstance(dim, (Dim, _Hint)):
                raise UserError(
                    f"Unexpected dimension mapped to index {d} in input tensor shape {given} (expected None, "
                    f"an int, a Dim, Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC, but got {dim!r} instead)"
                )
            if isinstance(dim, _Hint) and dim.kind == "DYNAMIC" and shape[d] in (0, 1):
                small.append((shape[d], f"{re.sub(r'^L', 'inputs', sources[leaf])}.shape[{d}]"))
                continue
            _placed(found, taken, dim, Place(leaf, d % len(shape)), shape[d], sources[leaf])
    if small:
        raise ValueError(
            "\n".join(
                "- Received user-specified dim hint Dim.DYNAMIC(min=None, max=None), but export 0/1 "
                f"specialized due to hint of {size} for dimension {where}."
                for size, where in small
            )
        )
    return list(found.values())


def _static(dim: Any, size: int, source: str, at: int) -> bool:
    """Whether it is Dim.STATIC; ValueError where it says other bounds than the size."""
    if not isinstance(dim, _Hint) or dim.kind != "STATIC":
        return False
    if dim.told != (None, None) and not dim.min <= size <= dim.max:
        least, most = dim.told
        raise ValueError(
            f"- Received user-specified min/max range of [{least}, {most}], conflicting with the inferred "
            f"min/max range of [{size}, {size}], for {re.sub(r'^L', 'inputs', source)}.shape[{at}]."
        )
    return True


def _placed(
    found: dict[Any, Symbol], taken: set[str], dim: Any, place: Place, size: int, source: str
) -> None:
    named = isinstance(dim, Dim)
    outside = not dim.min <= size <= dim.max
    if outside and named:
        raise ConstraintViolationError(f"{size} not in range [{dim.min}, {dim.max}]")
    if named and dim.min < 0:
        raise AssertionError(
            f"Expected derived min value of {dim.__name__} to be >= 0. Please specify an appropriate min "
            f"value for {dim.root.__name__} (currently {dim.root.min})."
        )
    key = dim.root.__name__ if named else place
    number = int(hashlib.sha256(f"{source}.size()[{place.dim}]".encode()).hexdigest(), 16) % 100
    while f"s{number}" in taken:
        number += 1
    taken.add(f"s{number}")
    if named and key in found and dim.of(found[key].size) != size:
        raise UserError(
            f"Expected input {source}.size()[{place.dim}] to be equal to {dim.__name__}, where {key} = "
            f"{found[key].size}, but got {size}"
        )
    if key not in found:
        hint = _root_of(dim, size) if named else size
        if hint is None:
            raise UserError(
                f"Expected shape[{place.dim}] = {size} of input Tensor to be of the form "
                f"{dim.__name__}, where {key} is an integer"
            )
        found[key] = Symbol(f"s{number}", hint, dim)
    symbol = found[key]
    if not named or dim.root is dim:
        symbol.name = f"s{number}"  # as PyTorch's, that of the last place
    if place.dim is None and not named and dim.min == 2:  # a number, which may be any
        symbol.low, symbol.hint = -UNBOUNDED, size
    if outside and not named and size > 1:
        symbol.wanted = dim
        symbol.low, symbol.high, symbol.hint = (-UNBOUNDED if place.dim is None else 2), UNBOUNDED, size
    if named and (dim.root.min, dim.root.max) != (symbol.low, symbol.high):
        raise UserError(
            f"Found different definitions {symbol.given} and {dim} for the same symbolic dimension!"
        )
    symbol.source = symbol.source or (source if place.dim is None else f"{source}.size()[{place.dim}]")
    symbol.places[place] = dim.of if named else lambda x: x


def _root_of(dim: Dim, size: int) -> int | None:
    """The root's size where a Dim has a size; None if there is none."""
    plus, by = dim.of(0), dim.of(1) - dim.of(0)
    return (size - plus) // by if (size - plus) % by == 0 else None


def joined(known: Sequence[Symbol]) -> Iterator[list[Symbol]]:
    """Fewer symbols: those without a Dim that had the same size are one, first where they are the same
    dimension of several inputs, then wherever they are.
    """
    last: int = len(known)
    for by_dim in (True, False):
        found: dict[Any, Symbol] = {}
        for symbol in known:
            key: Any = symbol.name
            if not isinstance(symbol.given, Dim):
                key = (symbol.size, symbol.first.dim if by_dim else None)
            if key not in found:
                found[key] = copy.copy(symbol)
                found[key].places = {}
            own = found[key]
            own.places |= symbol.places
            own.name, own.low, own.high = symbol.name, max(own.low, symbol.low), min(own.high, symbol.high)
        if len(found) < last:
            last = len(found)
            yield list(found.values())


@dataclass(frozen=True)
class Sym:
    """A number that is an expression of sizes, in Python's syntax: `2*s77 + 1`. kind: "int"; of what files
    tell, also "float", or "bool" (`u0 >= 0`).
    """

    expression: str
    hint: int
    kind: str = "int"

    def __str__(self) -> str:
        return self.expression

    def __repr__(self) -> str:
        return self.expression

    def at(self, sizes: dict[str, int]) -> int:
        """Its value for these sizes."""
        return int(eval(compile(self.tree(), "<size>", "eval"), {"__builtins__": {}}, sizes))

    def tree(self) -> ast.Expression:
        """The expression, which holds nothing but names, whole numbers, and + - * //. ValueError
        otherwise.
        """
        try:
            found = ast.parse(self.expression, mode="eval")
        except SyntaxError:
            raise ValueError(f"{self.expression!r} is no expression of sizes") from None
        allowed = (
            ast.Expression,
            ast.BinOp,
            ast.Name,
            ast.Constant,
            ast.Load,
            ast.Add,
            ast.Sub,
            ast.Mult,
            ast.FloorDiv,
        )
        found = ast.Expression(_Products().visit(found.body))
        for node in ast.walk(found):
            if not isinstance(node, allowed) or (
                isinstance(node, ast.Constant) and type(node.value) is not int
            ):
                raise ValueError(
                    f"{self.expression!r} is no expression of sizes: only + - * // and whole numbers"
                )
        return found


class _Products(ast.NodeTransformer):
    """Small powers as products."""

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        """An operation of two expressions."""
        by = node.right.value if isinstance(node.right, ast.Constant) else None
        whole = self.generic_visit(node)
        if not isinstance(node.op, ast.Pow) or type(by) is not int or not 2 <= by <= 8:
            return whole
        found: Any = node.left
        for _ in range(by - 1):
            found = ast.BinOp(found, ast.Mult(), node.left)
        return ast.fix_missing_locations(found)


def times(a: Any, b: Any) -> Any:
    """The product of two sizes."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    hint = (a.hint if isinstance(a, Sym) else a) * (b.hint if isinstance(b, Sym) else b)
    parts = [f"({n})" if " " in str(n) or "//" in str(n) else str(n) for n in (a, b) if n != 1]
    return Sym("*".join(parts), hint)


def fitted(values: Sequence[int], at: Sequence[dict[str, int]]) -> Sym | int | None:
    """The expression that is values[i] for the sizes at[i]; None if no simple one is."""
    if len(set(values)) == 1:
        return values[0]
    names = [n for n in at[0] if any(p[n] != at[0][n] for p in at)]
    single: list[tuple[str, ...]] = [(), *((n,) for n in names)]
    pairs = [*single, *itertools.combinations(names, 2)]
    for monomials in (*([(), (n,)] for n in names), single, pairs, [*pairs, *((n, n) for n in names)]):
        if len(monomials) > len(at):
            continue
        rows = np.array(
            [[np.prod([p[n] for n in m], dtype=float) if m else 1.0 for m in monomials] for p in at]
        )
        found = np.rint(np.linalg.lstsq(rows, np.array(values, float), rcond=None)[0]).astype(int)
        if (rows @ found == np.array(values)).all():
            return Sym(_sum({"*".join(m): int(c) for m, c in zip(monomials, found, strict=True)}), values[0])
    return _divided(values, at, names)


def _divided(values: Sequence[int], at: Sequence[dict[str, int]], names: Iterable[str]) -> Sym | None:
    for name, by in itertools.product(names, range(2, 65)):
        for plus in range(by):
            rest = {v - (p[name] + plus) // by for v, p in zip(values, at, strict=True)}
            if len(rest) == 1:
                return Sym(
                    _sum({f"({name} + {plus})//{by}" if plus else f"{name}//{by}": 1, "": rest.pop()}),
                    values[0],
                )
    return None


def _sum(terms: dict[str, int]) -> str:
    parts = []
    for product, count in sorted(terms.items(), key=lambda item: item[0] == ""):
        if count:
            times = [] if product and abs(count) == 1 else [str(abs(count))]
            parts += ["-" if count < 0 else "+", "*".join([*times, *[product] * bool(product)])]
    text = " ".join(parts)
    return text.removeprefix("+ ") if not text.startswith("-") else f"0 {text}"


# --- sizes told by the inputs themselves ----------------------------------------------------------


class _Key(NamedTuple):
    """How a child of a container is reached: its place, key or field, and that as Python writes it."""

    key: Any
    told: str


def children(value: Any) -> list[tuple[_Key, Any]]:
    """(key, child) of each child of a container."""
    if isinstance(value, dict):
        return [(_Key(key, f"[{key!r}]"), item) for key, item in value.items()]
    node = NODES[kind_of(value)]
    if isinstance(value, (tuple, list)) or node.flatten_with_keys_fn is None:
        return [(_Key(i, f"[{i}]"), item) for i, item in enumerate(node.flatten_fn(value)[0])]
    keyed = node.flatten_with_keys_fn(value)[0]
    names = [getattr(key, "name", getattr(key, "key", i)) for i, (key, _) in enumerate(keyed)]
    return [(_Key(name, str(key)), item) for name, (key, item) in zip(names, keyed, strict=True)]


def _mapped(value: Any, leaf: _Leaf) -> Any:
    """`value` with leaf(it) for each leaf; containers of other types than dict and tuple become lists."""
    if kind_of(value) is None:
        return leaf(value)
    items = [(key.key, _mapped(item, leaf)) for key, item in children(value)]
    if isinstance(value, dict):
        return dict(items)
    return type(value)(item for _, item in items) if type(value) is tuple else [item for _, item in items]


def _by_name(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """Arguments by the names of forward's parameters, as dynamic_shapes names them."""
    forward = inspect.signature(module.forward if hasattr(module, "forward") else module)
    bound = forward.bind(*args, **(kwargs or {})).arguments
    found: dict[str, Any] = {}
    for name, value in bound.items():
        if forward.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            found |= value
        else:
            found[name] = value
    return found


@dataclass(eq=False)
class _IntWrapper:
    """A whole number among the inputs that a ShapesCollection can tell from others of the same value."""

    val: int


class ShapesCollection:
    """dynamic_shapes by the tensors themselves: `shapes[x] = {0: dim}` for each input that may change.

    AssertionError for what is no tensor, or for a second and different shape.
    """

    def __init__(self) -> None:
        self._shapes: dict[int, Any] = {}

    def __setitem__(self, t: Any, shape: Any) -> None:
        if not isinstance(t, (torch.Tensor, _IntWrapper)):
            raise AssertionError(f"Cannot assign shape to non-tensor type {type(t)}")
        known = self._shapes.setdefault(id(t), shape)
        if known != shape:
            raise AssertionError(f"Shapes assigned to input do not match: expected {known}, got {shape}")

    def __getitem__(self, t: Any) -> Any:
        return self._shapes.setdefault(id(t), {})

    def __len__(self) -> int:
        return len(self._shapes)

    def dynamic_shapes(self, m: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        """What `export(m, args, kwargs, dynamic_shapes=...)` takes. ValueError for tensors that are no
        arguments.
        """
        seen: set[int] = set()

        def shape(leaf: Any) -> Any:
            seen.add(id(leaf))
            return self._shapes.get(id(leaf))

        found = _mapped(_by_name(m, args, kwargs), shape)
        if self._shapes.keys() - seen:
            raise ValueError(
                "Some tensors that were assigned shapes were not found in args. "
                "Maybe such tensors were copied when passing them as args? "
                "Maybe such tensors are contained in classes that were not registered with pytree?"
            )
        return found


class AdditionalInputs:
    """dynamic_shapes by examples: a size that differs among the inputs may change, all others may not."""

    def __init__(self) -> None:
        self._examples: list[tuple[tuple[Any, ...], dict[str, Any] | None]] = []

    def add(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        """Further inputs that the program must take. AssertionError unless a tuple, and None or a dict."""
        if type(args) is not tuple:
            raise AssertionError(f"Representative args {args} must be a tuple")
        if kwargs is not None and type(kwargs) is not dict:
            raise AssertionError(f"Representative kwargs {kwargs} must be None or a dict")
        self._examples.append((args, kwargs))

    def dynamic_shapes(self, m: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        """What `export(m, args, kwargs, dynamic_shapes=...)` takes. ValueError for inputs that differ in more
        than their sizes.
        """
        whole = _by_name(m, args, kwargs)
        columns = [flatten(_by_name(m, *example))[0] for example in [(args, kwargs), *self._examples]]
        if len({len(column) for column in columns}) > 1:
            raise ValueError("The additional inputs have another structure than those of the export.")
        found = iter([_dynamism(values) for values in zip(*columns, strict=True)])
        return _mapped(whole, lambda leaf: next(found))

    def verify(self, ep: Any) -> None:
        """AssertionError where an exported program does not take one of the inputs."""
        from rushlight.export.program import Guards  # it imports this file

        check = Guards(ep)
        for args, kwargs in self._examples:
            leaves = flatten((args, kwargs or {}))[0]
            try:
                check(*leaves)
            except AssertionError as error:
                raise RuntimeError(_expected(check, args, kwargs, leaves, str(error))) from error


def _expected(check: Any, args: Any, kwargs: Any, leaves: list[Any], error: str) -> str:
    """A guard that does not hold, as what an input is expected to be; its own words where it is no size."""
    sizes = {
        f"{name}.size()[{d}]": (f"*{where}.shape[{d}]", size)
        for (name, *_), (where, leaf) in zip(check.inputs, _paths(args, kwargs), strict=True)
        for d, size in enumerate(getattr(leaf, "shape", ()))
    }
    found = re.fullmatch(r"Guard failed: (\S+) (==|>=|<=) (.+)", error)
    if found is None or found[1] not in sizes:
        return error
    (where, size), wanted = sizes[found[1]], str(sizes.get(found[3], (None, found[3]))[1])
    sign = "equal to" if found[2] == "==" else found[2]
    return f"Expected input at {where} to be {sign} {wanted}, but got {size}"


def _paths(args: Any, kwargs: Any) -> list[tuple[str, Any]]:
    """Each leaf with its path, as PyTorch shows it."""
    found = torch.utils._pytree.tree_flatten_with_path((args, kwargs or {}))[0]
    return [
        (f"{('args', 'kwargs')[path[0].idx]}{torch.utils._pytree.keystr(path[1:])}", leaf)
        for path, leaf in found
    ]


def _dynamism(values: Sequence[Any]) -> Any:
    """What one input's values in all examples say of its sizes."""
    first = values[0]
    if len({type(v) for v in values}) > 1 and not all(isinstance(v, torch.Tensor) for v in values):
        raise ValueError(
            "The following inputs were found to have differing types, so they cannot be marked as dynamic: "
            f"{tuple(values)}."
        )
    if isinstance(first, torch.Tensor):
        if len({v.dim() for v in values}) > 1:
            raise ValueError(
                f"Tensors of {sorted({v.dim() for v in values})} dims cannot be marked as dynamic."
            )
        return tuple(
            Dim.DYNAMIC if len(set(sizes)) > 1 else None
            for sizes in zip(*(v.shape for v in values), strict=True)
        )
    if any(v != first for v in values):
        if isinstance(first, int) and not isinstance(first, bool):
            return Dim.DYNAMIC
        raise ValueError(
            "The following inputs were found to have differing values, but they cannot be marked as dynamic: "
            f"{tuple(values)}."
        )
    return None
