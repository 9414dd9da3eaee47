"""torch._dynamo.export: a function's program, by torch.export."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rushlight.nn import Module


class ExportResult(NamedTuple):
    """What export() gives."""

    graph_module: Any
    guards: set[Any]


class _Called(Module):
    """A function, or a bound method, as a module; the module of such a method is a part of it."""

    def __init__(self, f: Callable[..., Any]) -> None:
        super().__init__()
        owner = getattr(f, "__self__", None)
        if isinstance(owner, Module):
            self.owner = owner
        self._function = f

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The function's call."""
        return self._function(*args, **kwargs)


def export(f: Callable[..., Any], *extra_args: Any, **options: Any) -> Any:
    """export(f)(*args, **kwargs): (a graph module that is called as f, an empty set in place of guards).

    options: PyTorch's keywords (`aten_graph`, `tracing_mode`, `dynamic_shapes`, `same_signature`, ...). Of
    these `dynamic_shapes` is handed on to torch.export; the graph is of aten's ops in any case. The older
    spelling export(f, *args) works too. Errors: those of torch.export.
    """
    shapes = options.pop("dynamic_shapes", None)
    named = {name: value for name, value in options.items() if name not in _OPTIONS}

    def run(*args: Any, **kwargs: Any) -> ExportResult:
        from rushlight.export import export as exported  # it imports this package's exceptions

        module = f if isinstance(f, Module) else _Called(f)
        program = exported(module, args, kwargs, dynamic_shapes=shapes, strict=False)
        return ExportResult(program.module(), set())

    return run(*extra_args, **named) if extra_args or named else run


_OPTIONS = frozenset(
    "aten_graph pre_dispatch decomposition_table tracing_mode assume_static_by_default same_signature "
    "disable_constraint_solver prefer_deferred_runtime_asserts_over_guards constraints".split()
)
