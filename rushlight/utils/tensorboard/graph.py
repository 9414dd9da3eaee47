"""A model's graph for TensorBoard: the ops of one call, under the names of the modules that call them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import rushlight as torch
from rushlight._engine.dispatch import interpreters
from rushlight._engine.transforms.levels import operands


class Tracer(interpreters.Interpreter):
    """An interpreter in the dispatcher: each op becomes a node, joined to those that made its operands."""

    def __init__(self, model: Any) -> None:
        self.nodes: list[dict[int, Any]] = []
        self._scopes = [type(model).__name__]
        self._made: dict[int, tuple[Any, str]] = {}  # with the tensors, so that no id is used again
        self._counts: Counter[str] = Counter()
        for name, t in (*model.named_parameters(), *model.named_buffers()):
            self.add(f"{type(model).__name__}/{name.replace('.', '/')}", "Parameter", (), t)

    def add(self, name: str, op: str, inputs: Any, t: Any, made: bool = True) -> None:
        """Add the node that makes a tensor (or, if not `made`, one that takes it)."""
        names = [self._made[id(i)][1] for i in inputs if id(i) in self._made]
        shape = {1: "_output_shapes", 2: {1: {7: [{2: [{1: n} for n in t.shape]}]}}}
        self.nodes.append({1: name, 2: op, 3: list(dict.fromkeys(names)), 5: shape})
        if made:
            self._made[id(t)] = t, name

    def run(self, row: Any, call: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run an op and note it."""
        found = interpreters.interpret(row, call, args, kwargs)
        name = "/".join([*self._scopes, row.name])
        self._counts[name] += 1
        name += f"_{self._counts[name] - 1}" if self._counts[name] > 1 else ""
        for t in operands((found,)):
            self.add(name, f"aten::{row.name}", operands((*args, *kwargs.values())), t)
        return found

    def hooks(self, name: str, module: Any) -> list[Any]:
        """Open a module's scope before its forward, and close it afterwards."""
        scope = f"{type(module).__name__}[{name.rpartition('.')[2]}]"
        return [
            module.register_forward_pre_hook(lambda *call: self._scopes.append(scope)),
            module.register_forward_hook(lambda *call: self._scopes.pop() and None, always_call=True),
        ]


def graph(model: Any, inputs: Any) -> tuple[dict[int, Any], list[str]]:
    """The GraphDef of model(*inputs), and its nodes' names."""
    inputs = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    tracer = Tracer(model)
    for i, t in enumerate(operands(inputs)):
        tracer.add(f"input_{i}", "IO Node", (), t)
    hooks = [hook for name, module in model.named_modules() if name for hook in tracer.hooks(name, module)]
    try:
        with tracer, torch.no_grad():
            found = model(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    for i, t in enumerate(operands((found,))):
        tracer.add(f"output_{i}", "IO Node", (t,), t, made=False)
    return {1: tracer.nodes, 4: {1: 22}}, [node[1] for node in tracer.nodes]
