"""Where the local part of a DTensor lies."""

from __future__ import annotations

from typing import Any

from rushlight.distributed.tensor.placement_types import box


def compute_local_shape_and_global_offset(
    global_shape: Any, mesh: Any, placements: Any
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(sizes, offsets) of what this rank holds of a tensor of `global_shape`."""
    offsets, sizes = box(global_shape, mesh, placements)
    return tuple(sizes), tuple(offsets)
