"""Models whose parameters are cut over the ranks (torch.distributed.fsdp)."""

from rushlight._engine.lazy import homes, lazy_names

_HOMES = homes("rushlight.distributed.fsdp")
__getattr__, __dir__ = lazy_names(globals(), _HOMES)
__all__ = sorted(name for name, home in _HOMES.items() if home != ".")
