"""torch.fx.traceback: what is noted at the nodes that are made now, and where nodes came from.

Within preserve_node_meta() a tracer copies from the current meta (`get_current_meta`) to each node that it
makes the fields of _COPIED; a Transformer or Interpreter sets it to the meta of the node that it runs.
"""

from __future__ import annotations

import copy
import functools
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:  # for annotations: graphs and nodes use this file
    from rushlight.fx.graph import Graph
    from rushlight.fx.node import Node

__all__ = [
    "NodeSource",
    "NodeSourceAction",
    "annotate",
    "annotate_fn",
    "format_stack",
    "get_current_meta",
    "get_current_replay_node",
    "get_graph_provenance_json",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "reset_grad_fn_seq_nr",
    "set_current_meta",
    "set_current_replay_node",
    "set_grad_fn_seq_nr",
    "set_stack_trace",
]

_F = TypeVar("_F", bound=Callable[..., Any])

current_meta: dict[str, Any] = {}
current_replay_node: Node | None = None
should_preserve_node_meta = False
_COPIED = (
    "nn_module_stack torch_fn source_fn_stack original_aten recompute ac_graph_id has_backward_hook "
    "from_node quantization_tag _numeric_debug_handle custom partitioner_tag"
).split()


class NodeSourceAction(Enum):
    """What a pass did with a node."""

    CREATE = "create"
    REPLACE = "replace"


class NodeSource:
    """Where a node came from: `node.meta["from_node"]` is a list of these.

    node: the node before; pass_name: who made the new one of it; action: one NodeSourceAction or a list.
    """

    class NodeInfo(NamedTuple):
        """A node by what stays when it is gone."""

        name: str
        target: str
        graph_id: int

    def __init__(
        self,
        node: Node | None,
        pass_name: str = "",
        action: NodeSourceAction | list[NodeSourceAction] | None = None,
    ) -> None:
        self.pass_name = pass_name
        self.action = action if isinstance(action, list) else [] if action is None else [action]
        for each in self.action:
            if not isinstance(each, NodeSourceAction):
                raise AssertionError(f"Expected NodeSourceAction, got {type(each)}")
        self.node_info: NodeSource.NodeInfo | None = None
        self.from_node: list[NodeSource] = []
        if node:
            self.node_info = self.NodeInfo(node.name, str(node.target), id(node.graph))
            self.from_node = list(node.meta.get("from_node", ()))

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node_info.name if self.node_info else ""

    @property
    def target(self) -> str:
        """The node's target, as text."""
        return self.node_info.target if self.node_info else ""

    @property
    def graph_id(self) -> int:
        """The id() of the node's graph, or -1."""
        return self.node_info.graph_id if self.node_info else -1

    def _get_action_string(self) -> str:
        return "+".join(each.name.lower() for each in self.action)

    def print_readable(self, indent: int = 0) -> str:
        """The source and its own sources, a line each, at most ten deep."""
        if indent > 9:
            return ""
        line = (
            f"(name={self.name}, pass_name={self.pass_name}, action={self._get_action_string()}, "
            f"graph_id={self.graph_id})"
        )
        return " " * 4 * indent + line + "\n" + "".join(s.print_readable(indent + 1) for s in self.from_node)

    def __repr__(self) -> str:
        return self.print_readable()

    def to_dict(self) -> dict[str, Any]:
        """The source as what JSON can hold."""
        return {
            "name": self.name,
            "target": self.target,
            "graph_id": self.graph_id,
            "pass_name": self.pass_name,
            "action": self._get_action_string(),
            "from_node": [source.to_dict() for source in self.from_node],
        }

    @classmethod
    def _from_dict(cls, d: dict[str, Any] | None) -> NodeSource | None:
        """The source that to_dict() wrote."""
        if d is None:
            return None
        if not isinstance(d, dict):
            raise AssertionError(f"Expected a dict, got {type(d)}")
        actions = [NodeSourceAction[part.upper()] for part in d.get("action", "").split("+") if part]
        found = cls(None, d.get("pass_name", ""), actions)
        if {"name", "target", "graph_id"} <= d.keys():
            found.node_info = cls.NodeInfo(d["name"], d["target"], d["graph_id"])
        sources = (cls._from_dict(each) for each in d.get("from_node") or ())
        found.from_node = [source for source in sources if source is not None]
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeSource) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.print_readable())


# --- what new nodes are told ---------------------------------------------------------------------


def note(node: Node) -> None:
    """Copy the current meta to a node that a tracer has made, within preserve_node_meta()."""
    trace = current_meta.get("stack_trace")
    if trace:
        node.stack_trace = trace
    for key in _COPIED:
        if key in current_meta:
            node.meta[key] = copy.copy(current_meta[key])
    if current_meta.get("in_grad_fn", 0) > 0:
        node.meta["seq_nr"] = current_meta["grad_fn_seq_nr"][-1]
    if current_replay_node is not None:
        node.meta["is_functional_regenerated"] = True
        for key in ("custom", "stack_trace"):
            if key in current_replay_node.meta:
                node.meta[key] = current_replay_node.meta[key]


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Within it, tracers copy the current meta to the nodes that they make (or do not: enable=False)."""
    global should_preserve_node_meta, current_meta
    before, meta = should_preserve_node_meta, current_meta.copy()
    should_preserve_node_meta = enable
    try:
        yield
    finally:
        should_preserve_node_meta, current_meta = before, meta


def has_preserved_node_meta() -> bool:
    """Whether new nodes get the current meta."""
    return should_preserve_node_meta


def get_current_meta() -> dict[str, Any]:
    """The current meta; change it to tell new nodes something."""
    return current_meta


@contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """Within it, new nodes get the meta of `node`, and as `from_node` that they were made of it."""
    global current_meta
    if not (should_preserve_node_meta and node.meta):
        yield
        return
    before = current_meta
    current_meta = {**node.meta, "from_node": [NodeSource(node, pass_name, NodeSourceAction.CREATE)]}
    try:
        yield
    finally:
        current_meta = before


def set_stack_trace(stack: list[str]) -> None:
    """Let new nodes be told this place in the program, a traceback's lines; none, if the list is empty."""
    if should_preserve_node_meta:
        current_meta.pop("stack_trace", None)
        if stack:
            current_meta["stack_trace"] = "".join(stack)


def format_stack() -> list[str]:
    """The place in the program that new nodes are told; without preserve_node_meta(), where the caller is."""
    if should_preserve_node_meta:
        return [current_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Within it, new nodes have these items in `meta["custom"]`, beside those of annotate() around it.

    Tracers copy it within preserve_node_meta().
    """
    known = "custom" in current_meta
    before = current_meta.get("custom", {})
    current_meta["custom"] = {**before, **annotation_dict}
    try:
        yield
    finally:
        if known:
            current_meta["custom"] = before
        else:
            del current_meta["custom"]


def annotate_fn(annotation_dict: dict[str, Any]) -> Callable[[_F], _F]:
    """Decorator: run a function within annotate()."""

    def decorate(function: _F) -> _F:
        @functools.wraps(function)
        def annotated(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated  # type: ignore[return-value]

    return decorate


def set_grad_fn_seq_nr(seq_nr: int) -> None:
    """Begin the backward of the autograd node with that number: new nodes have it in `meta["seq_nr"]`."""
    if should_preserve_node_meta:
        current_meta["grad_fn_seq_nr"] = [*current_meta.get("grad_fn_seq_nr", ()), seq_nr]
        current_meta["in_grad_fn"] = current_meta.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr() -> None:
    """End what set_grad_fn_seq_nr() began; AssertionError where it began nothing."""
    if not should_preserve_node_meta:
        return
    level = current_meta.get("in_grad_fn", 0)
    if level <= 0:
        raise AssertionError(f"Expected current_level > 0, got {level}")
    if level == 1:
        del current_meta["in_grad_fn"], current_meta["grad_fn_seq_nr"]
    else:
        current_meta["in_grad_fn"] = level - 1
        current_meta["grad_fn_seq_nr"] = current_meta["grad_fn_seq_nr"][:-1]


@contextmanager
def set_current_replay_node(node: Node | None) -> Iterator[None]:
    """Within it, new nodes are said to repeat `node`, and get its annotations and place."""
    global current_replay_node
    before, current_replay_node = current_replay_node, node
    try:
        yield
    finally:
        current_replay_node = before


def get_current_replay_node() -> Node | None:
    """The node that is being repeated, or None."""
    return current_replay_node


def get_graph_provenance_json(graph: Graph) -> dict[str, Any]:
    """{a call_function node's name: its sources as dicts}."""
    return {
        node.name: [source.to_dict() for source in node.meta.get("from_node", ())]
        for node in graph.find_nodes(op="call_function")
    }
