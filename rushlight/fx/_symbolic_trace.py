"""torch.fx._symbolic_trace: the tracer's names, by PyTorch's module."""

from rushlight.fx.tracer import Tracer, is_fx_tracing, symbolic_trace, wrap

__all__ = ["Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]
