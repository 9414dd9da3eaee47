"""torch.fx: programs as graphs that can be looked at, changed and run.

`symbolic_trace` runs a module's forward on Proxies; `torch.export` makes graphs of another kind, of aten ops,
by running it on tensors (see export/).
"""

from __future__ import annotations

from rushlight._engine.lazy import homes, lazy_names

__getattr__, __dir__ = lazy_names(globals(), homes("rushlight.fx"))
