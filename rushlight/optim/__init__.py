"""torch.optim: optimizers and learning-rate schedulers."""

from rushlight._engine.lazy import homes, lazy_names, public

_HOMES = homes("rushlight.optim")
__getattr__, __dir__ = lazy_names(globals(), _HOMES)
__all__ = [*public(_HOMES), "functional", "lr_scheduler", "swa_utils"]
