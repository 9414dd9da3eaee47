"""torch.distributed.elastic.multiprocessing.errors: what a worker failed of, kept and raised anew."""

from __future__ import annotations

import functools
import json
import os
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from signal import Signals
from typing import Any

__all__ = ["ChildFailedError", "ProcessFailure", "record"]


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """A decorator of a program's main function: exceptions are written to the file TORCHELASTIC_ERROR_FILE.

    The file is JSON, {"message": {"message": "ValueError: ...", "extraInfo": {"py_callstack", "timestamp"}}};
    the launcher names it with --log-dir. The exception goes on.
    """

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            file = os.environ.get("TORCHELASTIC_ERROR_FILE")
            if file:
                extra = {"py_callstack": traceback.format_exc(), "timestamp": str(int(time.time()))}
                message = {"message": f"{type(error).__name__}: {error}", "extraInfo": extra}
                with open(file, "w", encoding="utf-8") as stream:
                    json.dump({"message": message}, stream)
            raise

    return wrapped


@dataclass
class ProcessFailure:
    """How a worker failed; `message` and `timestamp` (seconds since 1970) are the error file's, if it wrote
    one.
    """

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: dict[str, Any] = field(init=False)
    message: str = field(init=False)
    timestamp: int = field(init=False)

    def __post_init__(self) -> None:
        self.error_file_data, self.message, self.timestamp = {"message": "<NONE>"}, "", int(time.time())
        if os.path.isfile(self.error_file):
            with open(self.error_file, encoding="utf-8") as stream:
                self.error_file_data = json.load(stream)
            told = self.error_file_data["message"]
            self.message = told if isinstance(told, str) else json.dumps(told)
            if isinstance(told, dict) and "extraInfo" in told:
                self.timestamp = int(told["extraInfo"]["timestamp"])
        if not self.message and self.exitcode < 0:
            self.message = f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}"

    def signal_name(self) -> str:
        """The signal that ended it, or "<N/A>"."""
        try:
            return Signals(-self.exitcode).name if self.exitcode < 0 else "<N/A>"
        except ValueError:
            return "<INVALID_SIGNAL>"

    def timestamp_isoformat(self) -> str:
        """When it failed."""
        return datetime.fromtimestamp(self.timestamp).isoformat(sep="_")


class ChildFailedError(Exception):
    """Workers failed: `failures`, by rank; `name`, what they ran. The message tells the first one's."""

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        self.name, self.failures = name, failures
        if not failures:
            raise AssertionError("ChildFailedError: expected at least one failure")
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """(rank, failure) of the one that failed first."""
        rank = min(self.failures, key=self._when)
        return rank, self.failures[rank]

    def _when(self, rank: int) -> int:
        return self.failures[rank].timestamp

    def format_msg(self) -> str:
        """All failures, the first one at the end, as the cause."""
        cause, first = self.get_first_failure()
        others = [self._told(rank, one) for rank, one in self.failures.items() if rank != cause]
        line = "=" * 60
        head = f"{line}\n{self.name} FAILED\n{'-' * 60}\nFailures:\n"
        told = "".join(others) or "  <NO_OTHER_FAILURES>"
        root = f"Root Cause (first observed failure):\n{self._told(cause, first)}{line}"
        return f"{head}{told}\n{'-' * 60}\n{root}"

    @staticmethod
    def _told(rank: int, one: ProcessFailure) -> str:
        return (
            f"[rank {rank}]\n  time      : {one.timestamp_isoformat()}\n  local_rank: {one.local_rank}\n"
            f"  exitcode  : {one.exitcode} (pid: {one.pid})\n  error_file: {one.error_file or '<N/A>'}\n"
            f"  traceback : {one.message}\n"
        )
