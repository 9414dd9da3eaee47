"""torch.cuda._memory_viz: a record of a device's memory as a page for PyTorch's memory viewer.

The pages take what _snapshot() and _dump_snapshot() give. They load the viewer from the network when they are
opened (pytorch.org/memory_viz shows the files themselves).
"""

from __future__ import annotations

import base64
import json
import pickle
from typing import Any

from rushlight._engine.core.callers import warn

_VIEWER = "https://cdn.jsdelivr.net/gh/pytorch/pytorch@main/torch/utils/viz/MemoryViz.js"
_PAGE = """<!DOCTYPE html>
<html>
<head><meta charset="utf-8"><title>{kind}</title></head>
<body>
<script type="module">
import {{add_local_files}} from "{viewer}"
add_local_files({files}, {kind!r})
</script>
</body>
</html>
"""


def _format_viz(data: Any, viz_kind: str, device: Any) -> str:
    """The page that shows `data` in one of the viewer's ways."""
    if device is not None:
        warn("device argument is deprecated, plots now contain all device", FutureWarning)
    packed = pickle.dumps(data)
    packed += b"\0" * (3 - len(packed) % 3)
    files = [{"name": "snapshot.pickle", "base64": base64.b64encode(packed).decode()}]
    return _PAGE.format(kind=viz_kind, viewer=_VIEWER, files=json.dumps(files))


def trace_plot(
    data: dict[str, Any], device: Any = None, plot_segments: bool = False, filter_freed: bool = False
) -> str:
    """A page of what was allocated when; plot_segments: of segments. filter_freed: without what was freed
    again.
    """
    if filter_freed:
        data = filter_alloc_free_pairs(data)
    kind = "Active Cached Memory Timeline" if plot_segments else "Active Memory Timeline"
    return _format_viz(data, kind, device)


def segment_plot(data: Any, device: Any = None) -> str:
    """A page of the segments, event by event."""
    return _format_viz(data, "Allocator State History", device)


def filter_alloc_free_pairs(data: dict[str, Any]) -> dict[str, Any]:
    """The record, changed in place, without the events of memory that was freed while it was recorded."""
    traces = data["device_traces"]
    for number, events in enumerate(traces):
        left_out: set[int] = set()
        begun: dict[int, int] = {}
        asked: dict[int, int] = {}
        for k, event in enumerate(events):
            address = event.get("addr")
            if event["action"] == "alloc":
                begun[address] = k
            elif event["action"] == "free_requested":
                asked[address] = k
            elif event["action"] == "free_completed":
                first, second = begun.pop(address, -1), asked.pop(address, -1)
                left_out.update([first, second, k] if first >= 0 and second >= 0 else ())
        traces[number] = [event for k, event in enumerate(events) if k not in left_out]
    return data


__all__ = ["filter_alloc_free_pairs", "segment_plot", "trace_plot"]
