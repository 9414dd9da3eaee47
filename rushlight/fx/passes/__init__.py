"""torch.fx.passes: walks over graphs, and changes of them.

Begin with tools_common.py (names and order of nodes) and split_module.py (a graph as a few modules).
`infra/` has what runs passes, `utils/` what finds parts of graphs.
"""

from __future__ import annotations

from rushlight._engine.lazy import homes, lazy_names

__getattr__, __dir__ = lazy_names(globals(), homes("rushlight.fx.passes"))
