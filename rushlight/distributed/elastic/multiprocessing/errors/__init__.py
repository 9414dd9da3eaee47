"""torch.distributed.elastic.multiprocessing.errors: what a worker failed of, kept and raised anew."""

from __future__ import annotations

import functools
import json
import logging
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from signal import Signals
from typing import Any

from rushlight.distributed.elastic.multiprocessing.errors.error_handler import ErrorHandler
from rushlight.distributed.elastic.multiprocessing.errors.handlers import get_error_handler

__all__ = ["ChildFailedError", "ErrorHandler", "ProcessFailure", "get_error_handler", "record"]
logger = logging.getLogger(__name__)
_NOT_THERE = "<N/A>"


def record(fn: Callable[..., Any], error_handler: ErrorHandler | None = None) -> Callable[..., Any]:
    """A decorator of a program's main function: exceptions are written to the file TORCHELASTIC_ERROR_FILE.

    The launcher names that file with --log-dir. The exception goes on; of a ChildFailedError it is the
    child's file that is written, and sys.exit(0) is no exception.
    """
    handler = error_handler or get_error_handler()

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit as error:
            if error.code != 0:
                raise
            return None
        except ChildFailedError as error:
            rank, failure = error.get_first_failure()
            if failure.error_file != _NOT_THERE:
                handler.dump_error_file(failure.error_file, failure.exitcode)
            else:
                logger.info("local_rank %s failed, and has written no error file", rank)
            raise
        except Exception as error:
            handler.record_exception(error)
            raise

    return wrapped


@dataclass
class ProcessFailure:
    """How a worker failed; `message` and `timestamp` (seconds since 1970) are the error file's, if it wrote
    one: then `message` may be a dict, see ErrorHandler.
    """

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: dict[str, Any] = field(init=False)
    message: Any = field(init=False)
    timestamp: int = field(init=False)

    def __post_init__(self) -> None:
        if os.path.isfile(self.error_file):
            with open(self.error_file, encoding="utf-8") as stream:
                self.error_file_data = json.load(stream)
            self.message = told = self.error_file_data["message"]
            when = self.error_file_data.get("timestamp", 0)
            self.timestamp = int(when if isinstance(told, str) else told["extraInfo"]["timestamp"])
        else:
            self.error_file, self.error_file_data = _NOT_THERE, {"message": "<NONE>"}
            self.message, self.timestamp = "", int(time.time())
        if not self.message and self.exitcode < 0:
            self.message = f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}"
        elif not self.message:
            traits = {"category": "system_terminated_error", "retryability": "False"}
            self.error_file_data["errorTraits"] = traits
            self.message = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"

    def signal_name(self) -> str:
        """The signal that ended it, or "<N/A>"."""
        try:
            return Signals(-self.exitcode).name if self.exitcode < 0 else _NOT_THERE
        except ValueError:
            return _NOT_THERE

    def timestamp_isoformat(self) -> str:
        """When it failed."""
        return datetime.fromtimestamp(self.timestamp).isoformat(sep="_")


class ChildFailedError(Exception):
    """Workers failed: `failures`, by rank; `name`, what they ran. The message tells the first one's."""

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        self.name, self.failures = name, failures
        if not failures:
            raise AssertionError
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """(rank, failure) of the one that failed first."""
        rank = min(self.failures, key=self._when)
        return rank, self.failures[rank]

    def _when(self, rank: int) -> int:
        return self.failures[rank].timestamp

    def format_msg(self, boarder_delim: str = "=", section_delim: str = "-") -> str:
        """All failures, the first one at the end, as the cause."""
        cause, _ = self.get_first_failure()
        told = {rank: self._told(i, rank, one) for i, (rank, one) in enumerate(self.failures.items())}
        title = f"{self.name} FAILED"
        width = max(len(line) for text in (title, *told.values()) for line in text.split("\n"))
        border, section = boarder_delim * min(width, 60), section_delim * min(width, 60)
        others = [text for rank, text in told.items() if rank != cause]
        return "\n".join(
            [
                *("", border, title, section, "Failures:"),
                *(others or ["  <NO_OTHER_FAILURES>"]),
                *(section, "Root Cause (first observed failure):", told[cause], border),
            ]
        )

    @staticmethod
    def _told(place: int, rank: int, one: ProcessFailure) -> str:
        told = one.message
        if isinstance(told, dict):  # best its traceback
            told = told.get("extraInfo", {}).get("py_callstack", told.get("message", _NOT_THERE))
            told = told.replace("\n", "\n  ")
        name = one.signal_name()
        signal = "" if name == _NOT_THERE else f" ({name})"
        return (
            f"[{place}]:\n  time      : {one.timestamp_isoformat()}\n  host      : {socket.getfqdn()}\n"
            f"  rank      : {rank} (local_rank: {one.local_rank})\n"
            f"  exitcode  : {one.exitcode} (pid: {one.pid}){signal}\n  error_file: {one.error_file}\n"
            f"  traceback : {told}"
        )
