"""torch._export.serde: descriptions of exported programs for files."""

from rushlight._engine.lazy import homes, lazy_names

__getattr__, __dir__ = lazy_names(globals(), homes("rushlight._export.serde"))
