"""Settings and parameters of called layers, noted at the nodes that call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight import nn
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.names import typename

__all__ = ["default_matching", "extract_attrs_for_lowering", "lift_lowering_attrs_to_nodes"]


def default_matching(name: str, target_version: int) -> str:
    """What an attribute is called in a version of its class: the same."""
    return name


# {class: (the version for which this was written, its attributes, what they are called in a version)}
module_fetch_book: dict[type, tuple[int, list[str], Callable[[str, int], str]]] = {
    cls: (version, attributes.split(), default_matching)
    for cls, version, attributes in (
        (nn.Linear, 1, "weight bias"),
        (nn.Conv2d, 1, "weight bias kernel_size stride padding dilation groups padding_mode"),
        (nn.BatchNorm2d, 2, "weight bias running_mean running_var eps"),
        (nn.AdaptiveAvgPool2d, 1, ""),
        (nn.MaxPool2d, 1, "kernel_size stride padding dilation return_indices ceil_mode"),
        (nn.ReLU, 1, "inplace"),
    )
}


def extract_attrs_for_lowering(mod: nn.Module) -> dict[str, Any]:
    """{attribute: its value} of a layer that module_fetch_book knows, and its class's name as "name".

    RuntimeError for a layer that the book does not know, or knows only in an older version.
    """
    name = typename(type(mod))
    if type(mod) not in module_fetch_book:
        raise RuntimeError(
            f"{name} is not in the module_fetch_book yet; add it there (torch.fx.passes.param_fetch)"
        )
    version, attributes, matching = module_fetch_book[type(mod)]
    if version < mod._version:
        raise RuntimeError(
            f"Fetcher version {version} try to fetch {name} version {mod._version}, "
            "please upgrade the module_fetch_book"
        )
    return {"name": name} | {a: getattr(mod, matching(a, mod._version)) for a in attributes}


def lift_lowering_attrs_to_nodes(fx_module: GraphModule) -> None:
    """Note at each node that calls a layer its `attrs_for_lowering`; also in the GraphModules within."""
    node: Any
    for node in fx_module.graph.find_nodes(op="call_module"):
        called = fx_module.get_submodule(node.target)
        if isinstance(called, GraphModule):
            lift_lowering_attrs_to_nodes(called)
        else:
            node.attrs_for_lowering = extract_attrs_for_lowering(called)
