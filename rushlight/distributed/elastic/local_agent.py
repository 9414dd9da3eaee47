"""The launcher's agent of one node: it starts workers, watches them, and stops them all when one fails."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from rushlight.distributed.hub.messages import Connection, ConnectionLost
from rushlight.distributed.hub.nodes import SILENCE
from rushlight.distributed.hub.server import Hub, in_thread

GRACE = 5.0  # seconds that workers have to end by themselves when one has failed, and again after SIGTERM


@dataclass
class Plan:
    """What is to be run, and where nodes meet. `command`: a worker's, with ${local_rank} for its local rank;
    logs 1: stdout, 2: stderr, 3: both, of all workers or by local rank.
    """

    command: Sequence[str]
    workers: int
    least: int = 1
    most: int = 1
    node_rank: int = -1
    host: str = "127.0.0.1"
    port: int = 0
    hosts_hub: bool = True
    restarts: int = 0
    run: str = "none"
    role: str = "default"
    timeout: float = 600.0
    log_dir: str | None = None
    redirects: int | Mapping[int, int] = 0
    tee: int | Mapping[int, int] = 0
    environment: Mapping[str, str] = field(default_factory=dict)


class Agent:
    """Runs a plan on this node. `run()` is the exit status."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.hub = plan, self._own_hub(plan)
        self.port = self.hub.port if self.hub is not None else plan.port
        self._line = Connection(plan.host, self.port, plan.timeout)
        self._events: queue.Queue[tuple[Any, ...]] = queue.Queue()
        self._workers: dict[int, subprocess.Popen[bytes]] = {}  # by local rank, those that run
        self.ranks: range = range(0)  # of this node's workers
        self.failures: dict[int, tuple[int, int, int]] = {}  # by rank: local rank, process, exit code
        self._first = self._attempt = 0
        self._stop_at: float | None = None  # when the workers will be sent the next signal
        self._signal = signal.SIGTERM
        self._heard = self._looked = time.monotonic()

    @staticmethod
    def _own_hub(plan: Plan) -> Hub | None:
        if not plan.hosts_hub:
            return None
        try:
            return in_thread(socket.create_server(("", plan.port), backlog=512))
        except OSError:
            if plan.most == 1:
                raise
            return None  # another agent of this machine was first

    def run(self) -> int:
        """Work until the hub says that the run has ended."""
        main = threading.current_thread() is threading.main_thread()
        for number in (signal.SIGINT, signal.SIGTERM) if main else ():
            signal.signal(number, lambda got, frame: self._events.put(("signal", got)))
        for target in (self._listen, self._beat):
            threading.Thread(target=target, daemon=True).start()
        plan = self.plan
        self._line.send(
            "join",
            socket.gethostname(),
            plan.workers,
            plan.node_rank,
            plan.least,
            plan.most,
            plan.restarts,
            plan.run,
        )
        try:
            while (status := self._next()) is None:
                pass
        finally:
            self._kill(signal.SIGKILL)
            self._line.close()
        end = time.monotonic() + GRACE
        while self.hub is not None and self.hub.callers and time.monotonic() < end:
            time.sleep(0.01)  # the hub outlives the other agents
        return status

    def _listen(self) -> None:
        try:
            while True:
                self._events.put(tuple(part.decode() for part in self._line.receive()))
        except ConnectionLost:
            self._events.put(("lost",))

    def _beat(self) -> None:
        try:
            while True:
                self._line.send("beat")
                time.sleep(1.0)
        except ConnectionLost:
            pass

    def _next(self) -> int | None:
        """Handle one event; the exit status when that was the last."""
        try:
            name, *values = self._events.get(timeout=0.5 if self._stop_at is None else 0.05)
        except queue.Empty:
            name, values = "tick", []
        now = time.monotonic()
        if name == "beat" or now - self._looked > 2.0:  # or else this process was itself stopped
            self._heard = now
        self._looked = now
        if self._stop_at is not None and now > self._stop_at:
            self._kill(self._signal)
            self._stop_at, self._signal = now + GRACE, signal.SIGKILL
        if now - self._heard > SILENCE or name == "lost":
            return self._say("the rendezvous is lost: its node has failed or cannot be reached", 1)
        handler = getattr(self, f"_on_{name}", None)
        return None if handler is None else handler(*values)

    def _on_start(self, *numbers: str) -> None:
        attempt, node, nodes, first, world = map(int, numbers)
        self._attempt, self._first, self._stop_at, self._signal = attempt, first, None, signal.SIGTERM
        self.ranks, self.failures = range(first, first + self.plan.workers), {}
        plan, many = self.plan, dict(os.environ) | dict(self.plan.environment)
        for local in range(plan.workers):
            self._start(
                local,
                many
                | {
                    "RANK": str(first + local),
                    "WORLD_SIZE": str(world),
                    "LOCAL_RANK": str(local),
                    "LOCAL_WORLD_SIZE": str(plan.workers),
                    "GROUP_RANK": str(node),
                    "GROUP_WORLD_SIZE": str(nodes),
                    "ROLE_RANK": str(first + local),
                    "ROLE_WORLD_SIZE": str(world),
                    "ROLE_NAME": plan.role,
                    "MASTER_ADDR": plan.host,
                    "MASTER_PORT": str(self.port),
                    "TORCHELASTIC_RESTART_COUNT": str(attempt),
                    "TORCHELASTIC_MAX_RESTARTS": str(plan.restarts),
                    "TORCHELASTIC_RUN_ID": plan.run,
                    "TORCHELASTIC_USE_AGENT_STORE": "True",
                },
            )

    def _start(self, local: int, environment: dict[str, str]) -> None:
        streams: dict[str, Any] = {}
        copies: list[tuple[str, BinaryIO | None]] = []
        redirects, tee = (
            bits.get(local, 0) if isinstance(bits, Mapping) else bits
            for bits in (self.plan.redirects, self.plan.tee)
        )
        for bit, name in ((1, "stdout"), (2, "stderr")):
            log: BinaryIO | None = None
            if (redirects | tee) & bit and self.plan.log_dir is not None:
                folder = Path(self.plan.log_dir) / self.plan.run / f"attempt_{self._attempt}" / str(local)
                folder.mkdir(parents=True, exist_ok=True)
                environment["TORCHELASTIC_ERROR_FILE"] = str(folder / "error.json")
                streams[name] = log = open(folder / f"{name}.log", "wb")  # noqa: SIM115 - the worker's
            if tee & bit:
                streams[name] = subprocess.PIPE
                copies.append((name, log))
        # Its own session, so that what it starts can be stopped with it.
        command = [part.replace("${local_rank}", str(local)) for part in self.plan.command]
        worker = subprocess.Popen(command, env=environment, start_new_session=True, **streams)
        self._workers[local] = worker
        for name, log in copies:
            threading.Thread(target=self._copy, args=(local, getattr(worker, name), name, log)).start()
        threading.Thread(target=self._wait, args=(local, worker, self._attempt), daemon=True).start()

    def _copy(self, local: int, source: BinaryIO, name: str, log: BinaryIO | None) -> None:
        for text in source:
            if log is not None:
                log.write(text)
            stream = getattr(sys, name).buffer
            stream.write(f"[{self.plan.role}{local}]:".encode() + text)
            stream.flush()

    def _wait(self, local: int, worker: subprocess.Popen[bytes], attempt: int) -> None:
        code = worker.wait()
        self._events.put(("ended", local, worker, code, attempt))

    def _on_ended(self, local: int, worker: subprocess.Popen[bytes], code: int, attempt: int) -> None:
        self._kill_group(worker, signal.SIGKILL)  # what it may have left behind
        if self._workers.get(local) is not worker:
            return
        del self._workers[local]
        if code and self._stop_at is None:
            self.failures[self._first + local] = local, worker.pid, code
        self._line.send("exit", self._first + local, worker.pid, code, attempt)
        if self._workers:
            return
        if self._stop_at is not None:
            self._stopped()
        elif code == 0:
            self._line.send("done")

    def _on_failed(self, rank: str, reason: str) -> None:
        self._say(f"rank {rank} failed: {reason}", 1)
        self._on_again("")

    def _on_again(self, reason: str) -> None:
        if reason:
            self._say(f"{reason}: starting anew", 1)
            self._kill(signal.SIGTERM)
        self._stop_at = time.monotonic() + GRACE
        if not self._workers:
            self._stopped()

    def _stopped(self) -> None:
        self._stop_at = None
        self._line.send("stopped")

    def _on_end(self, reason: str) -> int:
        return self._say(f"the run has ended: {reason}", 1) if reason else 0

    def _on_signal(self, number: int) -> int:
        self._kill(number)
        end = time.monotonic() + GRACE
        while any(worker.poll() is None for worker in self._workers.values()) and time.monotonic() < end:
            time.sleep(0.02)
        return 128 + number

    def _kill(self, number: int) -> None:
        for worker in self._workers.values():
            self._kill_group(worker, number)

    @staticmethod
    def _kill_group(worker: subprocess.Popen[bytes], number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(worker.pid, number)

    def _say(self, text: str, status: int) -> int:
        print(f"rushlight.run [{socket.gethostname()}]: {text}", file=sys.stderr, flush=True)
        return status
