"""Time limits for blocks of a worker's code (torch.distributed.elastic.timer): who exceeds one is killed."""

from rushlight.distributed.elastic.timer.api import TimerClient, TimerRequest, TimerServer, configure, expires
from rushlight.distributed.elastic.timer.file_based_local_timer import (
    FileTimerClient,
    FileTimerRequest,
    FileTimerServer,
)
from rushlight.distributed.elastic.timer.local_timer import LocalTimerClient, LocalTimerServer

__all__ = [
    "FileTimerClient",
    "FileTimerRequest",
    "FileTimerServer",
    "LocalTimerClient",
    "LocalTimerServer",
    "TimerClient",
    "TimerRequest",
    "TimerServer",
    "configure",
    "expires",
]
