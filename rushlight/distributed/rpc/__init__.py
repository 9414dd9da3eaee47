"""Calls of functions on other processes, and references to values that lie there (torch.distributed.rpc)."""

from rushlight._engine.lazy import homes, lazy_names

_HOMES = homes("rushlight.distributed.rpc")
__getattr__, __dir__ = lazy_names(globals(), _HOMES)
__all__ = sorted(name for name, home in _HOMES.items() if home != "." and not name.startswith("_"))


def is_available() -> bool:
    """True: remote calls are there."""
    return True
