"""ShapeProp: what each node of a graph makes, by running it."""

from __future__ import annotations

from typing import Any, NamedTuple

import rushlight as torch
from rushlight.fx.interpreter import Interpreter
from rushlight.fx.node import Node, map_aggregate


class TensorMetadata(NamedTuple):
    """What is known about a tensor without its numbers."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Any, include_contiguity: bool = True) -> TensorMetadata:
    """A tensor's TensorMetadata."""
    formats = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)
    memory = next((f for f in formats if include_contiguity and _lies(result, f)), None)
    return TensorMetadata(
        result.shape, result.dtype, result.requires_grad, result.stride(), memory, False, {}
    )


def _lies(result: torch.Tensor, memory_format: torch.memory_format) -> bool:
    dims = {torch.channels_last: 4, torch.channels_last_3d: 5}.get(memory_format, result.dim())
    return result.dim() == dims and result.is_contiguous(memory_format=memory_format)


class ShapeProp(Interpreter):
    """Interpreter that leaves TensorMetadata in each node's meta["tensor_meta"]."""

    def run_node(self, n: Node) -> Any:
        """The node's result, noted in its meta."""
        result = super().run_node(n)
        tensors: list[Any] = []

        def noted(value: Any) -> Any:
            tensors.extend([value] * isinstance(value, torch.Tensor))
            return _extract_tensor_metadata(value) if isinstance(value, torch.Tensor) else value

        meta = map_aggregate(result, noted)
        if tensors:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph on `args`; its result."""
        return self.run(*args)
