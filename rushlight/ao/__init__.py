"""torch.ao: quantization (`ao.quantization`), and the layers that it puts in place of others (`ao.nn`)."""

from rushlight._engine.lazy import homes, lazy_names

__getattr__, __dir__ = lazy_names(globals(), homes("rushlight.ao"))
__all__ = ["nn", "quantization"]
