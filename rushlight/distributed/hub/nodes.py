"""The hub's nodes: the launcher's agents, one per node, and the generations of workers that they start.

A generation begins when enough nodes have joined. When one of its workers or nodes fails, the hub says which
and why, the agents stop their workers, and if restarts are left the nodes that remain begin the next one.
"""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

from rushlight.distributed.hub.jobs import CAUSE, VANISHED, VICTIM, FirstFailure

if TYPE_CHECKING:  # a circle: server.py imports its services
    from rushlight.distributed.hub.server import Caller, Command, Hub

LAST_CALL = 3.0  # seconds to wait for more nodes when there are enough
SILENCE = 10.0  # seconds after which a node, or the hub, that says nothing is taken for lost


class Node:
    """An agent: where it runs, how many workers it starts, and how far it is."""

    def __init__(self, caller: Caller, host: str, workers: int, wanted: int) -> None:
        self.caller, self.host, self.workers, self.wanted = caller, host, workers, wanted
        self.ready, self.done = True, False
        self.first = 0  # the rank of its first worker
        self.heard = time.monotonic()


class Nodes:
    """The service of the agents: who has joined, which generation of workers runs, how it ended."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._nodes: list[Node] = []
        self._members: list[Node] = []  # of the generation that runs
        self._attempt, self._restarts = -1, 0
        self._least = self._most = self._limit = 0
        self._run = ""
        self._ended = False
        self._looked = 0.0
        self._trial: FirstFailure | None = None
        self.commands: dict[str, Command] = {
            "join": self._join,
            "exit": self._exit,
            "done": self._done,
            "stopped": self._stopped,
            "beat": self._beat,
        }

    def knows(self, job: str) -> bool:
        """Whether agents of this hub started the job."""
        return bool(self._run) and job.startswith(f"{self._run}.")

    def gone(self, caller: Caller) -> None:
        """A connection has closed: a node that had not ended is lost with its workers."""
        if not isinstance(caller.role, Node):
            return
        node = caller.role
        self._nodes.remove(node)
        if node in self._members and not self._ended:
            self._members.remove(node)
            for rank in range(node.first, node.first + node.workers):
                self._accuse(CAUSE, rank, f"its node {node.host} is lost")
            self._go_on()

    def _tell(self, *fields: str | int) -> None:
        for node in list(self._nodes):
            node.caller.reply(*fields)

    def _join(self, caller: Caller, fields: list[bytes]) -> None:
        host, workers, wanted, least, most, limit, run = (field.decode() for field in fields)
        if not self._nodes and self._attempt < 0:
            self._least, self._most, self._limit, self._run = int(least), int(most), int(limit), run
            self._hub.later(1.0, self._look)
        if run != self._run or len(self._nodes) == self._most or self._ended:
            caller.reply(
                "end",
                f"run {self._run!r} does not take this node (run {run!r}): it has "
                f"{len(self._nodes)} of {self._most} nodes",
            )
            return
        caller.role = Node(caller, host, int(workers), int(wanted))
        self._nodes.append(caller.role)
        if self._members:
            self._tell("again", f"node {host} has joined")
        else:
            self._begin_if_enough()

    def _begin_if_enough(self) -> None:
        if len(self._nodes) == self._most:
            self._begin()
        elif len(self._nodes) >= self._least:
            self._hub.later(LAST_CALL, self._begin)

    def _begin(self) -> None:
        if self._members or self._ended or len(self._nodes) < self._least:
            return
        self._attempt += 1
        self._members = sorted(self._nodes, key=lambda node: node.wanted)
        self._trial = FirstFailure(self._hub, self._failed)
        world = sum(node.workers for node in self._members)
        first = 0
        for at, node in enumerate(self._members):
            node.first, node.ready, node.done = first, False, False
            node.caller.reply("start", self._attempt, at, len(self._members), first, world)
            first += node.workers

    def _exit(self, caller: Caller, fields: list[bytes]) -> None:
        rank, pid, code, attempt = map(int, fields)
        if attempt != self._attempt:
            return
        how = f"killed by signal {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
        reason = f"pid {pid} {how}"
        if code:
            self._accuse(VANISHED if code == -signal.SIGABRT else CAUSE, rank, reason)
        else:
            for job in self._hub.jobs.of(f"{self._run}.{self._attempt}"):
                if rank not in job.left:
                    job.trial.accuse(CAUSE, rank, f"{reason} in the middle of the job")

    def _accuse(self, weight: int, rank: int, reason: str) -> None:
        """Tell the jobs of this generation, and weigh it: what the rank itself said of its end says more."""
        for job in self._hub.jobs.of(f"{self._run}.{self._attempt}"):
            if rank in job.victims:
                weight = VICTIM
            job.trial.accuse(weight, rank, reason)
            if job.trial.verdict is not None:
                weight, (rank, reason) = CAUSE, job.trial.verdict
        if self._trial is not None:
            self._trial.accuse(weight, rank, reason)

    def _failed(self, rank: int, reason: str) -> None:
        self._tell("failed", rank, reason)

    def _done(self, caller: Caller, fields: list[bytes]) -> None:
        caller.role.done = True
        if all(node.done for node in self._members):
            self._ended = True
            self._tell("end", "")

    def _stopped(self, caller: Caller, fields: list[bytes]) -> None:
        caller.role.ready = True
        self._go_on()

    def _go_on(self) -> None:
        """Once all workers of a generation have been stopped: begin the next, or end."""
        if self._ended or not all(node.ready for node in self._members):
            return
        self._members = []
        verdict = None if self._trial is None else self._trial.verdict
        if verdict is not None:
            self._restarts += 1
        if self._restarts > self._limit or len(self._nodes) < self._least:
            self._ended = True
            self._tell("end", "" if verdict is None else f"rank {verdict[0]} failed: {verdict[1]}")
        else:
            self._begin_if_enough()

    def _beat(self, caller: Caller, fields: list[bytes]) -> None:
        if isinstance(caller.role, Node):
            caller.role.heard = time.monotonic()
            caller.reply("beat")

    def _look(self) -> None:
        now = time.monotonic()
        for node in list(self._nodes):
            if now - self._looked > 3.0:  # this process was itself stopped
                node.heard = now
            elif now - node.heard > SILENCE:
                self._hub.drop(node.caller)
        self._looked = now
        if not self._ended:
            self._hub.later(1.0, self._look)
