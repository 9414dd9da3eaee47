"""torch.compiler: what a program says to compile(), or asks it, beside calling it."""

from rushlight._engine.lazy import homes, lazy_names, public

_HOMES = homes("rushlight.compiler")
__getattr__, __dir__ = lazy_names(globals(), _HOMES)
__all__ = [*public(_HOMES), "config"]
