"""Recording a call as a graph of aten ops.

compile()'s recorder hears arrays and kernels, after views are gone and a linear layer is a product and an
addition. An exported program is told in the program's own ops, so this listener stands one floor higher, in
the dispatcher, where autocast and profilers stand: it sees each public op with its arguments, and runs it.
Tensors are known by identity; nothing is replaced. What has no row (copies, fills, numbers that leave) comes
by TAPE, as to compile().
"""

from __future__ import annotations

import math
import operator
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from itertools import count
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten
from rushlight._engine.core.recording import TAPE
from rushlight._engine.dispatch import arguments, interpreters
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors import conversion, of_class
from rushlight._engine.tensors.geometry import Geometry
from rushlight._engine.trace.recorder import root
from rushlight.export import overloads
from rushlight.export._draft_export import FailureReport, FailureType
from rushlight.export.core import Lowering
from rushlight.export.errors import GuardOnDataDependentSymNode
from rushlight.export.numbers import python_functions
from rushlight.export.numbers.expressions import Known, Relation, number, parsed
from rushlight.export.numbers.symbolic import (
    SYMBOLIC,
    Numbers,
    SymBool,
    SymFloat,
    SymInt,
    any_symbolic,
    from_package,
    plain,
)
from rushlight.export.recording import real_tensors
from rushlight.export.recording.asked import changes, of_program, sizes_of
from rushlight.export.recording.made_of_numbers import MadeOfNumbers
from rushlight.export.recording.places import Places
from rushlight.export.recording.points import resized
from rushlight.export.recording.regions import Regions, noticed
from rushlight.export.recording.shape_rules import hangs_on_numbers, tell
from rushlight.export.recording.tape import Tape
from rushlight.export.spellings import interpolated
from rushlight.export.subgraphs import Frame, Subgraphs
from rushlight.export.symbols import Sym
from rushlight.fx.graph import Graph
from rushlight.fx.node import Node, map_aggregate

# Where bool() of a tensor passes through, whoever calls it.
_ASKING = frozenset((conversion.__file__, of_class.__file__, python_functions.__file__))


def _is_number(index: Any) -> bool:
    """Whether it is an integer tensor without dims, which cuts as its number does."""
    if not isinstance(index, torch.Tensor) or index.dim():
        return False
    return index.dtype not in (torch.bool, torch.uint8) and not index.is_floating_point()


def identifier(name: str) -> str:
    """A name of state as a part of names of nodes."""
    return re.sub(r"[^a-zA-Z0-9]", "_", name)


class Value:
    """What is known about a node's tensor: shape (with expressions where sizes change), dtype, strides."""

    def __init__(self, t: Any) -> None:
        self.shape: Any = torch.Size(t._geometry.shape)
        self.dtype, self.device, self.requires_grad = t.dtype, t.device, t.requires_grad
        self._stride = t.stride()

    def size(self, dim: int | None = None) -> Any:
        """The shape, or one of its numbers."""
        return self.shape if dim is None else self.shape[dim]

    def stride(self) -> Any:
        """The strides."""
        return self._stride

    def dim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"Value({self.dtype}[{', '.join(map(str, self.shape))}])"


class Listener(Subgraphs, Lowering, MadeOfNumbers, Places, Regions):
    """Writes a graph while a call runs. attributes: names of tensors that modules hold beside their state;
    opened(row, its overload): whether a composite row is told in the rows that it consists of. instead:
    functions in the place of overloads. failures: gets what else would be an error (of a draft).
    symbolic: whether the program gets sizes and numbers of tensors as symbolic numbers; else as those that
    `values` assigns to their symbols. ranges: bounds of the symbols of inputs' sizes. shapes: the shape of
    each recorded tensor, in expressions, where an earlier record has told. conditions: of each branch,
    whether its condition was a number that is the same in all calls. preserved: names of modules of whose
    calls it is noted what they are given.
    """

    hears_rows = True  # what a level of vmap or forward mode computes by formulas is to come as ops

    def __init__(
        self,
        module: Any,
        opened: Any = None,
        instead: Any = None,
        failures: Any = None,
        symbolic: bool = False,
        values: dict[str, int] | None = None,
        ranges: dict[str, Any] | None = None,
        shapes: list[Any] | None = None,
        conditions: list[bool] | None = None,
        preserved: Any = (),
    ) -> None:
        self.top = self.frame = Frame(Graph())
        # The functions that are being recorded, which the program hands to branches and loops.
        self.frames: list[Frame] = []
        self.symbolic, self.shapes = symbolic, shapes
        self.conditions: list[bool] = list(conditions or ())
        self.numbers = Numbers(self.graph, Known(ranges), values or {}, set(ranges or ()), self.place)
        if failures is not None or real_tensors.wanted():
            self.numbers.excused = self._excused
        self.numbers.argument = self.argument
        self.instead: dict[Any, Any] = instead or {}
        self.failures: list[FailureReport] | None = failures
        # Sizes in expressions, by tensor and dim.
        self.exprs: dict[int, dict[int, Any]] = {}
        # The numbers that tensors were asked for, with the tensors' versions.
        self.items: dict[int, tuple[int, Any]] = {}
        # Tensors of which only the size that hangs on data is told.
        self.counted: set[int] = set()
        self.kept: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.depth = 0
        # The ops that are being told in the rows that they consist of, outermost first.
        self.within: list[str] = []
        self.decomposes = opened is not None
        self.core = bool(getattr(opened, "core", False))
        self.opened = opened or (lambda row, found: found is None)
        self._begin(module, preserved)
        held = [
            (f"{p}.{n}".lstrip("."), t)
            for p, m in module.named_modules()
            for n, t in m.__dict__.items()
            if isinstance(t, torch.Tensor)
        ]
        self.attributes = {id(t): name for name, t in held}
        self.other_names = [(name, t) for name, t in held if self.attributes[id(t)] != name]

    described = Value

    @property
    def graph(self) -> Graph:
        """The graph that is being written."""
        return self.frame.graph

    @property
    def known(self) -> dict[int, Node]:
        """The nodes of its tensors."""
        return self.frame.known

    @property
    def memory(self) -> dict[int, list[Any]]:
        """Its tensors, by the memory that they lie in."""
        return self.frame.memory

    @property
    def order(self) -> list[Node]:
        """What is recorded in it of tensors, in order."""
        return self.frame.order

    # --- the dispatcher --------------------------------------------------------------------------------

    def run(self, row: Any, call: Any, args: Any, kwargs: Any) -> Any:
        """An op: recorded, and run."""
        out, extra = kwargs.get("out"), {"out", "inplace"} - {p.name for p in row.params}
        bound = arguments.bind(row, args, {k: v for k, v in kwargs.items() if k not in extra})
        writes = bool(getattr(call, "writes", False)) or kwargs.get("inplace") is True
        resampled = row.name == "interpolate" and self.symbolic
        found = overloads.chosen(row, interpolated(bound, self.sizes) if resampled else bound, writes)
        if self.instead and found is not None and found[0] in self.instead:
            return interpreters.within(self, self.instead[found[0]], tuple(found[1]), found[2])
        result: Any = NotImplemented
        counts = False
        if out is None and self.opens(row, found):
            self.within.append(overloads.aten_name(row))
            since = len(self.order)
            try:
                lowers = (self.core or found is None) and not writes
                result = self.lowered(row, bound) if lowers else NotImplemented
                if result is NotImplemented and row.kind == "composite":
                    result = interpreters.within(self, call, args, kwargs)
            finally:
                self.within.pop()
        if result is not NotImplemented and not (found is not None and self.unknown(since)):
            if all(id(t) in self.known for t in flatten(result)[0] if isinstance(t, torch.Tensor)):
                return result
            # Its body works on arrays, in part: it is told as one op.
        else:
            self.depth += 1
            try:
                if any_symbolic(args) or any_symbolic(kwargs.values()):
                    result = call(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})
                else:
                    result = call(*args, **kwargs)
            finally:
                self.depth -= 1
            counts = out is None and self._hangs_on_data(row.name, bound)
            if counts:
                result = self._counted(row.name, bound, result)
        if found is None:
            defaults = {p.name: p.default for p in row.params}
            found = overloads.own(row), [], {k: v for k, v in bound.items() if v is not defaults[k]}
        if found[0] == overloads.named("torch.ops.aten.to.dtype"):
            if not self.decomposes:
                self._assert_metadata(found[1][0])
            else:
                made = overloads.anyone("_to_copy.default")
                found = made, found[1][:1], {"dtype": found[1][1]}
        node = self.record(found[0], found[1], found[2], result)
        if counts:
            self._counts(row.name, bound, node, result)
        return result

    # --- numbers that data decide ---------------------------------------------------------------

    def _hangs_on_data(self, name: str, bound: dict[str, Any]) -> bool:
        """Whether a result is as large as data says."""
        if name in _COUNTED:
            return _hangs_on_data(name, tuple(bound.values()))
        if name != "slice" or self.frames or not self.numbers.unbacked:
            return False
        return self.as_first(lambda: hangs_on_numbers(self, *bound.values()))

    def as_first(self, decides: Any) -> bool:
        """What decides() says in the record that tells; in others the same."""
        if self.symbolic:
            self.conditions.append(bool(decides()))
            return self.conditions[-1]
        return self.conditions.pop(0) if self.conditions else bool(decides())

    def _counted(self, name: str, bound: dict[str, Any], result: Any) -> Any:
        """A result whose size hangs on data, at the size that is assigned to its symbol."""
        args = tuple(bound.values())
        assigned = self.numbers.values.get(f"u{self.numbers.count('u')}")
        several = result if isinstance(result, (tuple, list)) else (result,)
        dim = _place_of_count(name, args)
        if assigned is None or assigned == several[0].shape[dim]:
            return result
        still = _of_the_input(bound)
        changed = [t if i == still else resized(t, dim, assigned) for i, t in enumerate(several)]
        return type(result)(changed) if several is result else changed[0]

    def _counts(self, name: str, bound: Any, node: Node, result: Any) -> None:
        """A symbol for a size that hangs on data."""
        args = tuple(bound.values())
        several = isinstance(result, (tuple, list))
        first = result[0] if several else result
        holder = self.known[id(first)]
        dim = _place_of_count(name, args)
        expr = self.numbers.fresh("u", int(first.shape[dim]), holder, dim)
        (own,) = expr.free()
        source = next(a for a in args if isinstance(a, torch.Tensor))
        told = self.exprs.get(id(source), {})
        sure = told or "leaf" in self.node(source).meta or not self.numbers.backed
        still = not any(isinstance(n, Sym) for n in getattr(self.node(source).meta["val"], "shape", ()))
        most: Any = 1 if sure and (told or still) else math.inf
        for d, n in enumerate(source._geometry.shape):
            most *= told[d].bounds(self.numbers.known.ranges)[1] if d in told else n
        most = most if math.isinf(most) else int(most)
        self.numbers.known.ranges.setdefault(own, (0, most))
        self.numbers.backed.discard(own)
        for i, t in enumerate(result if several else (result,)):
            if i != _of_the_input(bound):
                self.exprs[id(t)] = (dict(told) if name == "slice" else {}) | {dim: expr}
                if t.dim() > 1 and name not in ("nonzero", "_nonzero", "slice"):
                    self.counted.add(id(t))
                else:
                    self.node(t).meta["told"] = sizes_of(self, t)

    def _excused(self, what: str, where: str) -> None:
        if self.failures is None:
            return
        kind = FailureType.DATA_DEPENDENT_ERROR
        for known in self.failures:  # one at each place of the program
            if known.failure_type is kind and known.data["user_stack"] == where:
                known.data["occurrences"] += 1
                return
        told = {"expr": what, "user_stack": where, "occurrences": 1}
        self.failures.append(FailureReport(kind, told))

    def number(self, t: Any) -> Any:
        """The one element of a tensor, for Python."""
        if self.depth or self._is_constant(t):
            return t._array.item()
        inner = any(id(t) in frame.known for frame in self.frames)  # what a loop carries is another each time
        told = None if inner else self.items.get(id(t))
        if told is not None and told[0] == t._version:
            return told[1]
        value = t._array.item()
        kind = "zuf" if isinstance(value, float) else "u"
        node = self.record(overloads.named("torch.ops.aten.item.default"), (t,), {}, None)
        name = f"{kind}{self.numbers.count(kind)}"
        given = self.numbers.values.get(name, int(value) if kind == "u" else value)
        expr = self.numbers.fresh(kind, given, node)
        node.meta["numbers"] = name
        made: Any = type(value)(given)
        if self.symbolic:
            if isinstance(value, bool):
                self.numbers.natural[name] = self.numbers.known.ranges[name] = 0, 1
                made = SymBool(made, self.numbers, Relation("==", expr, number(1)), node)
            else:
                made = (SymInt if kind == "u" else SymFloat).of(given, self.numbers, expr, node)
            node.meta["val"] = made
        if not self.frames:
            self.items[id(t)] = t._version, made
        return made

    def branch(self, t: Any) -> bool:
        """Whether the one element of a tensor is not zero, for a program that goes on by it."""
        if self.depth or from_package(3, _ASKING) or self._is_constant(t):
            return bool(t._array.item())
        found = self.number(t if t.dtype == torch.bool else torch.ne(t, 0))
        if not isinstance(found, SymBool):
            return bool(found)
        try:
            return self.numbers.decide(found.relation, found.value)
        except GuardOnDataDependentSymNode as error:
            error.of_tensor = True
            raise

    def _is_constant(self, t: Any) -> bool:
        """Whether a tensor is one that the program makes of Python's numbers."""
        node = self.known.get(id(t)) if self.frames else self.node(t)
        return node is not None and "fixed" in node.meta and node.meta["fixed"] == t._version

    def is_constant(self, condition: Any) -> bool:
        """Whether a branch's condition is the same in all calls."""
        return self.as_first(lambda: isinstance(condition, bool))

    def sizes(self, t: Any) -> Any:
        """The sizes of a tensor, symbolic where they may change."""
        found = tuple(t._geometry.shape)
        known = dict(self.exprs.get(id(t), {}))
        node = self.known.get(id(t))
        if self.frames:
            pass  # how sizes inside of functions change is not told
        elif self.shapes is not None and node is not None and node.meta.get("nr", -1) < len(self.shapes):
            for d, n in enumerate(self.shapes[node.meta["nr"]] or ()):
                if isinstance(n, Sym):
                    known.setdefault(d, parsed(n.expression))
        elif id(t) not in self.exprs and getattr(node, "op", "") != "placeholder":
            self.numbers.unknown = self.numbers.unknown or bool(self.numbers.backed or self.numbers.unbacked)
        if not known:
            return torch.Size(found)
        made = [self._sized(known[d], n) if d in known else n for d, n in enumerate(found)]
        return tuple.__new__(torch.Size, made)

    def input(self, value: Any, expr: Any, leaf: int) -> Any:
        """An input that is a number, symbolic for a program that gets it so."""
        node = next(n for n in self.order if n.meta.get("leaf") == leaf)
        node.meta["val"] = made = SymInt.of(value, self.numbers, expr, node)
        return made if self.symbolic else value

    def _sized(self, expr: Any, size: int) -> Any:
        if expr.constant is not None:
            return size
        return SymInt.of(size, self.numbers, expr, self.numbers.nodes(expr))

    # --- rows that are no ops of PyTorch's ----------------------------------------------------------

    def indexing(self, run: Any, t: Any, index: Any, *value: Any) -> Any:
        """Brackets: numbers and slices in rows, as they were written: what they are cut to depends on
        sizes.
        """
        items = tuple(map(self._bounded, index if isinstance(index, tuple) else (index,)))
        if value and self.as_first(lambda: any_symbolic(items)):
            part = self._cut(t, items)
            return part.copy_(value[0]) if isinstance(value[0], torch.Tensor) else part.fill_(value[0])
        if (
            value
            or not all(
                i is None or i is ... or type(i) in (int, slice, SymInt) or _is_number(i) for i in items
            )
            or sum(i is ... for i in items) > 1
        ):
            return run(t, index, *value)
        if self.decomposes or not of_program():
            return self._cut(t, items)
        if not isinstance(index, tuple) and items[0] == slice(None) and t.dim():
            return ROWS["slice"](t, 0, 0, sys.maxsize, 1)
        if self.as_first(lambda: any_symbolic(items)):
            return self._cut(t, items, None, True)
        found = self._cut(t, items, lambda part, dim: self.as_first(lambda: changes(self, part, dim)))
        return (
            found if found is not t else self.told(overloads.named("torch.ops.aten.alias.default"), (t,), {})
        )

    def _cut(
        self,
        t: Any,
        items: tuple[Any, ...],
        whole: Callable[[Any, int], bool] | None = None,
        as_written: bool = False,
    ) -> Any:
        """The part of a tensor that brackets give. whole(part, dim): whether a slice of all is told.
        as_written: bounds that are not written are not told, as in PyTorch where others are symbolic.
        """
        missing = t.dim() - sum(i is not None and i is not ... for i in items)
        at = next((place for place, i in enumerate(items) if i is ...), len(items))
        found, dim = t, 0
        for place, item in enumerate((*items[:at], *[slice(None)] * missing, *items[at + 1 :])):
            between = at <= place < at + missing  # what nothing is said of
            if item is None:
                found = ROWS["unsqueeze"](found, dim)
            elif type(item) in (int, SymInt):
                found, dim = ROWS["select"](found, dim, item), dim - 1
            elif isinstance(item, torch.Tensor):  # its number is not known: an index tensor without dims
                found, dim = ROWS["index"](found, (None,) * dim + (item,)), dim - 1
            elif item != slice(None) or (not between and whole is not None and whole(found, dim)):
                end = sys.maxsize if item.stop is None and not as_written else item.stop
                start = item.start if as_written else item.start or 0
                found = ROWS["slice"](found, dim, start, end, item.step or 1)
            dim += 1
        return found

    def _bounded(self, item: Any) -> Any:
        """A slice whose bounds are numbers, where they are tensors of one."""
        if not isinstance(item, slice) or not any(
            isinstance(n, torch.Tensor) for n in (item.start, item.stop, item.step)
        ):
            return item
        bounds = (item.start, item.stop, item.step)
        return slice(*[self.number(n) if isinstance(n, torch.Tensor) else n for n in bounds])

    def record(self, target: Any, args: Any, kwargs: Any, result: Any) -> Node:
        """A node for target(*args, **kwargs)."""
        if self.numbers.unbacked and self.symbolic and target in _sized():
            self._not_negative(args)
        given = tuple(args), kwargs
        args, kwargs = map_aggregate(given, self.argument)
        node = self.graph.call_function(target, args, kwargs, name=overloads.plain(target))
        node.meta.update(self.place(), op=(*self.within, overloads.plain(target))[0], nr=len(self.order))
        self.order.append(node)
        if isinstance(result, torch.Tensor) and len(target._schema.returns) > 1:
            result = (result,)  # the first of the op's results is all that was asked for
        if isinstance(result, torch.Tensor):
            self.knows(result, node)
        elif isinstance(result, (tuple, list)):
            self._items(result, node)
        if self.symbolic and not self.frames and (self.numbers.backed or self.numbers.unbacked):
            tell(self, target, *given, result)
        return node

    def _items(self, results: Any, node: Node) -> None:
        """Nodes for the items of an op's results."""
        node.meta["results"], told = len(results), []
        for i, item in enumerate(results):
            if isinstance(item, (torch.Tensor, tuple, list)):
                part = self.graph.call_function(operator.getitem, (node, i))
                own = {k: v for k, v in node.meta.items() if k not in ("results", "val")}
                part.meta.update(own, nr=len(self.order))
                self.order.append(part)
                if isinstance(item, torch.Tensor):
                    self.knows(item, part)
                else:
                    self._items(item, part)
                told.append(part.meta["val"])
            else:
                told.append(item)
        node.meta["val"] = type(results)(told) if type(results) in (tuple, list) else tuple(told)

    def _not_negative(self, args: Any) -> None:
        """Numbers of tensors that become sizes are no negative ones."""
        for value in args:
            for n in value if isinstance(value, (list, tuple)) else ():
                if type(n) is SymInt and not n.expr.free() <= self.numbers.backed:
                    relation = Relation(">=", n.expr, number(0))
                    if self.numbers.known.holds(relation) is None:
                        self.numbers.check(relation, True, None)

    def placeholder(self, name: str) -> Node:
        """An input, called so even where Python has something of that name."""
        node = self.graph.placeholder(name)
        node.name = name
        node.meta["nr"] = len(self.order)
        self.order.append(node)
        return node

    def knows(self, t: Any, node: Node) -> None:
        """`node` is the tensor from here on."""
        self.known[id(t)] = node
        self.kept.append(t)
        memory = id(root(t._memory))
        self.memory.setdefault(memory, []).append(t)
        node.meta.setdefault("val", Value(t))
        node.meta.setdefault("memory", memory)  # which tensors lie in the same

    def argument(self, value: Any) -> Any:
        """A tensor or a symbolic number as its node; everything else as it is."""
        if isinstance(value, SYMBOLIC):
            outside = self.frames and getattr(value.written, "graph", None) is not self.graph
            return self.capture(value) if outside else value.written
        return self.node(value) if isinstance(value, torch.Tensor) else value

    def node(self, t: Any) -> Node:
        """The node of a tensor: of one that lies in the same way in the same memory, or of a constant."""
        if id(t) in self.known:
            return self.known[id(t)]
        for other in reversed(self.memory.get(id(root(t._memory)), ())):
            if (other.shape, other.stride(), other.data_ptr(), other.dtype) == (
                t.shape,
                t.stride(),
                t.data_ptr(),
                t.dtype,
            ):
                self.kept.append(t)
                self.known[id(t)] = self.known[id(other)]
                return self.known[id(other)]
        return self.capture(t) if self.frames else self._constant(t)

    def _constant(self, t: Any) -> Node:
        own = self.attributes.get(id(t))
        taken = {n.target for n in self.graph.nodes if n.op == "placeholder"}
        name = own or next(n for n in (f"lifted_tensor_{i}" for i in count()) if f"c_{n}" not in taken)
        with self.paused():
            copied = t.detach().clone() if own is None else t
            self.constants[name] = copied.detach() if copied.requires_grad else copied
        held = next((n for n in self.graph.nodes if n.op != "placeholder" or "leaf" in n.meta), None)
        with self.graph.inserting_before(held) if held is not None else nullcontext():
            node = self.placeholder(f"c_{identifier(name)}")
        node.meta["val"], node.meta["constant"] = Value(t), name
        self.knows(t, node)
        if own is None:
            copied = self.record(overloads.named("torch.ops.aten.lift_fresh_copy.default"), (t,), {}, t)
            self.known[id(t)] = self.graph.call_function(
                overloads.named("torch.ops.aten.detach_.default"), (copied,), name="detach_"
            )
            self.known[id(t)].meta.update(copied.meta, fixed=t._version, nr=len(self.order))
            self.order.append(self.known[id(t)])
        return self.known[id(t)]


_COUNTED = frozenset(
    ("nonzero", "_nonzero", "masked_select", "index", "unique", "unique_consecutive", "repeat_interleave")
)


@lru_cache(None)
def _sized() -> frozenset[Any]:
    """The ops that take sizes of their results."""
    names = "zeros ones full empty rand randn view reshape expand new_zeros new_ones new_full new_empty"
    return frozenset(found for name in names.split() for found in overloads.overloads(name).values())


def _hangs_on_data(name: str, args: Any) -> bool:
    """Whether an op's result has as many elements as data says."""
    if name == "index":
        return any(i is not None and i.dtype in (torch.bool, torch.uint8) for i in _indices(args))
    if name == "repeat_interleave":
        return any(isinstance(a, torch.Tensor) for a in args[1:2])
    return True


def _of_the_input(bound: dict[str, Any]) -> int | None:
    """Which of unique's results is as large as its input: where each element went."""
    return 1 if bound.get("return_inverse") else None


def _indices(args: Any) -> list[Any]:
    index = args[1] if isinstance(args[1], (tuple, list)) else (args[1],)
    return [i if isinstance(i, torch.Tensor) else None for i in index]


def _place_of_count(name: str, args: Any) -> int:
    """Which dim that is."""
    if name == "index":
        return next(d for d, i in enumerate(_indices(args)) if i is not None)
    if name == "slice":
        dims: int = args[0].dim()
        return int(args[1]) % dims
    if name == "repeat_interleave" and len(args) > 2 and isinstance(args[2], int):
        return args[2]
    return 0


# What is replaced in classes meanwhile is so for all threads: they record one after the other.
_ALONE = threading.RLock()


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """The listener in this thread's dispatcher."""
    with _ALONE if listener.symbolic else nullcontext(), _heard(listener):
        yield


@contextmanager
def _heard(listener: Listener) -> Iterator[None]:
    tape = Tape(listener)
    interpreters.push(listener)
    TAPE.append(tape)
    before = [(name, torch.Tensor.__dict__.get(name)) for name in _SIZED]
    if listener.symbolic:
        for name, made in _SIZED.items():
            setattr(torch.Tensor, name, made(listener))
    run = torch.nn.Module.__call__
    module: Any = torch.nn.Module
    if listener.symbolic:
        module.__call__ = _module_call(listener, run)
    try:
        with python_functions.replaced(), noticed(listener):
            yield
    finally:
        module.__call__, listener.call = run, (None, ("", ""))
        for name, own in before if listener.symbolic else ():
            if own is None:
                delattr(torch.Tensor, name)
            else:
                setattr(torch.Tensor, name, own)
        TAPE.remove(tape)
        interpreters.pop(listener)


def listens(listener: Listener) -> bool:
    """Whether it is this thread's, and no op is running."""
    return not listener.depth and listener in interpreters.STACK.modes


def _module_call(listener: Listener, run: Any) -> Any:
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        """The module's call."""
        if listener in interpreters.STACK.modes:
            return listener.call_module(self, run, args, kwargs)
        return run(self, *args, **kwargs)

    return __call__


def _shape(listener: Listener) -> Any:
    own: Any = torch.Tensor.shape

    def shape(self: Any) -> Any:
        if not listens(listener) or from_package():
            return own.__get__(self)
        return listener.sizes(self)

    return property(shape, doc=own.__doc__)


def _size(listener: Listener) -> Any:
    own: Any = Geometry.size

    def size(self: Any, dim: Any = None) -> Any:
        """All sizes, or the size of one dim."""
        found = own(self, dim)
        if not listens(listener) or from_package():
            return found
        whole = listener.sizes(self)
        return whole if dim is None else whole[dim]

    return size


def _numel(listener: Listener) -> Any:
    own: Any = Geometry.numel

    def numel(self: Any) -> Any:
        """The number of elements."""
        if not listens(listener) or from_package():
            return own(self)
        found: Any = 1
        for n in listener.sizes(self):
            found = found * n
        return found

    return numel


_SIZED = {"shape": _shape, "size": _size, "numel": _numel}
