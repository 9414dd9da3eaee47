"""torch.masked: functions of the elements that a mask chooses, and tensors that carry such a mask."""

from rushlight._engine.lazy import homes, lazy_names, public

_HOMES = homes("rushlight.masked")
__getattr__, __dir__ = lazy_names(globals(), _HOMES)
__all__ = public(_HOMES)
