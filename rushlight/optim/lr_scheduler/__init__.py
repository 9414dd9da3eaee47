"""torch.optim.lr_scheduler: learning rates as functions of the step."""

from rushlight._engine.lazy import homes, lazy_names, public

_HOMES = homes("rushlight.optim.lr_scheduler")
__getattr__, __dir__ = lazy_names(globals(), _HOMES)
__all__ = public(_HOMES)
