"""torch.utils.data.datapipes: iterables and sequences that are chained by methods."""

from __future__ import annotations

from rushlight._engine.lazy import homes, lazy_names, public

_HOMES = homes("rushlight.utils.data.datapipes")
__getattr__, __dir__ = lazy_names(globals(), _HOMES)
__all__ = public(_HOMES)
