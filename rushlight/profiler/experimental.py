"""What PyTorch's profiler takes as experimental, and the switches of what its traces hold.

They are taken and kept, so that programs that set them run; what is recorded here does not depend on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class _ExperimentalConfig:
    """Options for `profile(experimental_config=...)`, by PyTorch's names; each may be read again."""

    def __init__(
        self,
        profiler_metrics: Sequence[str] = (),
        profiler_measure_per_kernel: bool = False,
        verbose: bool = False,
        performance_events: Sequence[str] = (),
        enable_cuda_sync_events: bool = False,
        adjust_profiler_step: bool = False,
        disable_external_correlation: bool = False,
        profile_all_threads: bool = False,
        capture_overload_names: bool = False,
        record_python_gc_info: bool = False,
        expose_kineto_event_metadata: bool = False,
        custom_profiler_config: str = "",
        adjust_timestamps: bool = False,
        trace_only: bool = False,
    ) -> None:
        self.profiler_metrics = list(profiler_metrics)
        self.profiler_measure_per_kernel = profiler_measure_per_kernel
        self.verbose = verbose
        self.performance_events = list(performance_events)
        self.enable_cuda_sync_events = enable_cuda_sync_events
        self.adjust_profiler_step = adjust_profiler_step
        self.disable_external_correlation = disable_external_correlation
        self.profile_all_threads = profile_all_threads
        self.capture_overload_names = capture_overload_names
        self.record_python_gc_info = record_python_gc_info
        self.expose_kineto_event_metadata = expose_kineto_event_metadata
        self.custom_profiler_config = custom_profiler_config
        self.adjust_timestamps = adjust_timestamps
        self.trace_only = trace_only


_switches: dict[str, bool] = {}


def _switch(name: str) -> Any:
    def put(enabled: bool) -> None:
        _switches[name] = bool(enabled)

    put.__name__ = put.__qualname__ = f"_set_{name}_enabled_val"
    put.__doc__ = "Take the switch, which changes nothing here."
    return put


_set_cuda_sync_enabled_val, _set_fwd_bwd_enabled_val, _set_record_concrete_inputs_enabled_val = map(
    _switch, ("cuda_sync", "fwd_bwd", "record_concrete_inputs")
)
