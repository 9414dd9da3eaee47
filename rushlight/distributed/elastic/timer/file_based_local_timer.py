"""Timers of the processes of one machine, over a named pipe."""

from __future__ import annotations

import io
import json
import logging
import os
import select
import signal as signals
import threading
import time
from collections.abc import Callable

from rushlight.distributed.elastic.timer.api import TimerClient, TimerRequest
from rushlight.distributed.elastic.timer.debug_info_logging import log_debug_info_for_expired_timers
from rushlight.distributed.elastic.timer.local_timer import end_process, expired, take

__all__ = ["FileTimerClient", "FileTimerRequest", "FileTimerServer"]

logger = logging.getLogger(__name__)

LogEvent = Callable[[str, "FileTimerRequest | None"], None]


class FileTimerRequest(TimerRequest):
    """A timer of a process, and the signal that ends it; 0: none."""

    __slots__ = ["signal", "version"]

    def __init__(self, worker_pid: int, scope_id: str, expiration_time: float, signal: int = 0) -> None:
        super().__init__(worker_pid, scope_id, expiration_time)
        self.version, self.signal = 1, signal

    @property
    def worker_pid(self) -> int:
        """The process."""
        return int(self.worker_id)

    def _parts(self) -> tuple[object, ...]:
        return (*super()._parts(), self.version, self.signal)

    def to_json(self) -> str:
        """The request as the pipe has it."""
        told = {
            "version": self.version,
            "pid": self.worker_pid,
            "scope_id": self.scope_id,
            "expiration_time": self.expiration_time,
            "signal": self.signal,
        }
        return json.dumps(told)


class FileTimerClient(TimerClient):
    """The side of a process that FileTimerServer looks after.

    file_path: the server's pipe. signal: what ends this process when it exceeds a timer; 0: nothing does.
    """

    def __init__(self, file_path: str, signal: int = signals.SIGKILL) -> None:
        super().__init__()
        self._file_path, self.signal = file_path, signal

    def _open_non_blocking(self) -> io.TextIOWrapper:
        """The pipe; for a second it is tried again while no server reads it."""
        tries = 10
        while True:
            try:
                return os.fdopen(os.open(self._file_path, os.O_WRONLY | os.O_NONBLOCK), "wt")
            except OSError:
                tries -= 1
                if not tries:
                    raise
                time.sleep(0.1)

    def _send_request(self, request: FileTimerRequest) -> None:
        try:
            stream = self._open_non_blocking()
        except OSError as error:
            raise BrokenPipeError(
                "Could not send the FileTimerRequest because FileTimerServer is not available."
            ) from error
        with stream:
            text = request.to_json()
            if len(text) > select.PIPE_BUF:  # what is longer might be mixed with others' requests
                raise RuntimeError(
                    f"FileTimerRequest larger than {select.PIPE_BUF} bytes is not supported: {text}"
                )
            stream.write(f"{text}\n")

    def acquire(self, scope_id: str, expiration_time: float) -> None:
        """Set this process's timer of a scope."""
        self._send_request(FileTimerRequest(os.getpid(), scope_id, expiration_time, self.signal))

    def release(self, scope_id: str) -> None:
        """Let the timer of a scope go."""
        self._send_request(FileTimerRequest(os.getpid(), scope_id, -1, 0))


class FileTimerServer:
    """Ends processes of this machine that exceed a timer, and then its own.

    file_path: the pipe, which it makes. log_event is told, by a name and the timer, what happens.
    """

    def __init__(
        self,
        file_path: str,
        run_id: str,
        max_interval: float = 10,
        daemon: bool = True,
        log_event: LogEvent | None = None,
    ) -> None:
        self._file_path, self._run_id = file_path, run_id
        self._max_interval, self._daemon = max_interval, daemon
        self._log_event = log_event
        self._timers: dict[tuple[int, str], FileTimerRequest] = {}
        self._watchdog_thread: threading.Thread | None = None
        self._stop_signaled = self._run_once = self._is_client_started = False
        self._request_count = 0
        self._last_progress_time = int(time.time())
        if os.path.exists(file_path):
            os.remove(file_path)
        os.mkfifo(file_path)

    def _tell(self, name: str, request: FileTimerRequest | None = None) -> None:
        if self._log_event is not None:
            self._log_event(name, request)

    def start(self) -> None:
        """Begin to look after timers."""
        self._watchdog_thread = threading.Thread(target=self._watchdog_loop, daemon=self._daemon)
        self._watchdog_thread.start()
        self._tell("watchdog started")

    def _end(self, seconds: float | None) -> None:
        if self._watchdog_thread is not None:
            self._watchdog_thread.join(seconds)
            self._watchdog_thread = None
        if os.path.exists(self._file_path):
            os.remove(self._file_path)

    def stop(self) -> None:
        """End the thread; it is waited for max_interval seconds at most."""
        self._stop_signaled = True
        self._end(self._max_interval)
        self._tell("watchdog stopped")

    def run_once(self) -> None:
        """Take what has been asked until now, and end."""
        self._run_once = True
        self._end(None)

    @staticmethod
    def is_process_running(pid: int) -> bool:
        """Whether there is such a process, and it may be sent signals."""
        try:
            os.kill(pid, 0)
        except OSError:
            return False
        return True

    def _watchdog_loop(self) -> None:
        with open(self._file_path, encoding="utf-8") as stream:  # waits for the first client
            self._is_client_started = True
            while not self._stop_signaled:
                last = self._run_once
                try:
                    self._run_watchdog(stream)
                except Exception:
                    logger.exception("Error running watchdog")
                else:
                    if last:
                        break
                    self._last_progress_time = int(time.time())

    def _run_watchdog(self, stream: io.TextIOBase) -> None:
        """One round: take requests, end who has exceeded a timer and then this process; forget them."""
        self.register_timers(self._get_requests(stream, self._max_interval))
        expired = self.get_expired_timers(time.time())
        told = {pid: [timer.to_json() for timer in timers] for pid, timers in expired.items()}
        log_debug_info_for_expired_timers(self._run_id, told)
        sent = [self._reap(pid, timers) for pid, timers in expired.items()]
        number = max(sent, default=0)
        if number:
            logger.info("Terminating the server process=[%s] because of expired timers", os.getpid())
            self._reap_worker(os.getpid(), number)
        self.clear_timers(set(expired))

    def _reap(self, pid: int, expired: list[FileTimerRequest]) -> int:
        """End a process by the signal of its first timer that has one; the signal, 0 if none was sent."""
        for timer in sorted(expired, key=lambda timer: timer.expiration_time):
            self._tell("timer expired", timer)
            if timer.signal <= 0:
                continue
            if not self._reap_worker(pid, timer.signal):
                return 0
            self._tell("kill worker process", timer)
            return timer.signal
        return 0

    def _get_requests(self, stream: io.TextIOBase, max_interval: float) -> list[FileTimerRequest]:
        """What is asked within so many seconds; a client writes its line and closes the pipe."""
        end = time.monotonic() + max_interval
        found = []
        while not self._stop_signaled or self._run_once:
            line = stream.readline()
            if line:
                told = json.loads(line)
                found.append(
                    FileTimerRequest(told["pid"], told["scope_id"], told["expiration_time"], told["signal"])
                )
            elif self._run_once:
                break
            else:
                time.sleep(min(max_interval, 1))
            if time.monotonic() > end:
                break
        return found

    def register_timers(self, timer_requests: list[FileTimerRequest]) -> None:
        """Take timers, or let them go."""
        for request in timer_requests:
            self._request_count += 1
            take(self._timers, request.worker_pid, request)

    def clear_timers(self, worker_pids: set[int]) -> None:
        """Forget the timers of these processes, and of those that are gone."""
        for key in [k for k in self._timers if k[0] in worker_pids or not self.is_process_running(k[0])]:
            del self._timers[key]

    def get_expired_timers(self, deadline: float) -> dict[int, list[FileTimerRequest]]:
        """By pid, the timers that end by the deadline."""
        return expired(self._timers, deadline)

    def _reap_worker(self, worker_pid: int, signal: int) -> bool:
        return end_process(worker_pid, signal)

    def get_last_progress_time(self) -> int:
        """When the last round ended, in seconds since 1970; now, while no client has come."""
        return self._last_progress_time if self._is_client_started else int(time.time())
