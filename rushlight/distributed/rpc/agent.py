"""The agent: who the workers are, requests to them, and answers to theirs."""

from __future__ import annotations

import heapq
import itertools
import pickle
import socket
import struct
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from rushlight.distributed.communication.work import Future, told
from rushlight.distributed.rpc.constants import UNSET_RPC_TIMEOUT
from rushlight.distributed.rpc.line import Line

_NUMBER = struct.Struct("!Q")  # a request's, before what it or its answer says
SERVICES: dict[
    str, Callable[[Any, int], Any]
] = {}  # name -> f(question, who asks): the answer, or its future


def service(function: Callable[[Any, int], Any]) -> Callable[[Any, int], Any]:
    """Let other workers ask for a function by its name."""
    SERVICES[function.__name__] = function
    return function


@dataclass(frozen=True)
class WorkerInfo:
    """A worker's name and number."""

    name: str
    id: int

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, name={self.name})"


@dataclass(order=True)
class _Deadline:
    """When a request has taken too long."""

    at: float
    number: int = field(compare=False)
    seconds: float = field(compare=False)


class _Pending:
    """Requests that are not answered yet; a thread ends those that take too long."""

    def __init__(self) -> None:
        self._futures: dict[int, tuple[Future, Any]] = {}  # number -> future, line
        self._deadlines: list[_Deadline] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._over = False
        # A thread for each that waits: those that end the waiting come after them.
        self._answers = ThreadPoolExecutor(1 << 16, "rpc answer")
        threading.Thread(target=self._watch, name="rpc timeouts", daemon=True).start()

    def add(self, line: Any, seconds: float) -> tuple[int, Future]:
        """A request's number and future; seconds: after which it fails, 0 for never."""
        found = Future()
        with self._changed:
            number = next(self._numbers)
            self._futures[number] = (found, line)
            if seconds > 0:
                heapq.heappush(self._deadlines, _Deadline(time.monotonic() + seconds, number, seconds))
                self._changed.notify()
        return number, found

    def settle(self, number: int, give: Callable[[Future], None]) -> None:
        """Let `give` end a request, if nobody has."""
        with self._changed:
            found, _ = self._futures.pop(number, (None, None))
            if found is None:
                return
        if found._done_callbacks:  # type: ignore[attr-defined]  # these may wait for other answers
            try:
                self._answers.submit(give, found)
                return
            except RuntimeError:  # it is over
                pass
        give(found)

    def fail(self, error: Callable[[], Exception], line: Any = None) -> None:
        """End all requests, or those of a line."""
        with self._changed:
            numbers = [n for n, (_, other) in self._futures.items() if line is None or line is other]
        for number in numbers:
            self.settle(number, lambda future: future.set_exception(error()))

    def stop(self) -> None:
        """End the threads."""
        with self._changed:
            self._over = True
            self._changed.notify()
        self._answers.shutdown(wait=False)

    def __len__(self) -> int:
        return len(self._futures)

    def _watch(self) -> None:
        while True:
            with self._changed:
                while not self._over and (not self._deadlines or self._left() > 0):
                    self._changed.wait(self._left() if self._deadlines else None)
                if self._over:
                    return
                late = heapq.heappop(self._deadlines)
            text = f"RPC ran for more than set timeout ({late.seconds * 1000:.0f} ms)"
            self.settle(
                late.number,
                lambda future, text=text: future.set_exception(  # type: ignore[misc]
                    RuntimeError(f"{text} and will now be marked with an error")
                ),
            )

    def _left(self) -> float:
        return self._deadlines[0].at - time.monotonic()


class TensorPipeAgent:
    """A worker among others, by PyTorch's name for it: it listens, asks, and answers.

    world_size: None where workers come and go; who they are is then looked up in the store.
    """

    def __init__(self, store: Any, name: str, rank: int, world_size: int | None, options: Any) -> None:
        self.store, self.options, self.is_static_group = store, options, bool(world_size)
        self._timeout = float(options.rpc_timeout)
        self._me = WorkerInfo(name, rank)
        self._known: dict[int, tuple[WorkerInfo, str]] = {}
        self._lines: dict[int, Line] = {}
        self._connecting, self._counting = threading.Lock(), threading.Condition()
        self._gates: dict[int, threading.Lock] = {}  # worker -> who has it connects to that one
        self._heard_lines: set[Line] = set()
        self._serving, self._over = 0, False
        self._pending = _Pending()
        self._workers = ThreadPoolExecutor(options.num_worker_threads, "rpc worker")
        self._started = threading.Event()
        self._listener = _listener(store)
        threading.Thread(target=self._accept, name="rpc listener", daemon=True).start()
        self._enter(world_size)

    def start(self) -> None:
        """Answer from now on."""
        self._started.set()

    # --- who there is ---

    def _enter(self, world_size: int | None) -> None:
        me, (host, port) = self._me, self._listener.getsockname()[:2]
        if self.store.add(f"name/{me.name}", 1) > 1:
            self.shutdown()
            raise RuntimeError(
                f"RPC worker name {me.name} is not unique. Workers {me.id} and others have it."
            )
        self.store.set(f"worker/{me.id}", f"{me.name} {host} {port}")
        self.store.set(f"number/{me.name}", str(me.id))
        if self.is_static_group:
            for rank in range(int(world_size or 0)):
                self._look(rank)
        else:
            self._look(me.id)
            self.store.append("members", f"{me.id} ")

    def _look(self, rank: int) -> tuple[WorkerInfo, str]:
        """A worker and its address, by its number."""
        known = self._known.get(rank)
        if known is None:
            name, address = self.store.get(f"worker/{rank}").decode().split(" ", 1)
            known = self._known[rank] = (WorkerInfo(name, rank), address)
        return known

    def get_worker_info(self, worker: str | int | None = None) -> WorkerInfo:
        """This worker, or one by its name or number. RuntimeError where there is none."""
        if worker is None or worker == self._me.name:
            return self._me
        for info, _ in list(self._known.values()):
            if worker in (info.id, info.name):
                return info
        key = f"worker/{worker}" if isinstance(worker, int) else f"number/{worker}"
        if self.is_static_group or not self.store.check([key]):
            raise RuntimeError(f"Unknown destination worker {worker}")
        rank = worker if isinstance(worker, int) else int(self.store.get(key))
        return self._look(rank)[0]

    def get_worker_infos(self) -> list[WorkerInfo]:
        """All workers."""
        if not self.is_static_group:
            for rank in self.store.get("members").split():
                self._look(int(rank))
        return [info for info, _ in self._known.values()]

    # --- asking ---

    def get_timeout(self) -> float:
        """Seconds that a request may take by default."""
        return self._timeout

    def set_timeout(self, seconds: float) -> None:
        """Set it."""
        self._timeout = float(seconds)

    def ask(self, to: int, name: str, question: Any = None, timeout: float = UNSET_RPC_TIMEOUT) -> Future:
        """The future of what a worker's service answers; timeout: seconds, 0 for no end."""
        seconds = self._timeout if timeout == UNSET_RPC_TIMEOUT else float(timeout)
        try:
            line = self._line(to)
        except OSError as error:
            found = Future()
            found.set_exception(RuntimeError(f"worker {to} cannot be reached: {error}"))
            return found
        said = pickle.dumps((name, self._me.id, question))
        number, found = self._pending.add(line, seconds)
        try:
            line.send(_NUMBER.pack(number) + said)
        except OSError as error:
            text = f"worker {to} cannot be reached: {error}"
            self._pending.settle(number, lambda future: future.set_exception(RuntimeError(text)))
        return found

    def _line(self, to: int) -> Line:
        with self._connecting:
            line, gate = self._lines.get(to), self._gates.setdefault(to, threading.Lock())
        if line is not None:
            return line
        with gate:
            line = self._lines.get(to)
            if line is None:
                host, port = self._look(to)[1].split()
                made = socket.create_connection((host, int(port)), timeout=30)
                made.settimeout(None)
                with self._connecting:
                    line = self._lines[to] = Line(made, self._answered, self._lost)
            return line

    def _answered(self, line: Line, piece: bytes) -> None:
        (number,) = _NUMBER.unpack_from(piece)
        try:
            good, answer = pickle.loads(memoryview(piece)[_NUMBER.size :])
        except BaseException as error:
            good, answer = False, _sendable(error)

        def give(future: Future) -> None:
            future.set_result(answer) if good else future.set_exception(answer)

        self._pending.settle(number, give)

    def _lost(self, line: Line) -> None:
        with self._connecting:
            for rank in [rank for rank, other in self._lines.items() if other is line]:
                del self._lines[rank]
        self._pending.fail(lambda: RuntimeError("EOF: end of file: the worker has gone"), line)

    # --- answering ---

    def _accept(self) -> None:
        while True:
            try:
                made, _ = self._listener.accept()
            except OSError:
                return
            self._heard_lines.add(Line(made, self._asked, self._heard_lines.discard))

    def _asked(self, line: Line, piece: bytes) -> None:
        with self._counting:
            self._serving += 1
        try:
            self._workers.submit(self._serve, line, piece)
        except RuntimeError:  # it is over
            self._served()

    def _served(self) -> None:
        with self._counting:
            self._serving -= 1
            self._counting.notify_all()

    def _serve(self, line: Line, piece: bytes) -> None:
        self._started.wait()  # others may be faster
        (number,) = _NUMBER.unpack_from(piece)

        def reply(good: bool, answer: Any) -> None:
            try:
                said = pickle.dumps((good, answer))
            except BaseException as error:
                said = pickle.dumps((False, _sendable(error)))
            try:
                line.send(_NUMBER.pack(number) + said)
            except OSError:
                pass  # who has asked is gone
            finally:
                self._served()

        def done(future: Any) -> None:
            error = future.exception()
            reply(error is None, _sendable(error) if error else future.result())

        try:
            name, asker, question = pickle.loads(memoryview(piece)[_NUMBER.size :])
            answer = SERVICES[name](question, asker)
        except BaseException as error:  # what is called may want to end the process: its caller is told
            reply(False, _sendable(error))
            return
        answer.add_done_callback(done) if isinstance(answer, Future) else reply(True, answer)

    # --- the end ---

    def active(self) -> int:
        """How many requests are under way, in both directions."""
        return len(self._pending) + self._serving

    def idle(self, but: int, seconds: float) -> None:
        """Wait until all requests but so many have been answered."""
        with self._counting:
            self._counting.wait_for(lambda: self._serving <= but, seconds)

    def shutdown(self) -> None:
        """End it; what it is asked from now on is not answered."""
        if self._over:
            return
        self._over = True
        self._started.set()
        self.idle(0, 5.0 if self._serving else 0.0)
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes who accepts
        self._listener.close()
        self._workers.shutdown(wait=False)
        for line in [*self._lines.values(), *self._heard_lines]:
            line.close()
        self._pending.fail(lambda: RuntimeError("the RPC agent has been shut down"))
        self._pending.stop()

    def get_debug_info(self) -> dict[str, str]:
        """Figures, as text."""
        pending = len(self._pending)
        return {
            "agent.num_pending_requests": str(pending),
            "agent.client_active_calls": str(pending),
            "agent.server_active_calls": str(self._serving),
            "agent.server_active_async_calls": "0",
            "agent.thread_pool_size": str(self.options.num_worker_threads),
            "agent.num_idle_threads": str(max(0, self.options.num_worker_threads - self._serving)),
        }


def _listener(store: Any) -> socket.socket:
    """What other workers reach this process by, and only those that can reach the store.

    It is bound to the address that this process has on the way to the store's.
    """
    below = store._underlying_non_prefix_store
    host, port = getattr(below, "host", "127.0.0.1"), getattr(below, "port", 0)
    for family, _, _, _, there in socket.getaddrinfo(host, port or 9, type=socket.SOCK_DGRAM):
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(there)
            return socket.create_server((probe.getsockname()[0], 0), family=family, backlog=512)
    raise OSError(f"no address of this machine leads to {host}")


def _sendable(error: BaseException) -> Exception:
    """The error, or what it says where it cannot be pickled, or where it ends more than a call."""
    if not isinstance(error, Exception):
        return told(error)
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
