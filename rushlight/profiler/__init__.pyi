# Written by `python tools/stubs.py`.
"""torch.profiler: where a program's time goes, op by op. See docs/profiler.md."""

from rushlight.profiler.events import DeviceType as DeviceType
from rushlight.profiler.profiler import ProfilerAction as ProfilerAction
from rushlight.profiler.events import ProfilerActivity as ProfilerActivity
from rushlight.profiler.events import RecordScope as RecordScope
from rushlight.profiler.experimental import _ExperimentalConfig as _ExperimentalConfig
from rushlight.profiler import events as events
from rushlight.profiler import experimental as experimental
from rushlight.profiler import itt as itt
from rushlight.profiler.events import kineto_available as kineto_available
from rushlight.profiler.profiler import profile as profile
from rushlight.profiler import profiler as profiler
from rushlight.profiler.simple import record_function as record_function
from rushlight.profiler.profiler import schedule as schedule
from rushlight.profiler import simple as simple
from rushlight.profiler.events import supported_activities as supported_activities
from rushlight.profiler import table as table
from rushlight.profiler.profiler import tensorboard_trace_handler as tensorboard_trace_handler
from rushlight.profiler import watch as watch
def __dir__() -> list[str]: ...
__all__ = ['DeviceType', 'ProfilerAction', 'ProfilerActivity', 'RecordScope', '_ExperimentalConfig',
    'kineto_available', 'profile', 'record_function', 'schedule', 'supported_activities',
    'tensorboard_trace_handler']
