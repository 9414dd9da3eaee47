"""Workers of the launcher (torch.distributed.elastic.multiprocessing): their output, and what they failed
of.
"""

from rushlight.distributed.elastic.multiprocessing.api import (
    DefaultLogsSpecs,
    LogsSpecs,
    SignalException,
    Std,
)

__all__ = ["DefaultLogsSpecs", "LogsSpecs", "SignalException", "Std"]
