"""A model's graph for TensorBoard: the ops of one call, under the names of the modules that call them."""
from __future__ import annotations

from collections import Counter
from typing import Any

import rushlight as torch
from rushlight.dispatch import state


class Tracer:
    """An interpreter in the door: each op becomes a node, joined to those that made its operands."""

    def __init__(self, model: Any) -> None:
        self.nodes: list[dict[int, Any]] = []
        self._scopes = [type(model).__name__]
        self._made: dict[int, tuple[Any, str]] = {}
        self._counts: Counter[str] = Counter()
        for name, t in (*model.named_parameters(), *model.named_buffers()):
            self.place(t, f"{type(model).__name__}/{name.replace('.', '/')}", "Parameter")

    def place(self, t: Any, name: str, op: str, inputs: Any = ()) -> None:
        """Add the node that makes a tensor."""
        shape = {7: [{2: [{1: n} for n in t.shape]}]}
        self.nodes.append({1: name, 2: op, 3: list(dict.fromkeys(inputs)), 5: {
            1: "_output_shapes", 2: {1: shape}}})
        self._made[id(t)] = t, name

    def run(self, row: Any, call: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run an op and note it."""
        found = call(*args, **kwargs)
        name = "/".join([*self._scopes, row.name])
        self._counts[name] += 1
        if self._counts[name] > 1:
            name += f"_{self._counts[name] - 1}"
        given = _tensors((args, tuple(kwargs.values())))
        inputs = [self._made[id(t)][1] for t in given if id(t) in self._made]
        for t in _tensors(found):
            self.place(t, name, f"aten::{row.name}", inputs)
        return found

    def enter(self, name: str) -> Any:
        """A hook that opens a module's scope."""
        return lambda module, args: self._scopes.append(f"{type(module).__name__}[{name}]")

    def leave(self, *call: Any) -> None:
        """A hook that closes it."""
        self._scopes.pop()


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in value for t in _tensors(v)] if isinstance(value, (tuple, list)) else []


def graph(model: Any, inputs: Any) -> tuple[dict[int, Any], list[str]]:
    """The GraphDef of model(*inputs), and its nodes' names."""
    inputs = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    tracer = Tracer(model)
    for i, t in enumerate(_tensors(tuple(inputs))):
        tracer.place(t, f"input_{i}", "IO Node")
    hooks = [hook for name, module in model.named_modules() if name for hook in (
        module.register_forward_pre_hook(tracer.enter(name.rpartition(".")[2])),
        module.register_forward_hook(tracer.leave, always_call=True))]
    state.push(tracer)
    try:
        with torch.no_grad():
            found = model(*inputs)
    finally:
        state.pop(tracer)
        for hook in hooks:
            hook.remove()
    for i, t in enumerate(_tensors(found)):
        tracer.nodes.append({1: f"output_{i}", 2: "IO Node", 3: [tracer._made[id(t)][1]]})
    return {1: tracer.nodes, 4: {1: 22}}, [node[1] for node in tracer.nodes]
