"""torch._export.utils: what the nodes of exported programs stand for, and walks over them."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten
from rushlight._subclasses.fake_tensor import FakeTensor
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node, map_arg
from rushlight.fx.passes.split_module import split_module
from rushlight.utils import _pytree

__all__ = [
    "get_buffer",
    "get_lifted_tensor_constant",
    "get_param",
    "is_buffer",
    "is_lifted_tensor_constant",
    "is_param",
    "node_inline_",
    "node_replace_",
    "nodes_count",
    "nodes_filter",
    "nodes_first",
    "nodes_map",
    "register_dataclass_as_pytree_node",
    "sequential_split",
    "wrap_method",
]


def is_param(program: Any, node: Node) -> bool:
    """Whether a node is a parameter of the program."""
    return node.name in program.graph_signature.inputs_to_parameters


def get_param(program: Any, node: Node) -> Any:
    """The parameter that a node is; None for another node."""
    name = program.graph_signature.inputs_to_parameters.get(node.name)
    return None if name is None else program.state_dict[name]


def is_buffer(program: Any, node: Node) -> bool:
    """Whether a node is a buffer of the program."""
    return node.name in program.graph_signature.inputs_to_buffers


def get_buffer(program: Any, node: Node) -> Any:
    """The buffer that a node is; None for another node."""
    name = program.graph_signature.inputs_to_buffers.get(node.name)
    if name is None:
        return None
    kept = name not in program.graph_signature.non_persistent_buffers
    return program.state_dict[name] if kept else program.constants[name]


def is_lifted_tensor_constant(program: Any, node: Node) -> bool:
    """Whether a node is a tensor that the program holds beside its state."""
    return node.name in program.graph_signature.inputs_to_lifted_tensor_constants


def get_lifted_tensor_constant(program: Any, node: Node) -> Any:
    """The tensor that such a node is; None for another node."""
    name = program.graph_signature.inputs_to_lifted_tensor_constants.get(node.name)
    return None if name is None else program.constants[name]


def register_dataclass_as_pytree_node(
    cls: type[Any],
    flatten_fn: Any = None,
    unflatten_fn: Any = None,
    *,
    serialized_type_name: str | None = None,
    return_none_fields: bool = False,
) -> None:
    """Instances of a dataclass are containers from now on: of those fields that are not None; of all where
    return_none_fields says so.
    """
    if return_none_fields and flatten_fn is None and unflatten_fn is None:
        names = [f.name for f in dataclasses.fields(cls) if f.init]

        def flat(obj: Any) -> tuple[list[Any], Any]:
            return [getattr(obj, name) for name in names], [names, []]

        def build(items: Iterable[Any], context: Any) -> Any:
            return cls(**dict(zip(context[0], items, strict=True)))

        flatten_fn, unflatten_fn = flat, build
    if flatten_fn is None and unflatten_fn is None:
        _pytree.register_dataclass(cls, serialized_type_name=serialized_type_name)
    else:
        _pytree.register_pytree_node(cls, flatten_fn, unflatten_fn, serialized_type_name=serialized_type_name)


def nodes_map(nodes: Iterable[Node], node_call_back: Callable[[Node], Any]) -> Iterable[Node]:
    """Call the function with each node; the nodes."""
    for node in nodes:
        node_call_back(node)
    return nodes


def nodes_filter(nodes: Iterable[Node], node_call_back: Callable[[Node], bool]) -> list[Node]:
    """The nodes that the function says True of."""
    return [node for node in nodes if node_call_back(node)]


def nodes_first(nodes: Iterable[Node], node_call_back: Any = None) -> Node | None:
    """The first of them; None if there is none."""
    return next(iter(nodes_filter(nodes, node_call_back or (lambda node: True))), None)


def nodes_count(nodes: Iterable[Node], node_call_back: Callable[[Node], bool]) -> int:
    """How many there are."""
    return len(nodes_filter(nodes, node_call_back))


def node_replace_(old_node: Node, new_node: Node) -> None:
    """Another node in the place of one, which is erased."""
    old_node.replace_all_uses_with(new_node)
    old_node.graph.erase_node(old_node)


def sequential_split(gm: GraphModule, node_call_back: Callable[[Node], Any]) -> GraphModule:
    """The module as several, called in order: the function says True of the first node of each but the
    first.
    """
    number, parts = 0, {}
    for node in gm.graph.nodes:
        number += bool(node_call_back(node))
        parts[node] = number
    made: GraphModule = split_module(
        gm, gm, parts.__getitem__, keep_original_order=True, keep_original_node_name=True
    )
    made.graph._codegen = gm.graph._codegen
    made.recompile()
    return made


def node_inline_(call_mod_node: Node) -> GraphModule | None:
    """The nodes of a submodule's graph in the place of the node that calls it; the module. AssertionError for
    another node.
    """
    graph = call_mod_node.graph
    gm: Any = graph.owning_module
    if call_mod_node.op != "call_module" or gm is None:
        raise AssertionError(f"expected call_module op, got {call_mod_node.op}")
    inner = gm.get_submodule(str(call_mod_node.target))
    values: dict[Node, Any] = {}
    given = iter(call_mod_node.args)
    with graph.inserting_before(call_mod_node):
        for node in inner.graph.nodes:
            if node.op == "placeholder":
                values[node] = next(given)
            elif node.op == "output":
                _results_(call_mod_node, map_arg(node.args[0], values.__getitem__))
            else:
                values[node] = graph.node_copy(node, values.__getitem__)
                if node.op == "get_attr":
                    values[node].target = _held_as(gm, str(node.target), inner)
    gm.delete_all_unused_submodules()
    gm.recompile()
    found: GraphModule = gm
    return found


def _held_as(gm: Any, name: str, inner: Any) -> str:
    """The name under which a module has what an inner one holds."""
    numbers = count(1)
    own = name
    while hasattr(gm, own):
        own = f"submod_{next(numbers)}"
    setattr(gm, own, getattr(inner, name))
    return own


def _results_(call: Node, results: Any) -> None:
    """What reads a call's results reads these; the call is erased."""
    if isinstance(results, Node):
        node_replace_(call, results)
        return
    if not isinstance(results, (list, tuple)):
        raise NotImplementedError(
            f"Unsupported output type {type(results)}. Expect it to be a Node or a list/tuple of Nodes."
        )
    for user in list(call.users):
        if user.target is operator.getitem:
            node_replace_(user, results[user.args[1]])
    call.graph.erase_node(call)


class _Method(torch.nn.Module):
    """A module whose call is a method of another module."""

    def __init__(self, method: Any) -> None:
        super().__init__()
        owner = method.__self__
        for name in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"):
            self.__dict__[name] = owner.__dict__[name]  # its state, by its own names
        self.__dict__["method"] = method

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the method gives."""
        return self.method(*args, **kwargs)


def wrap_method(method: Any) -> torch.nn.Module:
    """A module that export() takes, of a method of a module."""
    made = _Method(method)
    made.forward = method  # type: ignore[method-assign]
    return made


@contextmanager
def _disable_load_state_dict_hooks(mod: torch.nn.Module) -> Iterator[None]:
    """Within, mod.state_dict() calls no hooks of the module."""
    after, before = mod._state_dict_hooks, mod._state_dict_pre_hooks
    mod._state_dict_hooks, mod._state_dict_pre_hooks = type(after)(), type(before)()
    try:
        yield
    finally:
        mod._state_dict_hooks, mod._state_dict_pre_hooks = after, before


def _get_shape_env_from_gm(gm: Any) -> Any:
    """The ShapeEnv of the fake tensors that a graph's nodes are; None where there is none."""
    for node in gm.graph.nodes:
        for value in flatten(node.meta.get("val"))[0]:
            if isinstance(value, FakeTensor):
                return value.fake_mode.shape_env
    return None
