# Written by `python tools/stubs.py`.
"""A model in stages on several ranks, which compute a batch in microbatches (torch.distributed.pipelining).

`stage.py` is what a rank computes, `actions.py` in which order schedules do, `schedules.py` runs that;
`microbatch.py` cuts batches, `_IR.py` modules.
"""

from rushlight.distributed.pipelining._IR import Pipe as Pipe
from rushlight.distributed.pipelining.stage import PipelineStage as PipelineStage
from rushlight.distributed.pipelining.schedules import Schedule1F1B as Schedule1F1B
from rushlight.distributed.pipelining.schedules import ScheduleDualPipeV as ScheduleDualPipeV
from rushlight.distributed.pipelining.schedules import ScheduleGPipe as ScheduleGPipe
from rushlight.distributed.pipelining.schedules import ScheduleInterleaved1F1B as ScheduleInterleaved1F1B
from rushlight.distributed.pipelining.schedules import ScheduleInterleavedZeroBubble as ScheduleInterleavedZeroBubble
from rushlight.distributed.pipelining.schedules import ScheduleLoopedBFS as ScheduleLoopedBFS
from rushlight.distributed.pipelining.schedules import ScheduleZBVZeroBubble as ScheduleZBVZeroBubble
from rushlight.distributed.pipelining._IR import SplitPoint as SplitPoint
from rushlight.distributed.pipelining import _IR as _IR
from rushlight.distributed.pipelining.schedules import _ScheduleForwardOnly as _ScheduleForwardOnly
from rushlight.distributed.pipelining import _backward as _backward
from rushlight.distributed.pipelining import _utils as _utils
from rushlight.distributed.pipelining._IR import build_stage as build_stage
from rushlight.distributed.pipelining import microbatch as microbatch
from rushlight.distributed.pipelining._IR import pipe_split as pipe_split
from rushlight.distributed.pipelining._IR import pipeline as pipeline
from rushlight.distributed.pipelining import schedules as schedules
from rushlight.distributed.pipelining import stage as stage
def __dir__() -> list[str]: ...
__all__ = ['Pipe', 'PipelineStage', 'Schedule1F1B', 'ScheduleDualPipeV', 'ScheduleGPipe',
    'ScheduleInterleaved1F1B', 'ScheduleInterleavedZeroBubble', 'ScheduleLoopedBFS', 'ScheduleZBVZeroBubble',
    'SplitPoint', 'build_stage', 'pipe_split', 'pipeline']
