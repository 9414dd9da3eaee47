"""Log files that are shown while they are written (torch.distributed.elastic.multiprocessing.tail_log)."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import TextIO

__all__ = ["TailLog", "tail_logfile"]
logger = logging.getLogger(__name__)


def tail_logfile(
    header: str,
    file: str,
    dst: TextIO,
    finished: Event,
    interval_sec: float,
    log_line_filter: Callable[[str], bool] | None = None,
) -> None:
    """Write the lines of a file, a header before each, until `finished` and the file's end."""
    while not os.path.exists(file):
        if finished.is_set():
            return
        time.sleep(interval_sec)
    with open(file, errors="replace", encoding="utf-8") as stream:
        while True:
            last = finished.is_set()  # what was written before is still read
            line = stream.readline()
            if line:
                if log_line_filter is None or log_line_filter(line):
                    dst.write(f"{header}{line}")
            elif last:
                return
            else:
                time.sleep(interval_sec)


class TailLog:
    """Shows files by local rank, which need not be there yet, from start() to stop()."""

    def __init__(
        self,
        name: str,
        log_files: dict[int, str],
        dst: TextIO,
        log_line_prefixes: dict[int, str] | None = None,
        interval_sec: float = 0.1,
        log_line_filter: Callable[[str], bool] = lambda line: True,
    ) -> None:
        count = len(log_files)
        self._threadpool = ThreadPoolExecutor(count, thread_name_prefix=f"TailLog_{name}") if count else None
        self._name, self._dst, self._log_files = name, dst, log_files
        self._prefixes, self._interval, self._filter = log_line_prefixes or {}, interval_sec, log_line_filter
        self._finished = Event()
        self._running: list[Future[None]] = []
        self._stopped = False

    def start(self) -> TailLog:
        """Begin; itself."""
        for rank, file in self._log_files.items() if self._threadpool is not None and self._dst else ():
            header = self._prefixes.get(rank, f"[{self._name}{rank}]:")
            given = (header, file, self._dst, self._finished, self._interval, self._filter)
            self._running.append(self._threadpool.submit(tail_logfile, *given))  # type: ignore[union-attr]
        return self

    def stop(self) -> None:
        """Show the rest, and end."""
        self._finished.set()
        for rank, one in zip(self._log_files, self._running, strict=False):
            error = one.exception()
            if error is not None:
                told = (self._name, rank, type(error).__qualname__)
                logger.error("error in log tailer for %s%s. %s", *told, exc_info=error)
        if self._threadpool is not None:
            self._threadpool.shutdown(wait=True)
        self._stopped = True

    def stopped(self) -> bool:
        """Whether it has ended."""
        return self._stopped
