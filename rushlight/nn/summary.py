"""summary: what a model is made of, as one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import rushlight as torch
from rushlight.nn.parameter import is_lazy


@dataclass(frozen=True)
class SummaryRow:
    """A submodule: counts are of its own parameters and of those below it, each once."""

    name: str
    type: str
    depth: int
    output: str
    parameters: int
    trainable: int


@dataclass(frozen=True, repr=False)
class Summary:
    """What `summary` found; `str()` of it is the table."""

    rows: tuple[SummaryRow, ...]
    parameters: int
    trainable: int
    parameter_bytes: int
    buffers: int
    buffer_bytes: int

    def __str__(self) -> str:
        table = [("Module", "Type", "Output shape", "Parameters", "Trainable")]
        for row in self.rows:
            label = "  " * row.depth + (row.name.rpartition(".")[2] or "(model)")
            table.append(
                (label, row.type, row.output, _count(row.parameters), _share(row.trainable, row.parameters))
            )
        widths = [max(map(len, column)) for column in zip(*table)]
        lines = [
            "  ".join(
                cell.rjust(width) if at >= 3 else cell.ljust(width)
                for at, (cell, width) in enumerate(zip(cells, widths))
            )
            for cells in table
        ]
        rule = "-" * len(lines[0])
        share = _share(self.trainable, self.parameters)
        totals = [
            f"Parameters: {self.parameters:,} ({_size(self.parameter_bytes)}), trainable: "
            f"{self.trainable:,} ({share})",
            f"Buffers: {self.buffers:,} ({_size(self.buffer_bytes)})",
            f"Total size: {_size(self.parameter_bytes + self.buffer_bytes)}",
        ]
        return "\n".join([lines[0], rule, *lines[1:], rule, *totals])

    __repr__ = __str__


def summary(model: Any, *inputs: Any, **named: Any) -> Summary:
    """Every submodule of `model` with its type, output shape, parameters and the share that is trained.

    The model runs once on the inputs, in evaluation mode and without gradients; modes, buffers and the
    random generator are as before afterwards. Without inputs it does not run and output shapes are left out.
    A module that is called several times shows its first output and the number of calls.

    Raises TypeError if `model` is no Module, ValueError if it has lazy parameters that have no shape yet.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"summary: expected a torch.nn.Module, but got {type(model).__name__}")
    for name, parameter in [*model.named_parameters(), *model.named_buffers()]:
        if is_lazy(parameter):
            raise ValueError(
                f"summary: expected parameters with shapes, but {name!r} of the model is lazy: "
                "run the model on an input first"
            )
    outputs = _outputs(model, inputs, named) if inputs or named else {}
    rows = tuple(_row(name, module, outputs.get(module, "-")) for name, module in model.named_modules())
    parameters, buffers = list(model.parameters()), list(model.buffers())
    return Summary(
        rows,
        _elements(parameters),
        _trainable(parameters),
        _bytes(parameters),
        _elements(buffers),
        _bytes(buffers),
    )


def _row(name: str, module: Any, output: str) -> SummaryRow:
    parameters = list(module.parameters())
    depth = name.count(".") + 1 if name else 0
    return SummaryRow(
        name, type(module).__name__, depth, output, _elements(parameters), _trainable(parameters)
    )


def _outputs(model: Any, inputs: tuple[Any, ...], named: dict[str, Any]) -> dict[Any, str]:
    """What each module that is called gives, in words."""
    shapes: dict[Any, str] = {}
    calls: dict[Any, int] = {}

    def note(module: Any, args: Any, output: Any) -> None:
        calls[module] = calls.get(module, 0) + 1
        shapes.setdefault(module, _shape(output))

    handles = [module.register_forward_hook(note) for module in model.modules()]
    try:
        with torch.no_grad(), torch.random.fork_rng(), _unchanged(model):
            model(*inputs, **named)
    finally:
        for handle in handles:
            handle.remove()
    return {
        module: shape + (f" x{calls[module]}" if calls[module] > 1 else "")
        for module, shape in shapes.items()
    }


@contextmanager
def _unchanged(model: Any) -> Iterator[None]:
    """Evaluation mode within the block; afterwards modes and buffers are the old ones."""
    modes = [(module, module.training) for module in model.modules()]
    homes = [(module._buffers, dict(module._buffers)) for module in model.modules()]
    copies = [(buffer, buffer._version, buffer.clone()) for buffer in model.buffers()]
    try:
        for module, _ in modes:
            module.training = False
        yield
    finally:
        for module, training in modes:
            module.training = training
        for home, before in homes:
            home.clear()
            home.update(before)
        for buffer, version, copy in copies:
            if buffer._version != version:
                buffer.copy_(copy)


def _shape(output: Any) -> str:
    """The output's shape; of a collection, the shapes in it."""
    if isinstance(output, torch.Tensor):
        return str(list(output.shape))
    if isinstance(output, Mapping):
        return "{" + ", ".join(f"{key}: {_shape(value)}" for key, value in output.items()) + "}"
    if isinstance(output, (tuple, list)):
        return "(" + ", ".join(map(_shape, output)) + ")"
    return "None" if output is None else type(output).__name__


def _elements(tensors: Iterable[Any]) -> int:
    return sum(tensor.numel() for tensor in tensors)


def _trainable(parameters: Iterable[Any]) -> int:
    return _elements(parameter for parameter in parameters if parameter.requires_grad)


def _bytes(tensors: Iterable[Any]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def _count(number: int) -> str:
    return f"{number:,}" if number else "-"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def _size(number: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if number < 1000:
            return f"{number:.4g} {unit}"
        number /= 1000
    return f"{number:,.2f} GB"
