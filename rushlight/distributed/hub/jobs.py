"""The hub's jobs: the ranks of one process group's world. They meet, start MPI, and hear who has failed.

A rank holds two connections. On the first ("watch") it says who it is, is let go when all are there, and then
hears of failures and of ranks that have left. The other becomes MPI's own connection to its process manager
and speaks MPICH's wire protocol PMI-1, which is lines of words such as `cmd=put key=a value=b`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a circle: server.py imports its services
    from rushlight.distributed.hub.server import Caller, Command, Hub

# What PMI-1's questions are answered with, whoever asks.
_ALWAYS = {
    "init": "cmd=response_to_init pmi_version=1 pmi_subversion=1",
    "get_maxes": "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=4096",
    "get_appnum": "cmd=appnum appnum=0",
    "get_my_kvsname": "cmd=my_kvsname kvsname={job.name}",
    "get_universe_size": "cmd=universe_size size={job.size}",
    "finalize": "cmd=finalize_ack",
}
# How much an accusation tells: a rank that MPI aborted, or that stopped because another failed, is a victim;
# a connection that closed tells less than an exception or the way a process ended.
VICTIM, VANISHED, CAUSE = 0, 1, 2


class FirstFailure:
    """Who failed first: a cause is believed at once, anything less when a cause could have come."""

    def __init__(self, hub: Hub, decided: Callable[[int, str], None]) -> None:
        self._hub, self._decided = hub, decided
        self.verdict: tuple[int, str] | None = None
        self._suspects: list[tuple[int, int, str]] = []
        self.hold = 0.01  # seconds; longer where a launcher is going to say how the process ended

    def accuse(self, weight: int, rank: int, reason: str) -> None:
        """Something was seen that says that the rank failed."""
        if self.verdict is not None:
            return
        self._suspects.append((weight, rank, reason))
        if weight == CAUSE:
            self._decide()
        elif len(self._suspects) == 1:
            self._hub.later(self.hold if weight == VANISHED else 0.5, self._decide)

    def _decide(self) -> None:
        if self.verdict is None:
            _, rank, reason = max(self._suspects, key=lambda suspect: suspect[0])  # the first of the heaviest
            self.verdict = (rank, reason)
            self._decided(rank, reason)


class Job:
    """The ranks of one world."""

    def __init__(self, hub: Hub, name: str, size: int) -> None:
        self.name, self.size = name, size
        self.ranks: dict[int, Caller] = {}
        self.managed: dict[int, Caller] = {}  # connections that speak PMI
        self.hosts: dict[int, str] = {}
        self.victims: set[int] = set()
        self.left: set[int] = set()
        self.complete = self.started = False  # all ranks have come; MPI has started
        self.trial = FirstFailure(hub, self._failed)
        self._values: dict[str, str] = {}
        self._at_barrier, self._problem = 0, ""
        self._stuck: dict[int, dict[int, str]] = {}  # who asked where the others are, and what they said

    def tell(self, *fields: str | int) -> None:
        """Tell all ranks that are still there."""
        for caller in list(self.ranks.values()):
            caller.reply(*fields)

    def _failed(self, rank: int, reason: str) -> None:
        self.tell("failed", rank, reason)
        for caller in list(self.managed.values()):
            if not self.started:  # ends whoever waits within MPI's start
                caller.send(f"cmd=barrier_out rc=-1 msg=rank_{rank}_failed\n".encode())

    # --- what ranks say ---

    def enter(self, caller: Caller, rank: int, size: int, host: str) -> None:
        """A rank is there; the last one lets all go. Those who do not fit end the job."""
        self._problem = self._problem or self._misfit(rank, size, host)
        if self._problem:  # also for those who come later
            caller.reply("refused", self._problem)
            self.tell("refused", self._problem)
            return
        self.ranks[rank], self.hosts[rank] = caller, host
        caller.role = (self, rank)
        if len(self.ranks) == size:
            self.complete = True
            self.tell("go")

    def _misfit(self, rank: int, size: int, host: str) -> str:
        if size != self.size:
            return (
                f"rank {rank} ({host}) has WORLD_SIZE={size}, but others of this job have "
                f"WORLD_SIZE={self.size}; start all ranks with the same world size"
            )
        if not 0 <= rank < size:
            return f"rank {rank} does not lie in a world of {size}"
        if rank in self.ranks:
            return f"two processes say that they are rank {rank}: {self.hosts[rank]} and {host}"
        return ""

    def missing(self) -> None:
        """A rank has waited long enough for the others: all that are there are told, and give up with it."""
        if self.complete or self._problem:
            return
        there = ", ".join(f"{rank} ({self.hosts[rank]})" for rank in sorted(self.ranks))
        self._problem = f"only {len(self.ranks)} of {self.size} ranks have come: {there}"
        self.tell("refused", self._problem)

    def bye(self, rank: int, counters: str) -> None:
        """A rank leaves in order, with how many operations of each group it took part in."""
        self.left.add(rank)
        self.tell("left", rank, counters)
        if len(self.left) == self.size:
            self.tell("over")

    def stuck(self, rank: int) -> None:
        """A rank waits too long: ask all where they are."""
        self._stuck[rank] = {}
        self.tell("where")

    def at(self, rank: int, place: str) -> None:
        """A rank says where it is."""
        for asker, places in list(self._stuck.items()):
            places[rank] = place
            if len(places) == len(self.ranks):
                self.answer_stuck(asker)

    def answer_stuck(self, asker: int) -> None:
        """Say what is known of where the ranks are."""
        places = self._stuck.pop(asker, None)
        if places is None or asker not in self.ranks:
            return
        fields: list[str | int] = ["places"]
        for rank in range(self.size):
            silent = "has left" if rank in self.left else "does not answer"
            fields += [rank, places.get(rank, silent)]
        self.ranks[asker].reply(*fields)

    # --- MPI's process manager ---

    def pmi(self, caller: Caller, fields: list[bytes]) -> None:
        """Answer one line of PMI-1."""
        words = dict(word.split("=", 1) for word in fields[0].decode().split() if "=" in word)
        command = words.get("cmd", "")
        if command in _ALWAYS:
            text = _ALWAYS[command].format(job=self) + " rc=0"
        elif command in ("put", "get", "barrier_in", "abort"):
            text = getattr(self, f"_pmi_{command}")(caller, words)
        else:
            text = f"cmd={command} rc=-1 msg=unknown"
        if text:
            caller.send(text.encode() + b"\n")

    def _pmi_put(self, caller: Caller, words: dict[str, str]) -> str:
        self._values[words["key"]] = words["value"]
        return "cmd=put_result rc=0 msg=success"

    def _pmi_get(self, caller: Caller, words: dict[str, str]) -> str:
        value = self._values.get(words["key"])
        if value is None:
            return "cmd=get_result rc=-1 msg=key_not_found value=unknown"
        return f"cmd=get_result rc=0 msg=success value={value}"

    def _pmi_barrier_in(self, caller: Caller, words: dict[str, str]) -> str:
        self._at_barrier += 1
        if self._at_barrier == self.size:
            self._at_barrier = 0
            for other in list(self.managed.values()):
                other.send(b"cmd=barrier_out rc=0\n")
        return ""

    def _pmi_abort(self, caller: Caller, words: dict[str, str]) -> str:
        rank = next(rank for rank, other in self.managed.items() if other is caller)
        self.trial.accuse(VICTIM, rank, f"MPI aborted it ({words.get('message', 'no message')})")
        return ""


class Jobs:
    """The service: jobs by name."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._jobs: dict[str, Job] = {}
        self.commands: dict[str, Command] = {
            "watch": self._watch,
            "pmi": self._pmi,
            "started": self._started,
            "bye": self._bye,
            "fail": self._fail,
            "stuck": self._stuck,
            "at": self._at,
        }

    def of(self, generation: str) -> list[Job]:
        """The jobs of a launcher's generation of workers."""
        return [job for job in self._jobs.values() if job.name.startswith(generation + ".")]

    def gone(self, caller: Caller) -> None:
        """A connection has closed: a rank that said nothing before has failed."""
        if not isinstance(caller.role, tuple) or not isinstance(caller.role[0], Job):
            return
        job, rank = caller.role
        job.ranks.pop(rank, None)
        if rank not in job.left:
            job.trial.accuse(
                VANISHED,
                rank,
                f"its process on {job.hosts[rank]} has gone without a word (killed, crashed or os._exit)",
            )
        if len(job.left) == job.size and not job.victims:  # of one that failed, others will ask
            self._jobs.pop(job.name, None)

    def _watch(self, caller: Caller, fields: list[bytes]) -> None:
        name, host = fields[0].decode(), fields[4].decode()
        rank, size, seconds = int(fields[1]), int(fields[2]), float(fields[3])
        job = self._jobs.setdefault(name, Job(self._hub, name, size))
        if self._hub.nodes.knows(name):
            job.trial.hold = 0.3
        job.enter(caller, rank, size, host)
        self._hub.later(seconds, lambda: job.missing())

    def _pmi(self, caller: Caller, fields: list[bytes]) -> None:
        job = self._jobs.get(fields[0].decode())
        if job is None or job.trial.verdict is not None:
            self._hub.drop(caller)
            return
        job.managed[int(fields[1])] = caller
        caller.text = job.pmi
        caller.reply("ok")

    def _started(self, caller: Caller, fields: list[bytes]) -> None:
        caller.role[0].started = True

    def _bye(self, caller: Caller, fields: list[bytes]) -> None:
        job, rank = caller.role
        job.bye(rank, fields[0].decode())

    def _fail(self, caller: Caller, fields: list[bytes]) -> None:
        job, rank = caller.role
        weight, reason = int(fields[0]), fields[1].decode()
        if weight == VICTIM:
            job.victims.add(rank)
            job.tell("hurry")  # who has left may end at once: that says more
        job.trial.accuse(weight, rank, reason)

    def _stuck(self, caller: Caller, fields: list[bytes]) -> None:
        job, rank = caller.role
        job.stuck(rank)
        self._hub.later(1.0, lambda: job.answer_stuck(rank))

    def _at(self, caller: Caller, fields: list[bytes]) -> None:
        job, rank = caller.role
        job.at(rank, fields[0].decode())
