"""torch._export.converter: TorchScript as exported programs."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import tree_map
from rushlight.export.program import ExportedProgram
from rushlight.export.symbols import Dim
from rushlight.export.tracing import export

__all__ = ["TS2EPConverter"]


class _Scripted(torch.nn.Module):
    """A scripted module or function, with its state under its own names, as a module that calls it."""

    def __init__(self, scripted: Any) -> None:
        super().__init__()
        if isinstance(scripted, torch.nn.Module):
            self._parameters = dict(scripted._parameters.items())
            self._buffers = dict(scripted._buffers.items())
            self._non_persistent_buffers_set = set(scripted._non_persistent_buffers_set)
            for name, child in scripted.named_children():
                self.add_module(name, child)
        object.__setattr__(self, "scripted", scripted)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The scripted module's result."""
        return self.scripted(*args, **kwargs)


class TS2EPConverter:
    """Makes an ExportedProgram of a scripted or traced module, or of a scripted function."""

    def __init__(
        self, ts_model: Any, sample_args: tuple[Any, ...], sample_kwargs: dict[str, Any] | None = None
    ) -> None:
        self.ts_model, self.sample_args, self.sample_kwargs = ts_model, sample_args, sample_kwargs

    def convert(self) -> ExportedProgram:
        """The program that the module runs for the sample inputs, of any sizes that it allows."""
        args, kwargs = tuple(self.sample_args), self.sample_kwargs or {}
        shapes = {"args": tree_map(_free, args)} | ({"kwargs": tree_map(_free, kwargs)} if kwargs else {})
        return export(
            _Scripted(self.ts_model), args, kwargs, dynamic_shapes=shapes if args or kwargs else None
        )


def _free(value: Any) -> Any:
    """What may change of an argument: sizes of tensors, but for 0 and 1, of which programs may be others."""
    return [Dim.AUTO if n > 1 else None for n in value.shape] if isinstance(value, torch.Tensor) else None
