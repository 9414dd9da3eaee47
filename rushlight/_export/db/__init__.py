"""torch._export.db: what export() can do, told by examples."""

from rushlight._engine.lazy import homes, lazy_names

__getattr__, __dir__ = lazy_names(globals(), homes("rushlight._export.db"))
