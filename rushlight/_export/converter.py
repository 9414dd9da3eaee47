"""torch._export.converter: TorchScript as exported programs."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import tree_map
from rushlight._export.scripted_branches import assigned_tensors, with_branches
from rushlight.export.program import ExportedProgram
from rushlight.export.symbols import Dim
from rushlight.export.tracing import export

__all__ = ["TS2EPConverter"]


class _Scripted(torch.nn.Module):
    """A scripted module or function, with its state under its own names, as a module that calls it. Tensors
    that its forward assigns to attributes are buffers.
    """

    def __init__(self, scripted: Any) -> None:
        super().__init__()
        self.assigned: list[str] = []
        if isinstance(scripted, torch.nn.Module):
            self.assigned = assigned_tensors(scripted)
            self._parameters = dict(scripted._parameters.items())
            self._buffers = dict(scripted._buffers.items()) | {n: getattr(scripted, n) for n in self.assigned}
            self._non_persistent_buffers_set = set(scripted._non_persistent_buffers_set)
            for name, child in scripted.named_children():
                self.add_module(name, child)
        object.__setattr__(self, "original", scripted)
        object.__setattr__(self, "scripted", with_branches(scripted) or scripted)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The scripted module's result; what it assigns, this module has in its place."""
        if not isinstance(self.original, torch.nn.Module):
            return self.scripted(*args, **kwargs)
        places = [(n, self._place(n)) for n in self._buffers]
        before, attributes = [(n, held, held[n]) for n, held in places], dict(self.original.__dict__)
        for name, held in places:
            held[name] = self._buffers[name]
        try:
            return self.scripted(*args, **kwargs)
        finally:
            for name, held, was in before:
                self._buffers[name] = held[name]
                held[name] = was
            self.original.__dict__.update(attributes)

    def _place(self, name: str) -> dict[str, Any]:
        """Where the scripted module has a buffer, or a tensor that it assigns."""
        found: dict[str, Any] = self.original.__dict__ if name in self.assigned else self.original._buffers
        return found


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
