"""Tensors sent as few large ones; PyTorch's longer messages, which words.tsv has."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import rushlight as torch
import rushlight.distributed as dist

_CHUNK = 250 << 20


def broadcast_coalesced(tensors: Sequence[Any], source: int, group: Any, limit: int = _CHUNK) -> None:
    """Give all ranks the tensors of the group's rank `source`, in place, in messages of `limit` bytes."""
    from rushlight.distributed.reducer import assign_buckets  # it imports this file

    with torch.no_grad():
        for numbers in assign_buckets(tensors, [limit]):
            members = [tensors[n] for n in numbers]
            flat = torch.cat([t.reshape(-1) for t in members])
            dist.broadcast(flat, dist.get_global_rank(group, source), group=group)
            for t, part in zip(members, flat.split([t.numel() for t in members]), strict=True):
                t.copy_(part.view(t.shape))


def _broadcast_coalesced(process_group: Any, tensors: Sequence[Any], buffer_size: int, src: int = 0) -> None:
    """Give all ranks the tensors of the group's rank `src`, in place, in messages of `buffer_size` bytes."""
    broadcast_coalesced(tensors, src, process_group, buffer_size)


def words(which: str, **values: Any) -> str:
    """A message of words.tsv, with these values in it."""
    with open(os.path.join(os.path.dirname(__file__), "words.tsv"), encoding="utf-8") as file:
        texts = dict(line.rstrip("\n").split("\t") for line in file)
    return texts[which].replace("\\n", "\n").format(**values)
