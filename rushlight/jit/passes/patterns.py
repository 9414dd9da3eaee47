"""Parts of a graph that look like a pattern, put in another form: both are told as graphs' texts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rushlight.jit.passes.basic import functions_of
from rushlight.jit.program.folding import constant_of, is_constant
from rushlight.jit.program.graphreader import parse_ir
from rushlight.jit.program.graphs import Graph
from rushlight.jit.program.ir import Block, Node, Value, read, replace, walk
from rushlight.jit.program.memory import remove
from rushlight.jit.program.resolve import resolve
from rushlight.jit.program.types import TENSOR

Found = dict[Value, Value]


def _is_module(wanted: Node, node: Node) -> bool:
    """Whether a node reads a module of the class that match::module[name="..."] says."""
    cls = node.outputs[0].type.cls if node.kind == "prim::GetAttr" else None
    name = wanted.attrs["given"]["name"][1]
    return cls is not None and getattr(cls, "qualname", "").rpartition(".")[2] == name


class Pattern:
    """One pattern and what to write in its place."""

    def __init__(self, pattern: str, replacement: str, origin: str = "") -> None:
        self.origin = origin  # the kind of node whose place in the source is kept; else the last one's
        self.pattern, self.replacement = (parse_ir(text)._function.block for text in (pattern, replacement))
        self.nodes = [node for node in self.pattern.nodes]

    def rewrite(self, block: Block, accept: Callable[[Found], bool]) -> None:
        """All places of a block, and of the blocks in it, from the first on."""
        for inner in [inner for node in walk(block) for inner in node.blocks]:
            self._in(inner, accept)
        self._in(block, accept)

    def _in(self, block: Block, accept: Callable[[Found], bool]) -> None:
        matches: list[tuple[Node, Found]] = []
        taken: set[Node] = set()
        for anchor in block.nodes:
            found: Found = {}
            if self._node(self.nodes[-1], anchor, found) and self._inside(anchor, found) and accept(found):
                own = self._own(found)
                if not own & taken:
                    taken |= own
                    matches.append((anchor, found))
        written: Found = {}
        for anchor, found in matches:
            self._write(anchor, {one: written.get(value, value) for one, value in found.items()}, written)

    def _own(self, found: Found) -> set[Node]:
        """The nodes of a match that no other one may have."""
        nodes = {value.node for one, value in found.items() if one.node in self.nodes}
        return {n for n in nodes if n is not None and n.kind not in ("prim::Constant", "prim::GetAttr")}

    def _node(self, wanted: Node, node: Node | None, found: Found) -> bool:
        """Whether a node, and what its inputs come from, is as the pattern says."""
        if node is not None and wanted.kind == "match::module":
            return _is_module(wanted, node) and found.setdefault(wanted.output, node.output) is node.output
        if node is None or wanted.kind != node.kind or len(wanted.outputs) != len(node.outputs):
            return False
        if wanted.kind == "prim::Constant":
            if wanted.attrs["value"] != node.attrs["value"]:
                return False
        elif len(wanted.inputs) != len(node.inputs):
            return False
        if wanted.attrs.get("name") not in (None, node.attrs.get("name")):
            return False
        for one, other in zip(wanted.outputs, node.outputs, strict=True):
            if found.setdefault(one, other) is not other:
                return False
        return all(self._value(a, b, found) for a, b in zip(wanted.inputs, node.inputs, strict=False))

    def _value(self, wanted: Value, value: Value, found: Found) -> bool:
        if wanted in found:
            return found[wanted] is value
        if wanted.node is not None and wanted.node.kind != "prim::Param":
            return self._node(wanted.node, value.node, found)
        found[wanted] = value
        return True

    def _inside(self, anchor: Node, found: Found) -> bool:
        """Whether all nodes are in one block, and nobody else reads what is between them."""
        given = set(self.pattern.ending.inputs)
        nodes = {value.node for one, value in found.items() if one.node in self.nodes}
        for one, value in found.items():
            if one.node not in self.nodes or value.node is None or value.node.kind == "prim::Constant":
                continue
            if value.node.block is not anchor.block:
                return False
            if one not in given and any(user not in nodes for user, _ in value.uses):
                return False
        return len([n for n in nodes if n is not None]) == len(self.nodes)

    def _write(self, anchor: Node, found: Found, written: Found) -> None:
        """Write the replacement, and note what stands for what from now on."""
        block: Any = anchor.block
        known = {b: found[a] for a, b in zip(self.pattern.params, self.replacement.params, strict=True)}
        at, origin = block.nodes.index(anchor), anchor.place
        for value in found.values():
            if value.node is not None and value.node.kind == self.origin:
                origin = value.node.place
        for node in self.replacement.nodes:
            made = Node(node.kind, [], attrs=dict(node.attrs), place=origin, block=block)
            for value in node.inputs:
                read(made, known[value])
            for value in node.outputs:
                known[value] = Value(value.type, made, example=value.example)
                made.outputs.append(known[value])
            resolve(made)
            block.nodes.insert(at, made)
            at += 1
        old = [found[v] for v in self.pattern.ending.inputs]
        for before, value in zip(old, self.replacement.ending.inputs, strict=True):
            known[value].example = known[value].example or before.example
            replace(before, known[value])
            written[before] = known[value]
        for wanted in reversed(self.nodes):
            matched = found[wanted.outputs[0]].node
            if matched is not None and not any(v.uses for v in matched.outputs):
                remove(matched)


def rewrite_graph(
    pattern: str,
    replacement: str,
    graph: Graph,
    value_name_pairs: Any = (),
    accept: Any = None,
    origin: str = "",
) -> None:
    """Write the replacement in the place of all that looks like the pattern."""
    Pattern(pattern, replacement, origin).rewrite(graph._function.block, accept or (lambda found: True))
    graph.edited()


def rewrite_module(pattern: str, replacement: str, module: Any) -> None:
    """The same in all methods of a module and of the modules in it."""
    for function in functions_of(module):
        Pattern(pattern, replacement).rewrite(function.block, lambda found: True)
        function.run = function.graph = None


_LINEAR = """graph(%x, %w):
  %t = aten::t(%w)
  %r = {product}(%x, %t)
  return (%r)"""
_LINEAR_TO = """graph(%x, %w):
  %b : None = prim::Constant()
  %r = aten::linear(%x, %w, %b)
  return (%r)"""
_BIASED = """graph(%x, %w, %b, %a):
  %t = aten::t(%w)
  %p = aten::matmul(%x, %t)
  %r = {add}(%p, %b, %a)
  return (%r)"""
_BIASED_TO = """graph(%x, %w, %b, %a):
  %r = aten::linear(%x, %w, %b)
  return (%r)"""
_ADDMM = """graph(%x, %w, %b, %beta, %alpha):
  %t = aten::t(%w)
  %r = aten::addmm(%b, %x, %t, %beta, %alpha)
  return (%r)"""
_ADDMM_TO = """graph(%x, %w, %b, %beta, %alpha):
  %r = aten::linear(%x, %w, %b)
  return (%r)"""


def _plain_sum(params: list[Value], found: Found) -> bool:
    """Whether what is added may be a bias, and nothing is multiplied with a number."""
    bias, *factors = (found[param] for param in params[2:])
    sizes = bias.example.sizes if bias.example is not None else None
    one = all(is_constant(v) and constant_of(v) == 1 for v in factors)
    return one and bias.type == TENSOR and (sizes is None or len(sizes) == 1)


def fuse_linear(graph: Graph) -> None:
    """Write linear for a product with a transposed matrix, and what is added to it."""
    block = graph._function.block
    for add in ("aten::add_", "aten::add"):
        biased = Pattern(_BIASED.replace("{add}", add), _BIASED_TO, "aten::matmul")
        biased.rewrite(block, partial(_plain_sum, biased.pattern.params))
    product = Pattern(_ADDMM, _ADDMM_TO)
    product.rewrite(block, partial(_plain_sum, product.pattern.params))
    rewrite_graph(_LINEAR.replace("{product}", "aten::matmul"), _LINEAR_TO, graph)


def fuse_add_relu(graph: Graph) -> None:
    """Write one op for relu of a sum."""
    out = ", %out"
    ways = (("add", "relu", ""), ("add", "relu_", ""), ("add_", "relu_", ""), ("add", "relu_", out))
    for add, relu, more in ways:  # what a sum was written into is not relu's when relu writes elsewhere
        head, made = f"graph(%a, %b, %c{more})", "_add_relu_" if add == "add_" else "_add_relu"
        rewrite_graph(
            f"{head}:\n  %s = aten::{add}(%a, %b, %c{more})\n  %r = aten::{relu}(%s)\n  return (%r)",
            f"{head}:\n  %r = aten::{made}(%a, %b, %c{more})\n  return (%r)",
            graph,
        )
