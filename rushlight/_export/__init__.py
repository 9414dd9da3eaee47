"""torch._export: what tools about exported programs ask for."""

from rushlight._engine.lazy import homes, lazy_names

__getattr__, __dir__ = lazy_names(globals(), homes("rushlight._export"))
