"""torch.distributions: distributions that are drawn from, weigh values by, and are compared."""
from __future__ import annotations

from rushlight.base.lazy import homes, lazy_names, public

__getattr__, __dir__ = lazy_names(globals(), _HOMES := homes(__name__))
__all__ = public(_HOMES)
