"""DataParallel: the wrapper that PyTorch's older programs put around a model."""

from __future__ import annotations

from typing import Any

from rushlight.nn.modules.module import Module


class DataParallel(Module):
    """Calls `module`: without a GPU there is nothing to split, as in PyTorch.

    Its state dict has PyTorch's keys: those of the module behind "module.".
    """

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.dim, self.module = dim, module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module gives for these arguments."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Any,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """module(*inputs, **module_kwargs), as DataParallel calls it."""
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*inputs, **(module_kwargs or {}))
