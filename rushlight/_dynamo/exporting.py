"""torch._dynamo.export: a function's program, by torch.export."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from rushlight import Tensor
from rushlight._engine.core.pytree import flatten, tree_map
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
        # So that its parameters are the program's.
        self.__dict__["forward"] = f


def _all_free(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """dynamic_shapes for a call in which each size but 0 and 1 may be another."""
    given = inspect.signature(module.forward).bind(*args, **kwargs).arguments
    from rushlight.export import Dim  # it imports this package's exceptions

    free: Any = Dim.AUTO
    found: dict[str, Any] = tree_map(
        lambda t: {d: free for d, n in enumerate(t.shape) if n > 1} if isinstance(t, Tensor) else None,
        dict(given),
    )
    return found


def export(f: Callable[..., Any], *extra_args: Any, **options: Any) -> Any:
    """export(f)(*args, **kwargs): (a graph module that is called as f, an empty set in place of guards).

    options: PyTorch's keywords (`aten_graph`, `tracing_mode`, `dynamic_shapes`, `same_signature`, ...). Of
    these `dynamic_shapes` is handed on to torch.export; the graph is of aten's ops in any case. The older
    spelling export(f, *args) works too. Without
    dynamic_shapes all sizes are free that make no difference, but with assume_static_by_default=True.
    Errors: those of torch.export; ConstraintViolationError (of torch.fx.experimental.symbolic_shapes) where
    sizes contradict `dynamic_shapes`.
    """
    shapes = options.pop("dynamic_shapes", None)
    named = {name: value for name, value in options.items() if name not in _OPTIONS}

    def run(*args: Any, **kwargs: Any) -> ExportResult:
        # It imports this package's exceptions.
        from rushlight.export import export as exported
        from rushlight.export.errors import ConstraintViolationError, UserError, UserErrorType

        module = f if isinstance(f, Module) else _Called(f)
        said = shapes
        if said is None and not options.get("assume_static_by_default"):
            said = _all_free(module, args, kwargs)
        try:
            program = exported(module, args, kwargs, dynamic_shapes=said, strict=False)
        except UserError as error:
            if error.error_type is not UserErrorType.CONSTRAINT_VIOLATION:
                raise
            raise ConstraintViolationError(str(error)) from None
        made = program.module(check_guards=False)
        leaves = flatten((args, kwargs))[0]
        for node, value in zip(made.graph.find_nodes(op="placeholder"), leaves, strict=False):
            used = any(user.op == "call_function" for user in node.users)
            if used and isinstance(value, Tensor):  # what a program has noted at its tensors
                node.meta["tensor_dict"] = dict(value.__dict__)
        return ExportResult(made, set())

    return run(*extra_args, **named) if extra_args or named else run


_OPTIONS = frozenset(
    "aten_graph pre_dispatch decomposition_table tracing_mode assume_static_by_default same_signature "
    "disable_constraint_solver prefer_deferred_runtime_asserts_over_guards constraints".split()
)
