"""torch.fx._symbolic_trace: the tracer's names, by PyTorch's module."""

from rushlight._dynamo.api import is_exporting
from rushlight.fx.concrete import PH, PHBase, PHWithMeta, ProxyableClassMeta, _assert_is_none
from rushlight.fx.tracer import (
    Tracer,
    _wrapped_methods_to_patch,
    is_fx_tracing as is_fx_symbolic_tracing,
    symbolic_trace,
    wrap,
)


def is_fx_tracing() -> bool:
    """Whether a Tracer of torch.fx runs the program, or torch.export records it."""
    return is_fx_symbolic_tracing() or is_exporting()


__all__ = [
    "PH",
    "PHBase",
    "PHWithMeta",
    "ProxyableClassMeta",
    "Tracer",
    "_assert_is_none",
    "_wrapped_methods_to_patch",
    "is_fx_symbolic_tracing",
    "is_fx_tracing",
    "symbolic_trace",
    "wrap",
]
