"""torch.profiler: where a program's time goes, op by op. See docs/profiler.md."""

from __future__ import annotations

from rushlight._engine.lazy import homes, lazy_names, public

__getattr__, __dir__ = lazy_names(globals(), homes("rushlight.profiler"))
__all__ = public(homes("rushlight.profiler"))
