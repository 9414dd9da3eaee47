"""torch._functorch.partitioners: a joint graph of forward and backward, cut into the two.

A partition is told by which values the forward keeps for the backward. `default_partition` keeps what the
forward computes anyway; `min_cut_rematerialization_partition` keeps as few bytes as a cut through the graph
allows, where what is cheap is computed again.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import rushlight as torch
from rushlight._functorch.compile_utils import fx_graph_cse
from rushlight._functorch.cuts import INFINITY, Network
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.fx.passes.dialect.common.cse_pass import draws

__all__ = [
    "default_partition",
    "draw_graph",
    "is_sym_node",
    "min_cut_rematerialization_partition",
]

# Ops that a backward pass does not repeat, as what they do is dear.
_DEAR = frozenset(
    "mm bmm addmm baddbmm mv dot convolution convolution_backward _scaled_dot_product_flash_attention "
    "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_efficient_attention "
    "upsample_bilinear2d native_batch_norm _native_batch_norm_legit_functional sort topk".split()
)


def is_sym_node(node: Any) -> bool:
    """Whether a node is a size that may change: none is, sizes are numbers here."""
    return False


def _is_tangent(node: Node) -> bool:
    return node.op == "placeholder" and "tangents" in str(node.target)


def _is_primal(node: Node) -> bool:
    return node.op == "placeholder" and not _is_tangent(node)


def _results(joint: Any, num_fwd_outputs: int) -> tuple[list[Any], list[Any]]:
    """What the forward gives, and what the backward gives."""
    found = list(joint.graph.output_node().args[0])
    return found[:num_fwd_outputs], found[num_fwd_outputs:]


def _needed(results: Iterable[Any]) -> set[Node]:
    """The nodes that results are computed from, and they themselves."""
    met: set[Node] = set()
    left = [r for r in results if isinstance(r, Node)]
    while left:
        node = left.pop()
        if node not in met:
            met.add(node)
            left += node.all_input_nodes
    return met


def _extracted(joint: Any, inputs: Sequence[Node], outputs: Sequence[Any]) -> Graph:
    """The part of a graph that leads from some nodes to others. RuntimeError where it has other inputs."""
    graph, values = Graph(), dict[Node, Node]()
    for node in inputs:
        made = graph.placeholder(node.name)
        made.meta = dict(node.meta)
        values[node] = made
    wanted = set[Node]()
    left = [node for node in outputs if isinstance(node, Node)]
    while left:
        node = left.pop()
        if node not in wanted and node not in values:
            wanted.add(node)
            left += node.all_input_nodes
    for node in joint.graph.nodes:
        if node not in wanted:
            continue
        if node.op == "placeholder":
            raise RuntimeError(f"Node {node} was invalid, but is output")
        values[node] = graph.node_copy(node, lambda n: values[n])
    graph.output(tuple(values[n] if isinstance(n, Node) else n for n in outputs))
    graph.lint()
    return graph


def _modules(joint: Any, saved: Sequence[Node], num_fwd_outputs: int) -> tuple[GraphModule, GraphModule]:
    """The two halves, of which the first also gives `saved` and the second takes it."""
    forward, backward = _results(joint, num_fwd_outputs)
    primals = [n for n in joint.graph.nodes if _is_primal(n)]
    tangents = [n for n in joint.graph.nodes if _is_tangent(n)]
    used = _needed(
        n for n in _extracted(joint, [*saved, *tangents], backward).nodes if n.op == "placeholder" and n.users
    )
    names = {n.name for n in used}
    kept = [n for n in saved if n.name in names]
    first = _extracted(joint, primals, [*forward, *kept])
    second = _extracted(joint, [*kept, *tangents], backward)
    return GraphModule(joint, first), GraphModule(joint, second)


def _is_tensor(node: Node) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor)


def _single(node: Node) -> list[Node]:
    """A node, or those of its results that are used, where it gives several."""
    parts = [user for user in node.users if user.target is operator.getitem]
    return parts if parts and not _is_tensor(node) else [node]


def _of_forward(joint: Any, num_fwd_outputs: int) -> set[Node]:
    """The nodes that the forward needs, and its inputs."""
    forward, _ = _results(joint, num_fwd_outputs)
    return _needed(forward) | {n for n in joint.graph.nodes if _is_primal(n)}


def default_partition(
    joint_module: GraphModule,
    _joint_inputs: Any,
    *,
    num_fwd_outputs: int,
    static_lifetime_input_indices: list[int] | None = None,
    static_lifetime_input_nodes: Any = None,
) -> tuple[GraphModule, GraphModule]:
    """(forward, backward): the forward keeps all that it computes and the backward reads."""
    own = _of_forward(joint_module, num_fwd_outputs)
    saved: dict[Node, None] = {}
    for node in joint_module.graph.nodes:
        if node in own and node.op != "get_attr" and any(user not in own for user in _readers(node)):
            saved |= dict.fromkeys(n for n in _single(node) if any(u not in own for u in _readers(n)))
    return _modules(joint_module, list(saved), num_fwd_outputs)


def _readers(node: Node) -> list[Node]:
    return [user for user in node.users if user.op != "output"]


def _size(node: Node) -> int:
    value = node.meta.get("val")
    return value.numel() * value.element_size() if isinstance(value, torch.Tensor) else 0


def _repeats(node: Node) -> bool:
    """Whether a backward pass may compute a node again."""
    if node.op != "call_function":
        return False
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return True
    name = schema.op_name
    return not (name in _DEAR or schema.is_mutable or draws(node))


def min_cut_rematerialization_partition(
    joint_module: GraphModule,
    _joint_inputs: Any,
    compiler: str = "inductor",
    *,
    num_fwd_outputs: int,
    static_lifetime_input_indices: list[int] | None = None,
) -> tuple[GraphModule, GraphModule]:
    """(forward, backward): the forward keeps as few bytes as can be, and the backward computes again what it
    needs of the rest, but no products, convolutions and random numbers.
    """
    joint_module = GraphModule(joint_module, fx_graph_cse(joint_module.graph))
    own = _of_forward(joint_module, num_fwd_outputs)
    after = _after_tangents(joint_module)
    needed = _needed(_results(joint_module, num_fwd_outputs)[1])
    order = [n for n in joint_module.graph.nodes if n.op != "output" and (n in own or n in needed)]
    network = Network()
    for node in order:
        _connect(network, node, after, own, needed)
    for node in _results(joint_module, num_fwd_outputs)[1]:
        if isinstance(node, Node) and node not in after:
            network.edge((node.name, "out"), "sink", INFINITY)
    cut = network.cut("source", "sink")
    saved = [n for n in order if (n.name, "in") in cut and (n.name, "out") not in cut]
    return _modules(joint_module, saved, num_fwd_outputs)


def _after_tangents(joint: Any) -> set[Node]:
    found: set[Node] = set()
    for node in joint.graph.nodes:
        if _is_tangent(node) or any(n in found for n in node.all_input_nodes):
            found.add(node)
    return found


def _connect(network: Network, node: Node, after: set[Node], own: set[Node], needed: set[Node]) -> None:
    """A node's own edge, whose capacity is what it costs to keep it, and those to its readers."""
    if node in after:
        network.edge((node.name, "in"), "sink", INFINITY)
        return
    if node.op == "get_attr":  # both halves have it
        return
    if node.op == "placeholder" or (node in own and not _repeats(node)):
        network.edge("source", (node.name, "in"), INFINITY)
    # What is an input or a result of the forward lives anyway; all else is written and read.
    alive = node.op == "placeholder" or any(user.op == "output" for user in node.users)
    cost = _size(node) * (1 if alive else 2) if _is_tensor(node) else INFINITY
    network.edge((node.name, "in"), (node.name, "out"), cost)
    for user in node.users:
        if user in needed:
            network.edge((node.name, "out"), (user.name, "in"), INFINITY)


def draw_graph(
    traced: Any, fname: str, figname: str = "fx_graph", clear_meta: bool = True, **options: Any
) -> None:
    """Write a graph as Graphviz text, `fname.dot`."""
    base = fname.rpartition(".")[0] or fname
    lines = [f'digraph "{figname}" {{']
    for node in traced.graph.nodes:
        lines.append(f'  "{node.name}" [label="{node.op} {node.name}\\n{node.target}"];')
        lines += [f'  "{n.name}" -> "{node.name}";' for n in node.all_input_nodes]
    with open(f"{base}.dot", "w", encoding="utf-8") as file:
        file.write("\n".join([*lines, "}"]) + "\n")
