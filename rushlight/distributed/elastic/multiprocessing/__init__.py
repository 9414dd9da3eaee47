"""Workers of the launcher (torch.distributed.elastic.multiprocessing): their output, and what they failed
of; workers of a program's own agent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight.distributed.elastic.multiprocessing.api import (
    DefaultLogsSpecs,
    LogsDest,
    LogsSpecs,
    MultiprocessContext,
    PContext,
    RunProcsResult,
    SignalException,
    Std,
    SubprocessContext,
    _validate_full_rank,
    to_map,
)
from rushlight.distributed.elastic.multiprocessing.errors import ProcessFailure

__all__ = [
    "DefaultLogsSpecs",
    "LogsDest",
    "LogsSpecs",
    "MultiprocessContext",
    "PContext",
    "ProcessFailure",
    "RunProcsResult",
    "SignalException",
    "Std",
    "SubprocessContext",
    "start_processes",
    "to_map",
]


def start_processes(
    name: str,
    entrypoint: Callable[..., Any] | str,
    args: dict[int, tuple[Any, ...]],
    envs: dict[int, dict[str, str]],
    logs_specs: LogsSpecs,
    log_line_prefixes: dict[int, str] | None = None,
    start_method: str = "spawn",
    numa_options: Any = None,
    duplicate_stdout_filters: list[str] | None = None,
    duplicate_stderr_filters: list[str] | None = None,
) -> PContext:
    """Start workers: a function, by multiprocessing's `start_method`, or a program, with arguments each.

    args, envs: by local rank; RuntimeError where these are not of the same ranks, 0 and on. logs_specs: where
    what they print goes. numa_options changes nothing. The answer's wait() tells how they have ended.
    """
    _validate_full_rank(args, len(args), "args")
    _validate_full_rank(envs, len(args), "envs")
    more = {
        "duplicate_stdout_filters": duplicate_stdout_filters,
        "duplicate_stderr_filters": duplicate_stderr_filters,
    }
    context: PContext
    if isinstance(entrypoint, str):
        context = SubprocessContext(name, entrypoint, args, envs, logs_specs, log_line_prefixes, **more)
    else:
        context = MultiprocessContext(
            name, entrypoint, args, envs, start_method, logs_specs, log_line_prefixes, **more
        )
    try:
        context.start()
    except Exception:
        context.close()
        raise
    return context
