"""A model in stages on several ranks, which compute a batch in microbatches (torch.distributed.pipelining).

`stage.py` is what a rank computes, `actions.py` in which order schedules do, `schedules.py` runs that;
`microbatch.py` cuts batches, `_IR.py` modules.
"""

from rushlight._engine.lazy import homes, lazy_names

_HOMES = homes("rushlight.distributed.pipelining")
__getattr__, __dir__ = lazy_names(globals(), _HOMES)
__all__ = sorted(name for name, home in _HOMES.items() if home != "." and not name.startswith("_"))
