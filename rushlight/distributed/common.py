"""Tensors sent as few large ones."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as torch
import rushlight.distributed as dist

_CHUNK = 250 << 20


def broadcast_coalesced(tensors: Sequence[Any], source: int, group: Any, limit: int = _CHUNK) -> None:
    """Give all ranks the tensors of the group's rank `source`, in place, in messages of `limit` bytes."""
    from rushlight.distributed.reducer import assign_buckets

    with torch.no_grad():
        for numbers in assign_buckets(tensors, [limit]):
            members = [tensors[n] for n in numbers]
            flat = torch.cat([t.reshape(-1) for t in members])
            dist.broadcast(flat, dist.get_global_rank(group, source), group=group)
            for t, part in zip(members, flat.split([t.numel() for t in members]), strict=True):
                t.copy_(part.view(t.shape))
