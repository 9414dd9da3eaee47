"""Workers that a program's own agent starts, and what of their output goes where."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from enum import IntFlag
from types import FrameType
from typing import Any, NoReturn

import rushlight.multiprocessing as mp
from rushlight.distributed.elastic.multiprocessing.errors import ProcessFailure, record
from rushlight.distributed.elastic.multiprocessing.redirects import redirect_stderr, redirect_stdout
from rushlight.distributed.elastic.multiprocessing.tail_log import TailLog

__all__ = [
    "DefaultLogsSpecs",
    "LogsDest",
    "LogsSpecs",
    "MultiprocessContext",
    "PContext",
    "RunProcsResult",
    "SignalException",
    "Std",
    "SubprocessContext",
    "to_map",
]
_VALUE_REGEX, _MAPPING_REGEX = r"^[0123]$", r"^(\d:[0123],)*(\d:[0123])$"


class SignalException(Exception):
    """A launcher was ended by a signal; `sigval` is which."""

    def __init__(self, msg: str, sigval: signal.Signals) -> None:
        super().__init__(msg)
        self.sigval = sigval


class Std(IntFlag):
    """A process's streams."""

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = OUT | ERR

    @classmethod
    def from_str(cls, vm: str) -> Std | dict[int, Std]:
        """ "3", or "0:3,1:2" for single local ranks. ValueError for others."""
        if re.match(_VALUE_REGEX, vm):
            return cls(int(vm))
        if not re.match(_MAPPING_REGEX, vm):
            raise ValueError(f"{vm} does not match: <{_VALUE_REGEX}> or <{_MAPPING_REGEX}>")
        pairs = (pair.split(":") for pair in vm.split(","))
        return {int(rank): cls(int(value)) for rank, value in pairs}


def to_map(val_or_map: Std | dict[int, Std], local_world_size: int) -> dict[int, Std]:
    """The streams of each local rank, of those of all or of some."""
    if isinstance(val_or_map, Std):
        return dict.fromkeys(range(local_world_size), val_or_map)
    return {rank: val_or_map.get(rank, Std.NONE) for rank in range(local_world_size)}


@dataclass
class LogsDest:
    """Files by local rank; "" for the console. tee: those that are shown, too. filtered: lines of all."""

    stdouts: dict[int, str] = field(default_factory=dict)
    stderrs: dict[int, str] = field(default_factory=dict)
    tee_stdouts: dict[int, str] = field(default_factory=dict)
    tee_stderrs: dict[int, str] = field(default_factory=dict)
    error_files: dict[int, str] = field(default_factory=dict)
    filtered_stdout: str = ""
    filtered_stderr: str = ""


class LogsSpecs(ABC):
    """Where workers' logs go.

    log_dir: their folder. redirects: streams that go to files instead of the console; tee: to both.
    Either a Std for all workers, or a dict of them by local rank. local_ranks_filter: whose output is shown.
    A class of a program's own says by reify() which files that makes.
    """

    def __init__(
        self,
        log_dir: str | None = None,
        redirects: Std | dict[int, Std] = Std.NONE,
        tee: Std | dict[int, Std] = Std.NONE,
        local_ranks_filter: set[int] | None = None,
    ) -> None:
        self._root_log_dir, self._redirects, self._tee = log_dir, redirects, tee
        self._local_ranks_filter = local_ranks_filter

    @abstractmethod
    def reify(self, envs: dict[int, dict[str, str]]) -> LogsDest:
        """The files of workers, whose environments are given by local rank."""

    @property
    @abstractmethod
    def root_log_dir(self) -> str:
        """The folder."""


class DefaultLogsSpecs(LogsSpecs):
    """LogsSpecs whose files are FOLDER/RUN_*/attempt_N/RANK/stdout.log, stderr.log and error.json.

    log_dir: is made where it is not there; without one, a new folder among temporary ones when it is needed;
    os.devnull: nothing is kept.
    """

    def __init__(
        self,
        log_dir: str | None = None,
        redirects: Std | dict[int, Std] = Std.NONE,
        tee: Std | dict[int, Std] = Std.NONE,
        local_ranks_filter: set[int] | None = None,
    ) -> None:
        if log_dir and log_dir != os.devnull:
            if os.path.isfile(log_dir):
                raise NotADirectoryError(f"log_dir: {log_dir} is a file")
            os.makedirs(log_dir, exist_ok=True)
        super().__init__(log_dir, redirects, tee, local_ranks_filter)
        self._run_log_dir: str | None = None

    @property
    def root_log_dir(self) -> str:
        """The folder."""
        if not self._root_log_dir:
            self._root_log_dir = tempfile.mkdtemp(prefix="torchelastic_")
        return self._root_log_dir

    def _attempt(self, environment: dict[str, str]) -> str:
        """The new folder of an attempt."""
        if self.root_log_dir == os.devnull:
            return os.devnull
        if not self._run_log_dir:
            run = environment.get("TORCHELASTIC_RUN_ID", "test_run_id")
            self._run_log_dir = tempfile.mkdtemp(prefix=f"{run}_", dir=self.root_log_dir)
        number = environment.get("TORCHELASTIC_RESTART_COUNT", "0")
        found = os.path.join(self._run_log_dir, f"attempt_{number}")
        shutil.rmtree(found, ignore_errors=True)
        os.makedirs(found)
        return found

    def reify(self, envs: dict[int, dict[str, str]]) -> LogsDest:
        """The files of workers; their environments are told where errors go."""
        folder, count = self._attempt(envs.get(0, {})), len(envs)
        made = LogsDest(
            filtered_stdout=os.path.join(folder, "filtered_stdout.log"),
            filtered_stderr=os.path.join(folder, "filtered_stderr.log"),
        )
        redirects, tees = to_map(self._redirects, count), to_map(self._tee, count)
        streams = (
            (Std.OUT, "stdout.log", made.stdouts, made.tee_stdouts),
            (Std.ERR, "stderr.log", made.stderrs, made.tee_stderrs),
        )
        for rank in range(count):
            kept = folder != os.devnull
            own = os.path.join(folder, str(rank)) if kept else os.devnull
            if kept:
                os.mkdir(own)
            shown = not self._local_ranks_filter or rank in self._local_ranks_filter
            for bit, name, files, tee in streams:
                to_file = kept and bool((redirects[rank] | tees[rank]) & bit)
                files[rank] = os.path.join(own, name) if to_file else "" if shown or not kept else os.devnull
                if not kept:
                    tee[rank] = os.devnull
                elif tees[rank] & bit and shown:
                    tee[rank] = files[rank]
            made.error_files[rank] = os.path.join(own, "error.json") if kept else os.devnull
            envs[rank]["TORCHELASTIC_ERROR_FILE"] = made.error_files[rank] if kept else ""
        return made

    def _key(self) -> tuple[Any, ...]:
        return self._root_log_dir, self._redirects, self._tee, self._local_ranks_filter

    def __repr__(self) -> str:
        return (
            f"DefaultLogsSpecs(root_log_dir={self._root_log_dir}, redirects={self._redirects}, "
            f"tee={self._tee}, local_ranks_filter={self._local_ranks_filter})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DefaultLogsSpecs) and self._key() == other._key()

    __hash__ = None  # type: ignore[assignment]  # its fields may change


# --- workers --------------------------------------------------------------------------------------


@dataclass
class RunProcsResult:
    """How workers have ended, by local rank: results of functions, failures, files of what they printed."""

    return_values: dict[int, Any] = field(default_factory=dict)
    failures: dict[int, ProcessFailure] = field(default_factory=dict)
    stdouts: dict[int, str] = field(default_factory=dict)
    stderrs: dict[int, str] = field(default_factory=dict)

    def is_failed(self) -> bool:
        """Whether one has failed."""
        return bool(self.failures)


def _ending() -> set[signal.Signals]:
    """The signals that end a launcher and its workers."""
    names = os.environ.get("TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM,SIGINT,SIGHUP,SIGQUIT")
    wanted = {name.strip() for name in names.split(",")}
    return {number for number in signal.Signals if number.name in wanted}


@contextmanager
def _held(start_method: str) -> Iterator[None]:
    """Keep signals for forked workers until they can act on them.

    A forked worker has this process's handlers, and what a handler raises while Python's hooks after
    the fork run is dropped: the worker would never end. The mask is inherited; _wrap() takes it away.
    """
    if start_method != "fork":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ending())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _terminate_process_handler(signum: int, frame: FrameType | None) -> NoReturn:
    number = signal.Signals(signum)
    raise SignalException(f"Process {os.getpid()} got signal: {number}", sigval=number)


def _validate_full_rank(d: dict[int, Any], nprocs: int, what: str) -> None:
    """RuntimeError where it has not something for each local rank."""
    if set(d) != set(range(nprocs)):
        raise RuntimeError(
            f"{what}, local rank mapping mismatch, expected: {set(range(nprocs))}, actual: {set(d)}"
        )


class PContext(ABC):
    """Workers that are started together and end together: when one fails, all are stopped.

    name: what lines that are shown begin with; args, envs: of each, by local rank. duplicate_*_filters:
    texts; lines with one of them are also written to the filtered log.
    """

    def __init__(
        self,
        name: str,
        entrypoint: Callable[..., Any] | str,
        args: dict[int, tuple[Any, ...]],
        envs: dict[int, dict[str, str]],
        logs_specs: LogsSpecs,
        log_line_prefixes: dict[int, str] | None = None,
        duplicate_stdout_filters: list[str] | None = None,
        duplicate_stderr_filters: list[str] | None = None,
    ) -> None:
        logs, count = logs_specs.reify(envs), len(args)
        _validate_full_rank(logs.stdouts, count, "stdouts")
        _validate_full_rank(logs.stderrs, count, "stderrs")
        self.name, self.entrypoint, self.args, self.envs, self.nprocs = name, entrypoint, args, envs, count
        self.stdouts, self.stderrs, self.error_files = logs.stdouts, logs.stderrs, logs.error_files
        self._stdout_tail = TailLog(name, logs.tee_stdouts, sys.stdout, log_line_prefixes)
        self._stderr_tail = TailLog(name, logs.tee_stderrs, sys.stderr, log_line_prefixes)
        self._tail_logs = [self._stdout_tail, self._stderr_tail]
        self._filtered: list[Any] = []
        filtered = (
            (duplicate_stdout_filters, logs.filtered_stdout, logs.tee_stdouts),
            (duplicate_stderr_filters, logs.filtered_stderr, logs.tee_stderrs),
        )
        for needles, path, files in filtered:
            if needles:
                file = open(path, "w", errors="replace", buffering=1)  # noqa: SIM115 - until close()
                self._filtered.append(file)
                wanted = _having(needles)
                self._tail_logs.append(TailLog(name, files, file, log_line_prefixes, log_line_filter=wanted))

    def start(self) -> None:
        """Start them. In the main thread, signals that end this process are raised as SignalException."""
        if threading.current_thread() is threading.main_thread():
            for number in _ending():
                with suppress(OSError, ValueError):
                    signal.signal(number, _terminate_process_handler)
        self._start()
        for log in self._tail_logs:
            log.start()

    def wait(self, timeout: float = -1, period: float = 1) -> RunProcsResult | None:
        """Look each `period` seconds whether they have ended; None after `timeout` (below 0: never)."""
        if timeout == 0:
            return self._poll()
        end = None if timeout < 0 else time.monotonic() + timeout
        while end is None or time.monotonic() < end:
            found = self._poll()
            if found is not None:
                return found
            time.sleep(period)
        return None

    def close(self, death_sig: signal.Signals | None = None, timeout: int = 30) -> None:
        """Stop them by a signal (SIGTERM), after `timeout` seconds by SIGKILL; show the rest of the logs."""
        self._close(death_sig or signal.SIGTERM, timeout)
        for log in self._tail_logs:
            log.stop()
        for file in self._filtered:
            file.close()

    @abstractmethod
    def _start(self) -> None: ...

    @abstractmethod
    def _poll(self) -> RunProcsResult | None:
        """The result, if all have ended or one has failed."""

    @abstractmethod
    def pids(self) -> dict[int, int]:
        """The processes' ids."""

    @abstractmethod
    def _close(self, death_sig: signal.Signals, timeout: int = 30) -> None: ...

    def _result(self, **found: Any) -> RunProcsResult:
        self.close()
        return RunProcsResult(stdouts=self.stdouts, stderrs=self.stderrs, **found)


def _having(needles: list[str]) -> Callable[[str], bool]:
    return lambda line: any(needle in line for needle in needles)


def _wrap(
    local_rank: int,
    fn: Callable[..., Any],
    args: dict[int, tuple[Any, ...]],
    envs: dict[int, dict[str, str]],
    stdout_redirects: dict[int, str],
    stderr_redirects: dict[int, str],
    ret_vals: dict[int, Any],
    queue_finished_reading_event: Any,
    numa_options: Any = None,
) -> None:
    """The whole life of a worker that is a function."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ending())
    os.environ.update(envs[local_rank])
    with ExitStack() as stack:
        if stdout_redirects[local_rank]:
            stack.enter_context(redirect_stdout(stdout_redirects[local_rank]))
        if stderr_redirects[local_rank]:
            stack.enter_context(redirect_stderr(stderr_redirects[local_rank]))
        found = record(fn)(*args[local_rank])
    ret_vals[local_rank].put(found)
    queue_finished_reading_event.wait()


class MultiprocessContext(PContext):
    """Workers that run a function. start_method: as multiprocessing has it."""

    entrypoint: Callable[..., Any]

    def __init__(
        self,
        name: str,
        entrypoint: Callable[..., Any],
        args: dict[int, tuple[Any, ...]],
        envs: dict[int, dict[str, str]],
        start_method: str,
        logs_specs: LogsSpecs,
        log_line_prefixes: dict[int, str] | None = None,
        numa_options: Any = None,
        duplicate_stdout_filters: list[str] | None = None,
        duplicate_stderr_filters: list[str] | None = None,
    ) -> None:
        super().__init__(
            name,
            entrypoint,
            args,
            envs,
            logs_specs,
            log_line_prefixes,
            duplicate_stdout_filters,
            duplicate_stderr_filters,
        )
        context: Any = mp.get_context(start_method)
        self.start_method = start_method
        self._ret_vals = {rank: context.SimpleQueue() for rank in range(self.nprocs)}
        self._return_values: dict[int, Any] = {}
        self._pc: Any = None
        self._worker_finished_event = context.Event()

    def _start(self) -> None:
        if self._pc:
            raise ValueError(
                "The process context already initialized. Most likely the start method got called twice."
            )
        given = (self.entrypoint, self.args, self.envs, self.stdouts, self.stderrs)
        with _held(self.start_method):
            self._pc = mp.start_processes(
                _wrap,
                (*given, self._ret_vals, self._worker_finished_event),
                self.nprocs,
                join=False,
                start_method=self.start_method,
            )

    def _is_done(self) -> bool:
        return len(self._return_values) == self.nprocs

    def _poll(self) -> RunProcsResult | None:
        try:
            self._pc.join(-1)
            for rank, values in self._ret_vals.items():
                if not values.empty():
                    self._return_values[rank] = values.get()
            if not self._is_done():
                return None
            self._worker_finished_event.set()
            while not self._pc.join():
                pass
            return self._result(return_values=self._return_values)
        except (mp.ProcessRaisedException, mp.ProcessExitedException) as error:
            rank = error.error_index
            code = self._pc.processes[rank].exitcode
            failure = ProcessFailure(rank, error.error_pid, code, self.error_files[rank])
            return self._result(failures={rank: failure})

    def pids(self) -> dict[int, int]:
        """The processes' ids."""
        return dict(enumerate(self._pc.pids()))

    def _close(self, death_sig: signal.Signals, timeout: int = 30) -> None:
        processes = self._pc.processes if self._pc else []
        for process in processes:
            if process.is_alive():
                with suppress(ProcessLookupError):
                    os.kill(process.pid, death_sig)
        end = time.monotonic() + timeout
        for process in processes:
            process.join(max(0.0, end - time.monotonic()))
            if process.is_alive():
                process.kill()
            process.join(timeout)


class SubprocessContext(PContext):
    """Workers that are programs."""

    entrypoint: str

    def __init__(
        self,
        name: str,
        entrypoint: str,
        args: dict[int, tuple[Any, ...]],
        envs: dict[int, dict[str, str]],
        logs_specs: LogsSpecs,
        log_line_prefixes: dict[int, str] | None = None,
        numa_options: Any = None,
        duplicate_stdout_filters: list[str] | None = None,
        duplicate_stderr_filters: list[str] | None = None,
    ) -> None:
        super().__init__(
            name,
            entrypoint,
            args,
            envs,
            logs_specs,
            log_line_prefixes,
            duplicate_stdout_filters,
            duplicate_stderr_filters,
        )
        self._running_local_ranks = set(range(self.nprocs))
        self._failures: dict[int, ProcessFailure] = {}
        self.subprocess_handlers: dict[int, subprocess.Popen[bytes]] = {}

    def _start(self) -> None:
        if self.subprocess_handlers:
            raise ValueError(
                "The subprocess handlers already initialized. Most likely the start method got called twice."
            )
        for rank in range(self.nprocs):
            with ExitStack() as stack:
                streams = [
                    stack.enter_context(open(files[rank], "wb")) if files[rank] else None
                    for files in (self.stdouts, self.stderrs)
                ]
                self.subprocess_handlers[rank] = subprocess.Popen(
                    [self.entrypoint, *map(str, self.args[rank])],
                    env={**os.environ, **self.envs[rank]},
                    stdout=streams[0],
                    stderr=streams[1],
                    start_new_session=True,
                )

    def _look(self) -> set[int]:
        """The local ranks that have ended; failures are noted."""
        over = set()
        for rank in self._running_local_ranks:
            process = self.subprocess_handlers[rank]
            code = process.poll()
            if code is not None:
                over.add(rank)
                if code:
                    self._failures[rank] = ProcessFailure(rank, process.pid, code, self.error_files[rank])
        return over

    def _poll(self) -> RunProcsResult | None:
        self._running_local_ranks -= self._look()
        if self._running_local_ranks and not self._failures:
            return None
        found = self._result(failures=self._failures)
        self._look()  # how those ended that were stopped
        if not found.is_failed():
            found.return_values = dict.fromkeys(range(self.nprocs))
        return found

    def pids(self) -> dict[int, int]:
        """The processes' ids."""
        return {rank: process.pid for rank, process in self.subprocess_handlers.items()}

    def _close(self, death_sig: signal.Signals, timeout: int = 30) -> None:
        processes = list(self.subprocess_handlers.values())
        for process in processes:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, death_sig)
        end = time.monotonic() + timeout
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, end - time.monotonic()))
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait(timeout)
