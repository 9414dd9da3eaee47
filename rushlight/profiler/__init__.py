"""torch.profiler: where a program's time goes, op by op. See docs/profiler.md."""
from __future__ import annotations

from rushlight.base.lazy import lazy_names

_HOME = {
    "profile": "profiler", "schedule": "profiler", "tensorboard_trace_handler": "profiler",
    "ProfilerAction": "profiler", "ProfilerActivity": "events", "DeviceType": "events",
    "RecordScope": "events", "supported_activities": "events", "record_function": "simple",
}
__getattr__, __dir__ = lazy_names(globals(), _HOME, ("profiler", "events", "simple", "table", "watch"))
__all__ = list(_HOME)
