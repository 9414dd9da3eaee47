"""FakeTensorProp: what each node of a graph makes, by running it on tensors without numbers."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._subclasses.fake_tensor import FakeTensorMode
from rushlight.fx.interpreter import Interpreter
from rushlight.fx.node import Node, map_aggregate

__all__ = ["FakeTensorProp"]


class FakeTensorProp(Interpreter):
    """Interpreter that leaves a fake tensor in each node's meta["val"]: shape, dtype, device, strides.

    module: the GraphModule; mode: the FakeTensorMode that it runs under, default a new one.
    """

    def __init__(self, module: Any, mode: FakeTensorMode | None = None) -> None:
        super().__init__(module)
        self._mode = FakeTensorMode() if mode is None else mode

    def run_node(self, n: Node) -> Any:
        """The node's result, noted in its meta."""
        result = super().run_node(n)

        def noted(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return self._mode.from_tensor(value).detach()
            return value if isinstance(value, (int, float, bool)) else None

        meta = map_aggregate(result, noted)
        if meta is not None:
            n.meta["val"] = meta
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph on fakes of `args`; its result."""
        fakes = [self._mode.from_tensor(a) if isinstance(a, torch.Tensor) else a for a in args]
        return self.propagate_dont_convert_inputs(*fakes)

    def propagate_dont_convert_inputs(self, *args: Any) -> Any:
        """Run the graph on `args`, which are fake tensors; its result."""
        with self._mode:
            return self.run(*args)
