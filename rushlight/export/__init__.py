"""torch.export: a module's call as a graph of aten ops with its state, which runs without the module's code.

`listener.py` records, `tracing.py` tells several records as one graph, `program.py` is the result,
`files/` its file.
"""

from __future__ import annotations

from rushlight._engine.lazy import homes, lazy_names

__getattr__, __dir__ = lazy_names(globals(), homes("rushlight.export"))
