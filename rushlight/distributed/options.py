"""Options of single collectives, and how much torch.distributed says of itself.

The classes hold what PyTorch's process groups are called with; the collectives here take the same as
arguments.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum
from typing import Any

from rushlight.distributed.communication.reductions import RedOpType

_UNSET = timedelta(milliseconds=-1)  # the group's own


@dataclass(eq=False)
class _Options:
    """What every collective takes: how long to wait (-1 ms: as long as the group says), and whether to
    return at once.
    """

    timeout: timedelta = _UNSET
    asyncOp: bool = True


@dataclass(eq=False)
class AllreduceOptions(_Options):
    """Of all_reduce."""

    reduceOp: Any = RedOpType.SUM
    sparseIndices: Any = None


class AllreduceCoalescedOptions(AllreduceOptions):
    """Of all_reduce_coalesced."""


@dataclass(eq=False)
class ReduceOptions(_Options):
    """Of reduce."""

    reduceOp: Any = RedOpType.SUM
    rootRank: int = 0
    rootTensor: int = 0


@dataclass(eq=False)
class ReduceScatterOptions(_Options):
    """Of reduce_scatter."""

    reduceOp: Any = RedOpType.SUM


@dataclass(eq=False)
class BroadcastOptions(_Options):
    """Of broadcast."""

    rootRank: int = 0
    rootTensor: int = 0


@dataclass(eq=False)
class GatherOptions(_Options):
    """Of gather."""

    rootRank: int = 0


class ScatterOptions(GatherOptions):
    """Of scatter."""


class AllgatherOptions(_Options):
    """Of all_gather."""


class AllToAllOptions(_Options):
    """Of all_to_all."""


class BarrierOptions(_Options):
    """Of barrier."""

    def __init__(self) -> None:
        super().__init__()
        self.device_ids: list[int] = []
        self.device: Any = None


class DebugLevel(IntEnum):
    """How much torch.distributed says of itself."""

    OFF, INFO, DETAIL = range(3)

    def __str__(self) -> str:
        return f"DebugLevel.{self.name}"


_LEVEL: list[DebugLevel] = []


def get_debug_level() -> DebugLevel:
    """What TORCH_DISTRIBUTED_DEBUG says, or what was set since. Here it is for programs to read: every error
    names the ranks and what they were doing, whatever the level.
    """
    if not _LEVEL:
        set_debug_level_from_env()
    return _LEVEL[0]


def set_debug_level(level: DebugLevel) -> None:
    """What get_debug_level() gives from now on."""
    _LEVEL[:] = [DebugLevel(level)]


def set_debug_level_from_env() -> None:
    """The level of TORCH_DISTRIBUTED_DEBUG, OFF where it is not set; ValueError for another word."""
    word = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if word not in DebugLevel.__members__:
        raise ValueError(
            "The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL, "
            f"got {os.environ['TORCH_DISTRIBUTED_DEBUG']!r}"
        )
    set_debug_level(DebugLevel[word])
