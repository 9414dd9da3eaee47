"""What can be told of a program's tensors before it runs: sizes, dtypes, devices.

No op has a rule of its own. A node is run on meta tensors, several times: a size that is not known is a
symbol, and a symbol is another number in each run. What comes out the same in all runs is known; a size that
is in each run what a symbol is there is that symbol; any other is a new one.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import rushlight as torch
from rushlight.jit.program.execute import runner
from rushlight.jit.program.graphs import Graph
from rushlight.jit.program.graphtypes import new_symbol
from rushlight.jit.program.ir import Block, Example, Function, Node, Value, walk
from rushlight.jit.program.memory import written_arguments
from rushlight.jit.program.resolve import resolve
from rushlight.jit.program.types import TENSOR, Type

UNKNOWN: Any = object()
_FAILED: Any = object()
_SAME, _OTHER, _RUNS, _FIRST_OWN = 6, 10, 11, 3
_PRIMES = (11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89)
# Ops whose result's sizes are a list that they are given, whatever the tensor is.
_SIZED = ("aten::view", "aten::reshape")
_SIMPLE = tuple(f"aten::{name}" for name in "add sub mul div rsub eq ne lt le gt ge atan2 pow".split())


@dataclass
class Symbol:
    """A number that is not known."""

    number: int


@dataclass
class Shapes:
    """Finds out about the values of one program; `facets`: the fields of Example that are written."""

    facets: tuple[str, ...]
    known: dict[Value, Any] = field(default_factory=dict)  # of what is no tensor
    runs: dict[int, tuple[int, ...]] = field(default_factory=dict)  # what a symbol is in each run

    def symbol(self, number: int) -> tuple[int, ...]:
        """The numbers that stand for a symbol, one for each run."""
        if number not in self.runs:
            place = len(self.runs)
            own = [1 if run == place else _SAME for run in range(_RUNS - _FIRST_OWN)]
            prime = _PRIMES[place % len(_PRIMES)]
            self.runs[number] = (_SAME, _OTHER, prime, *own)
        return self.runs[number]

    # --- a program ------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        """All nodes of a block, in order."""
        for node in block.nodes:
            self.node(node)

    def node(self, node: Node) -> None:
        """What a node gives."""
        told = STRUCTURE.get(node.kind)
        if told is not None:
            told(self, node)
        else:
            resolve(node)
            self.op(node)

    def of(self, value: Value) -> Any:
        """What is known of a value: an Example, a Symbol, a number, a list of these, UNKNOWN."""
        if value.type == TENSOR:
            return value.example or Example()
        if value.type.kind == "NoneType":
            return None
        if value not in self.known and value.type.kind == "int":
            self.known[value] = Symbol(new_symbol())
            self.symbol(self.known[value].number)
        if value.type.kind == "List" and _changes(value):
            return UNKNOWN
        return self.known.get(value, UNKNOWN)

    def set(self, value: Value, found: Any) -> None:
        """Note what a value is known to be."""
        if value.type == TENSOR:
            if isinstance(found, Example):
                before = value.example or Example()
                value.example = replace(before, **{name: getattr(found, name) for name in self.facets})
        elif isinstance(found, Example) or found is not UNKNOWN:  # Optional[Tensor]
            self.known[value] = found

    # --- an op ----------------------------------------------------------------------------------

    def op(self, node: Node) -> None:
        """A node that can be run on its own."""
        inputs = [self.of(v) for v in node.inputs]
        if node.schema is None or node.blocks or node.attrs.get("function") is not None:
            return
        found = self.given(node, inputs)
        if found is None:
            found = self.run(node, inputs)
        if found is None:
            return
        for value, one in zip(node.outputs, found, strict=True):
            self.set(value, self.gradient(node, inputs, one))

    def given(self, node: Node, inputs: list[Any]) -> list[Any] | None:
        """A result whose sizes are known although its input's are not."""
        first = inputs[0] if inputs else None
        if not isinstance(first, Example):
            return None
        if node.kind in _SIZED and first.sizes is None and isinstance(inputs[1], list):
            sizes = [n.number if isinstance(n, Symbol) else n for n in inputs[1]]
            if -1 not in sizes:
                return [replace(first, sizes=tuple(sizes), strides=None)]
        writes = node.kind.endswith("_") and first.sizes is not None and node.kind != "aten::resize_"
        if writes and any(isinstance(one, Example) and one.sizes is None for one in inputs[1:]):
            return [first]
        return None

    def run(self, node: Node, inputs: list[Any]) -> list[Any] | None:
        """What a node gives, by running it; None where it cannot be known."""
        if any(map(_opaque, inputs)) or ("sizes" in self.facets and any(map(_untyped, inputs))):
            inputs = [_typed(one) for one in inputs]
        if any(map(_opaque, inputs)):
            return None
        symbols = sorted({n for one in inputs for n in _symbols(one)}, reverse=True)
        for number in symbols:
            self.symbol(number)
        program, results = _alone(node), []
        for run in range(_RUNS if symbols else 1):
            with warnings.catch_warnings(), torch.no_grad(), torch.random.fork_rng(devices=[]):
                warnings.simplefilter("ignore")
                try:
                    found = program(*(self.instance(one, run) for one in inputs))
                except Exception:  # these numbers do not fit
                    results.append(_FAILED)
                    continue
            results.append(found if len(node.outputs) != 1 else (found,))
        good = [run for run, found in enumerate(results) if found is not _FAILED]
        if not good or any(len(results[run]) != len(node.outputs) for run in good):
            return None
        parts = [[results[run][i] for run in good] for i in range(len(node.outputs))]
        return [self.merged(part, good, bool(symbols), inputs) for part in parts]

    def instance(self, known: Any, run: int) -> Any:
        """What is known of a value as a value, in one of the runs."""
        if isinstance(known, Symbol):
            return self.symbol(known.number)[run]
        if isinstance(known, (list, tuple)):
            return type(known)(self.instance(one, run) for one in known)
        if not isinstance(known, Example):
            return known
        sizes = [self.symbol(n)[run] if n < 0 else n for n in known.sizes or ()]
        if known.strides is not None:
            return torch.empty_strided(sizes, known.strides, dtype=known.dtype, device="meta")
        return torch.empty(sizes, dtype=known.dtype, device="meta")

    def merged(self, found: list[Any], good: list[int], symbolic: bool, inputs: list[Any]) -> Any:
        """What is known of what came out in those runs that worked."""
        first = found[0]
        if isinstance(first, torch.Tensor):
            if len({one.dim() for one in found}) != 1:
                return Example(dtype=first.dtype)
            sizes = tuple(
                self.number([one.size(i) for one in found], good, symbolic) for i in range(first.dim())
            )
            fixed = min(sizes, default=0) >= 0
            device = next((one.device for one in inputs if isinstance(one, Example) and one.device), None)
            return Example(first.dtype, sizes, first.stride() if fixed else None, device)
        if isinstance(first, bool) or first is None or not isinstance(first, (int, list, tuple)):
            return UNKNOWN if symbolic or isinstance(first, float) else first
        if isinstance(first, int):
            number = self.number(found, good, symbolic)
            return Symbol(number) if number < 0 and first >= 0 else first
        if len({len(one) for one in found}) != 1:
            return UNKNOWN
        parts = zip(*found, strict=True)
        return [self.merged(list(part), good, symbolic, inputs) for part in parts]

    def number(self, found: list[int], good: list[int], symbolic: bool) -> int:
        """A size: itself where it is always the same, else the symbol that it is, or a new one."""
        if not symbolic or (len(set(found)) == 1 and 1 in good) or (len(set(found)) == 1 and 2 in good):
            return found[0]
        for number, values in self.runs.items():
            if [values[run] for run in good] == found:
                return number
        made = new_symbol()
        observed = list(self.symbol(made))
        for run, one in zip(good, found, strict=True):
            observed[run] = one
        self.runs[made] = tuple(observed)
        return made

    def gradient(self, node: Node, inputs: list[Any], found: Any) -> Any:
        """The same, with what is known of its gradient and of its dtype."""
        tensors = [one for one in inputs if isinstance(one, Example)]
        if not isinstance(found, Example):
            return found
        if any(one.dtype is None for one in tensors):
            found = replace(found, dtype=None)
        if any(one.device is None for one in tensors):
            found = replace(found, device=None)
        if not tensors:
            names = [p.name for p in node.schema.parameters]
            place = names.index("device") if "device" in names else -1
            asked = inputs[place] if place >= 0 else UNKNOWN
            device = torch.device("cpu") if asked is None else asked
            return replace(found, device=device if isinstance(device, torch.device) else None)
        none = tensors[0].requires_grad is not False or (node.kind in _SIMPLE and len(tensors) > 1)
        return replace(found, requires_grad=None if none else False)


def _changes(value: Value) -> bool:
    """Whether the program writes to a list."""
    return any(value in written_arguments(user) for user, _ in value.uses)


def _opaque(known: Any) -> bool:
    """Whether nothing stands for it in a run."""
    if isinstance(known, (list, tuple)):
        return any(map(_opaque, known))
    return known is UNKNOWN or (isinstance(known, Example) and (known.sizes is None or known.dtype is None))


def _untyped(known: Any) -> bool:
    return isinstance(known, Example) and known.dtype is None


def _typed(known: Any) -> Any:
    """The same with a dtype: where only sizes are asked for, any will do."""
    if isinstance(known, (list, tuple)):
        return type(known)(map(_typed, known))
    return replace(known, dtype=torch.get_default_dtype()) if _untyped(known) else known


def _symbols(known: Any) -> Iterable[int]:
    if isinstance(known, Symbol):
        yield known.number
    elif isinstance(known, Example):
        yield from (n for n in known.sizes or () if n < 0)
    elif isinstance(known, (list, tuple)):
        yield from itertools.chain.from_iterable(map(_symbols, known))


def _alone(node: Node) -> Callable[..., Any]:
    """A node as a function of its inputs."""
    made = Function("__torch__.known", [], None)
    params = [made.block.param(v.type) for v in node.inputs]
    kinds = [v.type for v in node.outputs]
    attrs = dict(node.attrs)
    copied = made.block.add(node.kind, params, kinds, schema=node.schema, place=node.place, **attrs)
    results = copied.outputs
    if len(results) != 1:
        kind = Type("Tuple", tuple(kinds))
        results = [made.block.add("prim::TupleConstruct", results, [kind]).output]
    made.block.finish(results)
    return runner(made)


# --- nodes of the program's structure -----------------------------------------------------------


def _constant(shapes: Shapes, node: Node) -> None:
    value = node.attrs.get("value")
    if isinstance(value, torch.Tensor):
        strides = tuple(value.stride())
        known = Example(value.dtype, tuple(value.shape), strides, value.device, value.requires_grad)
        shapes.set(node.output, known)
        node.output.example = known
    else:
        shapes.set(node.output, list(value) if isinstance(value, list) else value)


def _list(shapes: Shapes, node: Node) -> None:
    shapes.set(node.output, [shapes.of(v) for v in node.inputs])


def _unpack(shapes: Shapes, node: Node) -> None:
    whole = shapes.of(node.inputs[0])
    if isinstance(whole, (list, tuple)) and len(whole) == len(node.outputs):
        for value, known in zip(node.outputs, whole, strict=True):
            shapes.set(value, known)


def _index(shapes: Shapes, node: Node) -> None:
    whole, place = (shapes.of(v) for v in node.inputs)
    if isinstance(whole, (list, tuple)) and isinstance(place, int) and -len(whole) <= place < len(whole):
        shapes.set(node.output, whole[place])


def _same(shapes: Shapes, node: Node) -> None:
    shapes.set(node.output, shapes.of(node.inputs[0]))


def _if(shapes: Shapes, node: Node) -> None:
    for inner in node.blocks:
        shapes.block(inner)
    for i, value in enumerate(node.outputs):
        pair = [shapes.of(inner.ending.inputs[i]) for inner in node.blocks]
        if all(isinstance(one, Example) for one in pair):
            shapes.set(value, joined(pair[0], pair[1]))
        elif pair[0] == pair[1]:
            shapes.set(value, pair[0])


def _loop(shapes: Shapes, node: Node) -> None:
    """What is carried is what it is before the loop and at the end of each round."""
    (inner,) = node.blocks
    carried = inner.params if node.attrs.get("while") else inner.params[1:]
    handed = node.inputs[len(node.inputs) - len(carried) :] if carried else []
    given = inner.ending.inputs[len(inner.ending.inputs) - len(carried) :] if carried else []
    for value, first in zip(carried, handed, strict=True):
        if value.type == TENSOR:
            value.example = first.example
    for _ in range(3):
        shapes.block(inner)
        before = [value.example for value in carried]
        for value, last in zip(carried, given, strict=True):
            if value.type == TENSOR:
                value.example = joined(value.example or Example(), last.example or Example())
        if [value.example for value in carried] == before:
            break
    shapes.block(inner)
    for out, value in zip(node.outputs, carried, strict=True):
        if out.type == TENSOR:
            out.example = value.example


def joined(one: Example, other: Example) -> Example:
    """What is known of a tensor that is one or the other."""
    sizes = None
    if one.sizes is not None and other.sizes is not None and len(one.sizes) == len(other.sizes):
        pairs = zip(one.sizes, other.sizes, strict=True)
        sizes = tuple(a if a == b else new_symbol() for a, b in pairs)

    def agreed(name: str) -> Any:
        return getattr(one, name) if getattr(one, name) == getattr(other, name) else None

    return Example(agreed("dtype"), sizes, agreed("strides"), agreed("device"), agreed("requires_grad"))


STRUCTURE: dict[str, Callable[[Shapes, Node], None]] = {
    "prim::Constant": _constant,
    "prim::ListConstruct": _list,
    "prim::TupleConstruct": _list,
    "prim::TupleUnpack": _unpack,
    "prim::ListUnpack": _unpack,
    "prim::TupleIndex": _index,
    "prim::unchecked_cast": _same,
    "prim::If": _if,
    "prim::Loop": _loop,
}
_ALL = ("dtype", "sizes", "strides", "device", "requires_grad")


def propagate_shapes(graph: Graph) -> None:
    """Write down the sizes of all tensors whose sizes follow from those of the inputs."""
    Shapes(("sizes",)).block(graph._function.block)
    graph.edited()


def propagate_dtype(graph: Graph) -> bool:
    """Write down the dtypes of all tensors whose dtype follows from those of the inputs."""
    before = [v.example for v in _tensors(graph._function.block)]
    Shapes(("dtype",)).block(graph._function.block)
    graph.edited()
    return before != [v.example for v in _tensors(graph._function.block)]


def _tensors(block: Block) -> list[Value]:
    return [v for node in walk(block) for v in node.outputs if v.type == TENSOR]


def complete(graph: Graph, inputs: Sequence[Any], with_grad: bool = False) -> None:
    """Write down all that is known of all tensors when the program is called with these arguments."""
    _start(graph, inputs, True)
    Shapes(_ALL).block(graph._function.block)
    graph.edited()


def partly(graph: Graph, inputs: Sequence[Any], with_grad: bool = False) -> Graph:
    """Another graph that says dtype, device and number of dims, when the program is called with these."""
    made = graph.copy()
    _start(made, inputs, False)
    Shapes(_ALL).block(made._function.block)
    made.edited()
    return made


def _start(graph: Graph, inputs: Sequence[Any], sizes: bool) -> None:
    for value, given in zip(graph._function.block.params, inputs, strict=False):
        if isinstance(given, torch.Tensor) and value.type == TENSOR:
            known = tuple(given.shape) if sizes else tuple(new_symbol() for _ in given.shape)
            strides = given.stride() if sizes else None
            value.example = Example(given.dtype, known, strides, given.device, given.requires_grad)


def erase_inner(graph: Graph) -> None:
    """Forget what is known of all tensors but the arguments."""
    for node in walk(graph._function.block):
        for value in [*node.outputs, *(v for inner in node.blocks for v in inner.params)]:
            value.example = None
    graph.edited()
