"""Which nodes a backend can run: objects with is_node_supported(), and ways to combine them."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import rushlight as torch
from rushlight.fx.node import Node
from rushlight.fx.passes.shape_prop import TensorMetadata
from rushlight.fx.passes.tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = [
    "OpSupports",
    "OperatorSupport",
    "OperatorSupportBase",
    "any_chain",
    "chain",
    "create_op_support",
]

TargetTypeName = str
SupportedArgumentDTypes = (
    tuple[Sequence[Sequence[torch.dtype] | None], Mapping[str, Sequence[torch.dtype]]] | None
)
SupportDict = Mapping[TargetTypeName, SupportedArgumentDTypes]
IsNodeSupported = Callable[[Mapping[str, torch.nn.Module], Node], bool]


class OperatorSupportBase(abc.ABC):
    """What says whether a backend supports a node."""

    @abc.abstractmethod
    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        """Whether `node` is supported; submodules: `dict(module.named_modules())`."""
        raise NotImplementedError


class OperatorSupport(OperatorSupportBase):
    """Support by the name of what a node calls (`get_node_target`) and the dtypes of what it reads.

    support_dict: {name: None, or (dtypes of each positional argument or None, {keyword: dtypes})}; None
    stands for any dtype. What the dict does not name is not supported; nodes that call nothing are. A
    subclass may give its dict as `_support_dict`.
    """

    _support_dict: SupportDict

    def __init__(self, support_dict: SupportDict | None = None) -> None:
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        """Whether `node` is supported."""
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        allowed = self._support_dict[target]
        if allowed is None:
            return True
        by_place, by_name = allowed
        pairs: list[tuple[Any, Any]] = list(zip(node.args, by_place, strict=False))
        pairs += [(node.kwargs.get(name), dtypes) for name, dtypes in by_name.items()]
        return all(
            dtypes is None or not isinstance(arg, Node) or _get_arg_dtype(arg) in dtypes
            for arg, dtypes in pairs
        )


class _ByFunction(OperatorSupportBase):
    """What create_op_support() makes."""

    def __init__(self, function: IsNodeSupported) -> None:
        self._function = function

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        """What the function says."""
        return self._function(submodules, node)


def create_op_support(is_node_supported: IsNodeSupported) -> OperatorSupportBase:
    """Support as a function (submodules, node) -> bool says."""
    return _ByFunction(is_node_supported)


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Support where all of these support the node."""
    return create_op_support(
        lambda modules, node: all(s.is_node_supported(modules, node) for s in op_support)
    )


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Support where any of these supports the node."""
    return create_op_support(
        lambda modules, node: any(s.is_node_supported(modules, node) for s in op_support)
    )


class OpSupports:
    """Conditions to combine with chain()."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: torch.dtype) -> OperatorSupportBase:
        """No support for nodes that read a tensor of that dtype (ShapeProp must have run)."""
        return create_op_support(
            lambda modules, node: all(_get_arg_dtype(read) != dtype for read in node.all_input_nodes)
        )

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """No support for nodes of these names."""
        return create_op_support(lambda modules, node: node.name not in disallow_set)


def _get_arg_dtype(arg: Node) -> Any:
    """The dtype of what a node makes, or its type where that is no tensor; from what ShapeProp noted."""
    if not isinstance(arg, Node):
        raise AssertionError(f"Expected torch.fx.Node, got {type(arg)}")
    noted = arg.meta.get("tensor_meta")
    return noted.dtype if isinstance(noted, TensorMetadata) else arg.meta["type"]
