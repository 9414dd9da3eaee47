"""torch.export._trace: what export() consists of, for tools that go further than it."""

from __future__ import annotations

from typing import Any

from rushlight.export.program import ExportedProgram
from rushlight.export.recording.strictness import DEFAULT_EXPORT_DYNAMO_CONFIG, ExportDynamoConfig
from rushlight.export.tracing import export

__all__ = ["DEFAULT_EXPORT_DYNAMO_CONFIG", "ExportDynamoConfig", "_export", "_export_for_training"]


def _export(
    mod: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    dynamic_shapes: Any = None,
    *,
    strict: bool = True,
    preserve_module_call_signature: tuple[str, ...] = (),
    pre_dispatch: bool = False,
    prefer_deferred_runtime_asserts_over_guards: bool = False,
    **options: Any,
) -> ExportedProgram:
    """export(), whose program is decomposed unless pre_dispatch says that autograd is yet to see it."""
    made = export(
        mod,
        args,
        kwargs,
        dynamic_shapes=dynamic_shapes,
        strict=strict,
        preserve_module_call_signature=preserve_module_call_signature,
        prefer_deferred_runtime_asserts_over_guards=prefer_deferred_runtime_asserts_over_guards,
    )
    return made if pre_dispatch else made.run_decompositions({})


def _export_for_training(
    mod: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    dynamic_shapes: Any = None,
    *,
    strict: bool = True,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """export()."""
    return export(
        mod,
        args,
        kwargs,
        dynamic_shapes=dynamic_shapes,
        strict=strict,
        preserve_module_call_signature=preserve_module_call_signature,
        prefer_deferred_runtime_asserts_over_guards=prefer_deferred_runtime_asserts_over_guards,
    )


def _export_to_torch_ir(
    f: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    dynamic_shapes: Any = None,
    **options: Any,
) -> Any:
    """A module's call as a graph module of the functions of torch that it calls, with the module's state.

    Sizes are those of the arguments. options: PyTorch's other keywords, which change nothing.
    """
    # It imports this package.
    from rushlight._dynamo.graphs.functional_export import dynamo_graph_capture_for_export

    return dynamo_graph_capture_for_export(f)(*args, **(kwargs or {}))
