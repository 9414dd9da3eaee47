"""Starting several processes that run one function, and telling how they ended."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing import connection
from typing import Any

from rushlight._engine.core.callers import warn


class ProcessException(Exception):
    """A process failed. msg: how; error_index: which of them; error_pid: its process id."""

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int | None = None,
        signal_name: str | None = None,
    ) -> None:
        # Exception keeps the arguments as they are, and so pickles it whole.
        self.msg, self.error_index, self.error_pid, self.exit_code = msg, error_index, error_pid, exit_code
        self.signal_name = signal_name

    def __str__(self) -> str:
        return self.msg


class ProcessRaisedException(ProcessException):
    """A process ended with an exception, whose traceback is in the message."""


class ProcessExitedException(ProcessException):
    """A process was killed by the signal `signal_name`, or ended with an `exit_code` other than 0."""


class ProcessContext:
    """The processes that start_processes() started: `processes`, and `sentinels` that tell of their ends."""

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes, self._errors = processes, errors
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The process ids."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until a process ends, `timeout` seconds at most; whether all have ended.

        When one failed, the others are terminated, and killed where they live on for grace_period seconds
        (30 by default); then ProcessRaisedException or ProcessExitedException.
        """
        for sentinel in connection.wait(list(self.sentinels), timeout) if self.sentinels else ():
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode:
                self._stop(30.0 if grace_period is None else grace_period)
                raise self._failure(index)
        return not self.sentinels

    def _stop(self, grace: float) -> None:
        end = time.monotonic() + grace
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))
            process.kill()
            process.join()

    def _failure(self, index: int) -> ProcessException:
        pid, code = self.processes[index].pid, self.processes[index].exitcode
        if not self._errors[index].empty():
            message = (
                f"\n\n-- Process {index} terminated with the following error:\n{self._errors[index].get()}"
            )
            return ProcessRaisedException(message, index, pid)
        name = signal.Signals(-code).name if code < 0 else None
        how = f"signal {name}" if name else f"exit code {code}"
        return ProcessExitedException(f"process {index} terminated with {how}", index, pid, code, name)


class SpawnContext(ProcessContext):
    """PyTorch's older name of ProcessContext."""


def _run(function: Callable[..., Any], index: int, args: tuple[Any, ...], errors: Any) -> None:
    """The whole life of a process: it ends with its parent."""
    parent: Any = multiprocessing.parent_process()
    threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
    try:
        function(index, *args)
    except KeyboardInterrupt:
        pass  # The parent was interrupted, too.
    except Exception:
        errors.put(traceback.format_exc()[-20_000:])  # what a pipe takes though nobody reads
        sys.exit(1)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run fn(index, *args) in `nprocs` processes, index 0 .. nprocs - 1; tensors in args are shared.

    join: wait for all of them, None is returned then; else the ProcessContext. daemon: as Process takes it.
    start_method: "spawn", "fork" or "forkserver"; ValueError for others. Errors: see ProcessContext.join.
    """
    context: Any = multiprocessing.get_context(start_method)
    errors = [context.SimpleQueue() for _ in range(nprocs)]
    processes = [
        context.Process(target=_run, args=(fn, index, args, error), daemon=daemon)
        for index, error in enumerate(errors)
    ]
    for process in processes:
        process.start()
    found = ProcessContext(processes, errors)
    while join and not found.join():
        pass
    return None if join else found


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """start_processes() with "spawn", which is the only start method here."""
    if start_method != "spawn":
        warn(
            f"This method only supports start_method=spawn (got: {start_method}).\nTo use a "
            "different start_method use:\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
        )
    return start_processes(fn, args, nprocs, join, daemon, "spawn")
