"""torch.utils.data: datasets, samplers, the DataLoader."""

from rushlight._engine.lazy import homes, lazy_names, public

_HOMES = homes("rushlight.utils.data")
__getattr__, __dir__ = lazy_names(globals(), _HOMES)
__all__ = public(_HOMES)
