"""Small things that are the same said shorter: len([a, b]), x + 0, int(n), an if that gives its condition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rushlight.jit.program.folding import constant_before, constant_of, is_constant, node_before
from rushlight.jit.program.graphs import Graph
from rushlight.jit.program.ir import Block, Node, Value, replace, walk
from rushlight.jit.program.memory import Memory, sweep
from rushlight.jit.program.tidy import tidy
from rushlight.jit.program.types import BOOL, INT, NONE, TENSOR, Type, unify

_NEUTRAL = {"aten::add": 0, "aten::sub": 0, "aten::mul": 1, "aten::floordiv": 1, "aten::div": 1}
_CASTS = {"aten::Int": "int", "aten::Float": "float", "aten::Bool": "bool"}
_CONVOLUTIONS = {"aten::conv1d": 3, "aten::conv2d": 4, "aten::conv3d": 5}


@dataclass
class Peepholes:
    """One run over a program; `shapes`: whether what is known of tensors is used."""

    block: Block
    shapes: bool = True
    changed: set[Value] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.memory = memory = Memory(self.block)
        self.written = {root for node in walk(self.block) for root in memory.written(node)}
        self.results = {root for value in self.block.ending.inputs for root in memory.of(value)}

    def own(self, value: Value) -> bool:
        """Whether nobody writes to a container; what is in it is another matter."""
        return value not in self.written

    def still(self, value: Value) -> bool:
        """Whether nobody writes to a value."""
        return not self.memory.of(value) & self.written

    def given(self, value: Value) -> bool:
        """Whether a value is, or is in, what the program gives."""
        return bool(self.memory.of(value) & self.results)

    def run(self) -> None:
        """Over all nodes."""
        for node in list(walk(self.block)):
            if node.kind == "prim::If":
                self.branches(node)
            elif len(node.outputs) == 1 and node.block is not None:
                rule = _RULES.get(node.kind)
                found = rule(self, node) if rule is not None else None
                if found is not None:
                    self.put(node, found)
        sweep(self.block)

    def put(self, node: Node, found: Value) -> None:
        """Let all who read a node's result read another value."""
        if found.type.kind != "NoneType" and node.output.type.kind != found.type.kind:
            return
        self.memory.take(found, node.output)
        if node.output in self.written:
            self.written.add(found)
        found.hint = found.hint or node.output.hint
        replace(node.output, found)
        self.changed.add(found)

    def branches(self, node: Node) -> None:
        """An if that gives its condition; and what its results may be."""
        for i, value in enumerate(node.outputs):
            one, other = (inner.ending.inputs[i] for inner in node.blocks)
            if is_constant(one) and is_constant(other) and value.type == BOOL:
                if constant_of(one) is True and constant_of(other) is False:
                    replace(value, node.inputs[0])
            elif value.type.kind == "Optional" and NONE not in (one.type, other.type):
                both = unify(one.type, other.type)
                value.type = both if both is not None and both.kind != "Optional" else value.type


def _same(holes: Peepholes, node: Node) -> Value | None:
    """x == x, x != x"""
    one, other = node.inputs[:2]
    kinds = ("int", "bool", "str", "List")
    if one is other and one.type.kind in kinds and holes.still(one):
        return constant_before(node, node.kind == "aten::eq", BOOL)
    return None


def _items(holes: Peepholes, value: Value) -> list[Value] | None:
    """The elements of a list that nobody changes."""
    node = value.node
    if node is None or node.kind != "prim::ListConstruct" or not holes.own(value):
        return None
    return node.inputs


def _entries(holes: Peepholes, value: Value) -> dict[Any, Value] | None:
    """The entries of a dict that nobody changes, where all keys are known and differ."""
    node = value.node
    if node is None or node.kind != "prim::DictConstruct" or not holes.own(value):
        return None
    keys = node.inputs[::2]
    if not all(is_constant(key) and key.type.kind in ("int", "float", "str") for key in keys):
        return None
    found = dict(zip(map(constant_of, keys), node.inputs[1::2], strict=True))
    return found if len(found) == len(keys) else None


def _len(holes: Peepholes, node: Node) -> Value | None:
    whole = node.inputs[0]
    items: Any = _items(holes, whole) if whole.type.kind == "List" else _entries(holes, whole)
    if items is not None:
        return constant_before(node, len(items), INT)
    made = whole.node
    if made is not None and made.kind == "aten::size" and len(made.inputs) == 1 and holes.still(whole):
        known = made.inputs[0].example
        if known is not None and known.sizes is not None and holes.shapes:
            return constant_before(node, len(known.sizes), INT)
    return None


def _item(holes: Peepholes, node: Node) -> Value | None:
    whole, place = node.inputs[:2]
    if not is_constant(place):
        return None
    at = constant_of(place)
    if whole.type.kind == "Dict":
        return (_entries(holes, whole) or {}).get(at)
    items = _items(holes, whole)
    return items[at] if items is not None and -len(items) <= at < len(items) else None


def _slice(holes: Peepholes, node: Node) -> Value | None:
    items = _items(holes, node.inputs[0])
    if items is None or not all(map(is_constant, node.inputs[1:])):
        return None
    chosen = items[slice(*map(constant_of, node.inputs[1:]))]
    return node_before(node, "prim::ListConstruct", chosen, node.output.type)


def _joined(holes: Peepholes, node: Node) -> Value | None:
    """[a] + [b]"""
    pair = [_items(holes, v) for v in node.inputs[:2]]
    if pair[0] is None or pair[1] is None:
        return None
    return node_before(node, "prim::ListConstruct", [*pair[0], *pair[1]], node.output.type)


def _offset(value: Value) -> tuple[Value, int]:
    """A whole number as another one and what is added to it."""
    node = value.node
    if node is not None and node.kind in ("aten::add", "aten::sub") and len(node.inputs) == 2:
        one, other = node.inputs
        if is_constant(one) and node.kind == "aten::add":
            one, other = other, one
        if is_constant(other) and not is_constant(one):
            base, more = _offset(one)
            return base, more + constant_of(other) * (1 if node.kind == "aten::add" else -1)
    return value, 0


def _arithmetic(holes: Peepholes, node: Node) -> Value | None:
    if node.output.type.kind == "List":
        return _joined(holes, node)
    if node.output.type.kind == "int":
        base, more = _offset(node.output)
        if base is not node.output and more == 0:
            return base
    one, other = node.inputs[:2]
    if node.kind == "aten::div" and len(node.inputs) > 2:  # it rounds
        return None
    if node.kind == "aten::floordiv" and one.type.kind != "int":
        return None
    if is_constant(one) and node.kind in ("aten::add", "aten::mul"):
        one, other = other, one
    if not is_constant(other) or type(constant_of(other)) not in (int, float):
        return None
    if constant_of(other) != _NEUTRAL[node.kind]:
        return None
    if one.type.kind in ("int", "float") and one.type == node.output.type:
        return one
    return one if _unchanged_tensor(holes, node, one, other) else None


def _unchanged_tensor(holes: Peepholes, node: Node, one: Value, other: Value) -> bool:
    """Whether a tensor may stand for itself plus zero: nobody writes to it, and nobody gets it twice."""
    if one.type != TENSOR or one in holes.changed or holes.given(node.output):
        return False
    if node.kind in ("aten::add", "aten::sub") and constant_of(node.inputs[2]) != 1:
        return False
    known = one.example.dtype if one.example is not None else None
    whole = type(constant_of(other)) is int and node.kind != "aten::div"
    typed = holes.shapes and known is not None and known.is_floating_point
    return (whole or typed) and holes.still(one) and holes.still(node.output)


def _cast(holes: Peepholes, node: Node) -> Value | None:
    value = node.inputs[0]
    if value.type.kind == _CASTS[node.kind]:
        return value
    made = value.node
    if node.kind == "aten::Int" and made is not None and made.kind == "aten::div":
        one, other = made.inputs[:2]
        if one.type.kind == "int" and is_constant(other) and constant_of(other) == 1:
            return one
    return None


def _dim(holes: Peepholes, node: Node) -> Value | None:
    value = node.inputs[0]
    if not holes.still(value):
        return None
    if value.node is not None and value.node.kind in _CONVOLUTIONS:
        return constant_before(node, _CONVOLUTIONS[value.node.kind], INT)
    known = value.example.sizes if value.example is not None and holes.shapes else None
    return None if known is None else constant_before(node, len(known), INT)


def _size(holes: Peepholes, node: Node) -> Value | None:
    known = node.inputs[0].example.sizes if node.inputs[0].example is not None else None
    if known is None or min(known, default=0) < 0 or not holes.shapes or not holes.still(node.inputs[0]):
        return None
    if len(node.inputs) == 1:
        if not holes.still(node.output):
            return None
        return constant_before(node, list(known), Type("List", (INT,)))
    return (
        constant_before(node, known[constant_of(node.inputs[1])], INT)
        if is_constant(node.inputs[1])
        else None
    )


def _is_none(holes: Peepholes, node: Node) -> Value | None:
    kinds = [v.type for v in node.inputs]
    if NONE not in kinds:
        return None
    other = kinds[1 - kinds.index(NONE)]
    if other.kind in ("Optional", "Union", "Any", "NoneType"):
        return None
    return constant_before(node, node.kind == "aten::__isnot__", BOOL)


def _type_as(holes: Peepholes, node: Node) -> Value | None:
    one, other = (v.example for v in node.inputs[:2])
    if one is None or other is None or not holes.shapes:
        return None
    same = one.dtype is not None and (one.dtype, one.device) == (other.dtype, other.device)
    return node.inputs[0] if same else None


def _attribute(holes: Peepholes, node: Node) -> Value | None:
    """An attribute that can be nothing but None."""
    return constant_before(node, None, NONE) if node.output.type == NONE else None


_RULES: dict[str, Callable[[Peepholes, Node], Value | None]] = {
    "aten::eq": _same,
    "aten::ne": _same,
    "aten::len": _len,
    "aten::__getitem__": _item,
    "aten::slice": _slice,
    **dict.fromkeys(_NEUTRAL, _arithmetic),
    **dict.fromkeys(_CASTS, _cast),
    "aten::dim": _dim,
    "aten::size": _size,
    "aten::__is__": _is_none,
    "aten::__isnot__": _is_none,
    "aten::type_as": _type_as,
    "prim::GetAttr": _attribute,
}


def peephole(graph: Graph, disable_shape_peepholes: bool = False, **options: Any) -> bool:
    """Say shorter what can be said shorter."""
    Peepholes(graph._function.block, not disable_shape_peepholes).run()
    tidy(graph._function.block)
    graph.edited()
    return True
