"""torch.func: derivatives and vectorisation as functions of functions, which compose."""

from rushlight._engine.lazy import homes, lazy_names

__all__ = [*homes("rushlight.func")]
__getattr__, __dir__ = lazy_names(globals(), homes("rushlight.func"))
