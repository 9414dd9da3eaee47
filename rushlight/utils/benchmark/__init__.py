"""torch.utils.benchmark: time statements, and set measurements side by side."""

from rushlight._engine.lazy import homes, lazy_names, public

_HOMES = homes("rushlight.utils.benchmark")
__getattr__, __dir__ = lazy_names(globals(), _HOMES)
__all__ = public(_HOMES)
