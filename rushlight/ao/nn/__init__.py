"""torch.ao.nn: layers for quantization."""

from rushlight._engine.lazy import homes, lazy_names

__getattr__, __dir__ = lazy_names(globals(), homes("rushlight.ao.nn"))
__all__ = ["intrinsic", "qat", "quantized"]
