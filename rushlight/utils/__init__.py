"""Tools around tensors, modules and data (torch.utils). Sub-packages load at first mention."""

from rushlight._engine.lazy import homes, lazy_names

__getattr__, __dir__ = lazy_names(globals(), homes("rushlight.utils"))
