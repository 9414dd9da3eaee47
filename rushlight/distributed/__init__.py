"""torch.distributed: the ranks of a job, the collectives among them, and the stores in which they meet.

Written on the public API. Processes talk by MPI (MPICH through mpi4py, `pip install rushlight[dist]`), which
is loaded when init_process_group() is called for more than one rank. docs/distributed.md says how.
"""

from rushlight._engine.lazy import homes, lazy_names

_HOMES = homes("rushlight.distributed")
__getattr__, __dir__ = lazy_names(globals(), _HOMES)
__all__ = sorted(name for name, home in _HOMES.items() if home != ".")
