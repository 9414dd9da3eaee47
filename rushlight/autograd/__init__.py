"""torch.autograd: the graph, the engine, and their public names."""

from rushlight._engine.lazy import homes, lazy_names

__getattr__, __dir__ = lazy_names(globals(), homes("rushlight.autograd"))
