"""Parts of a graph that look like a pattern, put in another form: both are told as graphs' texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight.jit.passes.basic import functions_of
from rushlight.jit.program.graphreader import parse_ir
from rushlight.jit.program.graphs import Graph
from rushlight.jit.program.ir import Block, Node, Value, read, replace, walk
from rushlight.jit.program.memory import remove
from rushlight.jit.program.resolve import resolve

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
        place = 0
        while place < len(block.nodes):
            anchor = block.nodes[place]
            found: Found = {}
            if self._node(self.nodes[-1], anchor, found) and self._inside(anchor, found) and accept(found):
                self._write(anchor, found)
                place = 0
            else:
                place += 1

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

    def _write(self, anchor: Node, found: Found) -> None:
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


def fuse_linear(graph: Graph) -> None:
    """Write linear for a product with a transposed matrix, and what is added to it."""
    for add in ("aten::add_", "aten::add"):
        rewrite_graph(_BIASED.replace("{add}", add), _BIASED_TO, graph, origin="aten::matmul")
    rewrite_graph(_ADDMM, _ADDMM_TO, graph)
    rewrite_graph(_LINEAR.replace("{product}", "aten::matmul"), _LINEAR_TO, graph)


def fuse_add_relu(graph: Graph) -> None:
    """Write one op for relu of a sum."""
    for relu in ("aten::relu", "aten::relu_"):
        for add, more in (("aten::add", ""), ("aten::add_", ""), ("aten::add", ", %out")):
            made = f"aten::_add_relu{'_' if add == 'aten::add_' else ''}"
            head = f"graph(%a, %b, %c{more})"
            rewrite_graph(
                f"{head}:\n  %s = {add}(%a, %b, %c{more})\n  %r = {relu}(%s)\n  return (%r)",
                f"{head}:\n  %r = {made}(%a, %b, %c{more})\n  return (%r)",
                graph,
            )
