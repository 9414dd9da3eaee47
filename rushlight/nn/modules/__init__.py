"""The modules of torch.nn, by file. A file is loaded when one of its names is first mentioned."""

from rushlight._engine.lazy import homes, lazy_names, public

HOMES = homes("rushlight.nn.modules")
__getattr__, __dir__ = lazy_names(globals(), HOMES)
__all__ = public(HOMES)
