"""A rank's connection to the hub: hearing who has failed or left, and saying so of itself."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from rushlight.distributed.errors import DistBackendError, RankFailure
from rushlight.distributed.hub.messages import Connection, ConnectionLost

VICTIM, CAUSE = 0, 2  # weights of an accusation, as in jobs.py


class Watch:
    """What this rank knows of the others.

    `news` is False as long as nobody has failed or left: the one thing that is looked at while an operation
    is under way. `left[rank]` is then how many operations of each group that rank took part in.
    """

    rank: int  # from enter() on

    def __init__(self) -> None:
        self.news = self.orderly = False  # orderly: all ranks have said good-bye
        self.failed: tuple[int, str] | None = None
        self.left: dict[int, dict[str, int]] = {}
        self.place: Callable[[], str] = lambda: "in no operation"
        self._line: Connection | None = None
        self._pid = os.getpid()
        self._places: dict[int, str] | None = None
        self._answered, self._over = threading.Event(), threading.Event()

    def enter(self, host: str, port: int, job: str, rank: int, size: int, timeout: float) -> None:
        """Say that this rank is there and wait for all; DistBackendError where they do not fit or come."""
        self._line = line = Connection(host, port, timeout)
        line.send("watch", job, rank, size, timeout, f"{socket.gethostname()} pid {os.getpid()}")
        try:
            answer = line.receive()
        except ConnectionLost:
            raise DistBackendError(f"the hub of this job at {host}:{port} has gone") from None
        if answer[0] == b"failed":
            raise DistBackendError(f"rank {answer[1].decode()} failed: {answer[2].decode()}")
        if answer[0] != b"go":
            raise DistBackendError(f"init_process_group: {answer[1].decode()}")
        self.rank = rank

    def begin(self) -> None:
        """MPI has started: listen from now on, and tell of exceptions that end this process."""
        self._say("started")
        threading.Thread(target=self._listen, name="rushlight-watch", daemon=True).start()
        before = sys.excepthook

        def report(kind: type[BaseException], error: BaseException, trace: Any) -> None:
            if not issubclass(kind, KeyboardInterrupt):
                text = "".join(traceback.format_exception_only(kind, error)).strip()
                self._say("fail", VICTIM if _is_victim(error) else CAUSE, f"{text} (pid {os.getpid()})")
            before(kind, error, trace)

        sys.excepthook = report

    def _say(self, *fields: Any) -> None:
        try:
            if self._line is not None and self._pid == os.getpid():  # not where this rank was forked
                self._line.send(*fields)
        except ConnectionLost:
            pass

    def _listen(self) -> None:
        line = self._line
        while line is not None:
            try:
                word, *rest = line.receive()
            except ConnectionLost:
                if not self._over.is_set() and self.failed is None:
                    self.failed, self.news = (-1, "the job's hub, its process or its machine, has gone"), True
                self._over.set()
                self._answered.set()
                return
            self._hear(word, [field.decode() for field in rest])

    def _hear(self, word: bytes, fields: list[str]) -> None:
        if word == b"failed":
            self.failed, self.news = (int(fields[0]), fields[1]), True
            self._over.set()
        elif word == b"left" and int(fields[0]) != self.rank:
            self.left[int(fields[0])], self.news = json.loads(fields[1]), True
        elif word in (b"over", b"hurry"):
            self.orderly = word == b"over"
            self._over.set()
        elif word == b"where":
            self._say("at", self.place())
        elif word == b"places":
            self._places = dict(zip(map(int, fields[::2]), fields[1::2]))
            self._answered.set()

    def check(self, what: str, group: str, number: int, ranks: list[int]) -> None:
        """Raise RankFailure if a rank has failed, or has left without taking part in this operation."""
        if self.failed is not None:
            rank, reason = self.failed
            who = f"rank {rank} failed: " if rank >= 0 else ""
            raise RankFailure(f"[rank {self.rank}] {what} aborted: {who}{reason}", rank, reason)
        for rank in ranks:
            if rank in self.left and self.left[rank].get(group, 0) < number:
                reason = f"it left after operation #{self.left[rank].get(group, 0)} of this group"
                raise RankFailure(
                    f"[rank {self.rank}] {what} aborted: rank {rank} does not take part: {reason}",
                    rank,
                    reason,
                )

    def places(self) -> dict[int, str]:
        """Where the ranks are, each in its own words."""
        self._places = None
        self._answered.clear()
        self._say("stuck")
        self._answered.wait(5.0)
        return self._places or {}

    def leave(self, counters: dict[str, int], linger: float, poll: Callable[[], None]) -> None:
        """Say good-bye, and wait until all have, a failure is told or `linger` seconds are over.

        `poll` is called meanwhile: what others still read from this process has to be moved on.
        """
        if self._pid != os.getpid() or self._line is None:
            return
        self._say("bye", json.dumps(counters))
        for _ in range(int(linger / 0.005)):
            if self._over.wait(0.005):
                break
            poll()
        self._over.set()
        if self._line is not None:
            self._line.close()


def _is_victim(error: BaseException | None) -> bool:
    """Whether another rank's failure caused this exception."""
    while error is not None:
        if isinstance(error, RankFailure):
            return True
        error = error.__cause__ or error.__context__
    return False
