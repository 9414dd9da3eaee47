"""torch.export.passes: changes of exported programs."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import tree_map
from rushlight._subclasses.fake_tensor import FakeTensor
from rushlight.export.program import ExportedProgram
from rushlight.fx.graph_module import GraphModule

__all__ = ["move_to_device_pass"]


def unsafe_remove_auto_functionalized_pass(ep: ExportedProgram) -> ExportedProgram:
    """The program, whose ops of programs' own write into what they are given: as all programs here have them,
    where PyTorch's have another op around, which copies.
    """
    return ep


def move_to_device_pass(ep: ExportedProgram, location: Any) -> ExportedProgram:
    """The program itself, with its tensors and what its ops are told of devices moved to a device.

    location: a device, or its name; or a dict of names: from which device to which.
    """

    def there(device: Any) -> str:
        if isinstance(location, dict):
            return str(location.get(str(device), device))
        return str(location)

    def moved(value: Any) -> Any:
        if isinstance(value, torch.nn.Parameter):
            return torch.nn.Parameter(value.detach().to(there(value.device)), value.requires_grad)
        return value.to(there(value.device)) if isinstance(value, torch.Tensor) else value

    def fake(value: Any) -> Any:
        return value.on(there(value.device)) if isinstance(value, FakeTensor) else value

    for held in (ep._state_dict, ep._constants):
        held.update({name: moved(value) for name, value in held.items()})
    if ep._example_inputs is not None:
        ep._example_inputs = tree_map(moved, ep._example_inputs)
    for module in ep.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, GraphModule) else ():
            if node.kwargs.get("device") is not None:
                node.kwargs = {**node.kwargs, "device": there(node.kwargs["device"])}
            if str(node.target) == "aten.to.device":
                node.args = (node.args[0], there(node.args[1]), *node.args[2:])
            node.meta["val"] = tree_map(fake, node.meta.get("val"))
    ep.validate()
    return ep
