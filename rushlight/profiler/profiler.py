"""torch.profiler.profile: a profile over the steps of a training loop, some of which are watched."""

from __future__ import annotations

import enum
import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

from rushlight._engine.core.callers import warn
from rushlight._engine.core.profiling_ranges import span
from rushlight.profiler import simple
from rushlight.profiler.events import EventList, ProfilerActivity, supported_activities

# What to do in a step.
ProfilerAction: Any = enum.Enum("ProfilerAction", "NONE WARMUP RECORD RECORD_AND_SAVE", start=0)
_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """A function from steps to actions: after `skip_first` steps, cycles of `wait` idle steps, `warmup`
    steps and `active` recorded ones; `repeat` cycles, 0 for no end. AssertionError for negative counts.

    skip_first_wait: not 0 to leave out the first cycle's waiting.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warn("Profiler won't be using warmup, this can skew profiler results")
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        place = step % cycle
        if (repeat and step >= repeat * cycle) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def _default_schedule_fn(_: int) -> ProfilerAction:
    """Record every step."""
    return ProfilerAction.RECORD


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[Any], None]:
    """An on_trace_ready that writes each trace to a file of its own in `dir_name`, which is made."""

    def handler(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handler


class profile(simple.Results):
    """A context manager: watches what this thread computes, and calls on_trace_ready(self) when a cycle ends.

    activities: ProfilerActivity.CPU is there, others see nothing. schedule: which steps to watch, see
    `schedule`; all of the time by default. `step()` tells that the next step begins. record_shapes,
    profile_memory (what results take, not when it is freed), with_stack, with_flops: keep these too.
    with_modules and the settings of PyTorch's tracer are accepted. Only the last cycle's events are kept;
    acc_events=True keeps those of all cycles.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        acc_events: bool = False,
        **ignored: Any,
    ) -> None:
        self.activities = supported_activities() if activities is None else set(activities)
        if not self.activities or not all(isinstance(a, ProfilerActivity) for a in self.activities):
            raise AssertionError("No valid profiler activities found")
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.record_steps = schedule is not None
        self.on_trace_ready, self.acc_events, self.with_stack = on_trace_ready, acc_events, with_stack
        self._kept = {
            "record_shapes": record_shapes,
            "profile_memory": profile_memory,
            "with_stack": with_stack,
            "with_flops": with_flops,
        }
        self.step_num, self.current_action = 0, self.schedule(0)
        self.profiler: simple.profile | None = None
        self._recording = False
        self._earlier: list[Any] = []
        self.metadata: dict[str, Any] = {}

    def __enter__(self) -> profile:
        """Begin with step 0."""
        if self.current_action in _RECORDING:
            self._begin()
        self._open_step()
        return self

    def __exit__(self, *error: object) -> None:
        """End; what is being recorded is handed to on_trace_ready."""
        self._close_step()
        if self._recording:
            self._end(ready=True)

    start, stop = __enter__, __exit__

    def step(self) -> None:
        """The next step begins."""
        self._close_step()
        before, self.step_num = self.current_action, self.step_num + 1
        self.current_action = now = self.schedule(self.step_num)
        if self._recording and (before is ProfilerAction.RECORD_AND_SAVE or now not in _RECORDING):
            self._end(ready=before is ProfilerAction.RECORD_AND_SAVE)
        if now in _RECORDING and not self._recording:
            self._begin()
        self._open_step()

    def _open_step(self) -> None:
        self._step = span(f"ProfilerStep#{self.step_num}").__enter__() if self.record_steps else None

    def _close_step(self) -> None:
        if self._step is not None:
            self._step.__exit__()
            self._step = None

    def _begin(self) -> None:
        if self.acc_events and self.profiler is not None:
            self._earlier += self.profiler.events()
        self.profiler = simple.profile(**self._kept).__enter__()
        self._recording = True

    def _end(self, ready: bool) -> None:
        self._recording = False
        if self.profiler is not None:
            self.profiler.__exit__()
        if ready and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _events(self, wanted: str) -> EventList:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {wanted}")
        found = self.profiler.events()
        return found._like([*self._earlier, *found]) if self._earlier else found

    def add_metadata(self, key: str, value: str) -> None:
        """Put a text into the trace's file."""
        self.metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Put a value, given as JSON, into the trace's file."""
        self.metadata[key] = json.loads(value)
