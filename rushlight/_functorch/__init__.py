"""torch._functorch: torch.func's parts by their older names, and the memory budget of compile()."""

from rushlight._engine.lazy import homes, lazy_names
from rushlight._functorch import config as config

__getattr__, __dir__ = lazy_names(globals(), homes("rushlight._functorch"))
