"""Batches cut for several devices and put together again (torch.nn.parallel.scatter_gather).

Containers are taken apart, tensors in them cut; without a device beside the CPU that raises, as in PyTorch.
"""

from __future__ import annotations

from typing import Any

from rushlight._engine.tensors.tensor import Tensor
from rushlight.nn.parallel._functions import Gather, Scatter

__all__ = ["gather", "is_namedtuple", "scatter", "scatter_kwargs"]


def is_namedtuple(obj: Any) -> bool:
    """Whether it is an instance of a namedtuple."""
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> Any:
    """One copy of nested `inputs` for each device; tensors in it are cut along `dim`."""
    if isinstance(inputs, Tensor):
        return Scatter.apply(target_gpus, None, dim, inputs)
    if is_namedtuple(inputs):
        parts = zip(*[scatter(v, target_gpus, dim) for v in inputs], strict=False)
        return [type(inputs)(*one) for one in parts]
    if isinstance(inputs, (tuple, list)) and inputs:
        parts = zip(*[scatter(v, target_gpus, dim) for v in inputs], strict=False)
        return [one if isinstance(inputs, tuple) else list(one) for one in parts]
    if isinstance(inputs, dict) and inputs:
        parts = zip(*[scatter(item, target_gpus, dim) for item in inputs.items()], strict=False)
        return [type(inputs)(one) for one in parts]
    return [inputs for _ in target_gpus]


def scatter_kwargs(inputs: Any, kwargs: dict[str, Any] | None, target_gpus: Any, dim: int = 0) -> Any:
    """(inputs for each device, keywords for each device), the shorter of both filled up with empty ones."""
    cut: list[Any] = scatter(inputs, target_gpus, dim) if inputs else []
    named: list[Any] = scatter(kwargs, target_gpus, dim) if kwargs else []
    cut.extend(() for _ in range(len(named) - len(cut)))
    named.extend({} for _ in range(len(cut) - len(named)))
    return tuple(cut), tuple(named)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """Nested outputs of several devices as one on `target_device`; AssertionError for tensors of the CPU."""
    first = outputs[0]
    if isinstance(first, Tensor):
        return Gather.apply(target_device, dim, *outputs)
    if first is None:
        return None
    if isinstance(first, dict):
        if not all(len(first) == len(one) for one in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((k, gather([one[k] for one in outputs], target_device, dim)) for k in first)
    if is_namedtuple(first):
        return type(first)._make(gather(one, target_device, dim) for one in zip(*outputs, strict=True))
    return type(first)(gather(one, target_device, dim) for one in zip(*outputs, strict=True))
