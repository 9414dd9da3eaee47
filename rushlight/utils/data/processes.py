"""Worker processes: starting them, talking to them, noticing that one died, ending them.

A worker lives as long as the main process holds the other end of its socket: the end of the stream is
its order to stop, and the system gives it even when the main process is killed. A thread in the
worker waits for that too, and ends a worker that is stuck in the program's own code. The other way round,
a worker's death ends the stream to the main process.
"""

from __future__ import annotations

import faulthandler
import gc
import multiprocessing
import os
import pickle
import select
import signal
import sys
import time
from _thread import start_new_thread
from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.tensors.storages import sharing
from rushlight.utils.data import channel, shared
from rushlight.utils.data.worker import Failure, Job, Worker, _generate_state

# (worker, task number, status, data): data is a function for "data", a Failure for "error".
Result = tuple[int, int, str, Any]
# How long a worker may take to end by itself; how long between two looks at who is alive.
_GRACE, _LOOK = 5.0, 0.5
# On it a worker writes its Python stack. Programs hardly use the signals for real-time work.
_SHOW_STACK = getattr(signal, "SIGRTMIN", signal.SIGUSR2) + (5 if hasattr(signal, "SIGRTMIN") else 0)


def default_context() -> Any:
    """What the program chose by multiprocessing.set_start_method; else fork on Linux."""
    if multiprocessing.get_start_method(allow_none=True) is None and sys.platform == "linux":
        return multiprocessing.get_context("fork")
    return multiprocessing.get_context()


class Processes:
    """`count` worker processes. Tasks go in by `put`, results come out by `get`."""

    def __init__(self, job: Job, context: Any) -> None:
        context = default_context() if context is None else context
        self._owner, self._poll = os.getpid(), select.poll()
        self._workers: list[_WorkerHandle] = []
        method = getattr(context, "get_start_method", multiprocessing.get_start_method)()
        payload = job if method == "fork" else _PickledJob(job)
        if method == "fork":
            _load_what_workers_need()
        try:
            for number in range(job.count):
                self._workers.append(_WorkerHandle(context, payload, number, max(4, 256 // job.count)))
        except BaseException as error:
            self.stop()
            if isinstance(error, (TypeError, AttributeError, pickle.PicklingError)):
                warn(
                    "Got pickle error when attempting to start a worker Process. This might be "
                    "because the worker Process arguments are not picklable. You can also try "
                    "multiprocessing.set_start_method('fork')."
                )
            raise
        self._by_descriptor = {m.channel.fileno(): k for k, m in enumerate(self._workers)}
        for descriptor in self._by_descriptor:
            self._poll.register(descriptor, select.POLLIN)

    @property
    def pids(self) -> list[int]:
        """The workers' process ids."""
        return [m.process.pid for m in self._workers]

    @property
    def members(self) -> list[Any]:
        """The workers' processes."""
        return [m.process for m in self._workers]

    def put(self, worker: int, message: Any) -> None:
        """Send a message: tasks (numbers and indices), "again" or "end"; never waits."""
        member = self._workers[worker]
        if message == "end":
            member.ending = True
        if not member.gone:
            member.channel.post(pickle.dumps((message, member.reader.freed()), 5))
            if member.channel.unsent:
                self._poll.modify(member.channel.fileno(), select.POLLIN | select.POLLOUT)

    def get(self, seconds: float, awaited: int) -> list[Result]:
        """Results that have come in within a time; [] where none has.

        awaited: the worker that must send something. RuntimeError when a worker has died.
        """
        found: list[Result] = []
        for descriptor, events in self._poll.poll(1000 * min(seconds, _LOOK)):
            worker = self._by_descriptor[descriptor]
            if events & select.POLLOUT:
                self._flush(worker)
            if events & ~select.POLLOUT:
                found += self._receive(worker)
        if not found:
            self._look(self._workers[awaited])
        return found

    def _flush(self, worker: int) -> None:
        end = self._workers[worker].channel
        end.flush()
        if not end.unsent:
            self._poll.modify(end.fileno(), select.POLLIN)

    def _receive(self, worker: int) -> list[Result]:
        member, found = self._workers[worker], []
        try:
            for body, descriptor in member.channel.receive():
                (number, status), load = member.reader.read(body, descriptor)
                if status == "rows":
                    found += [
                        (worker, number + k, "data", lambda batch=batch: batch)
                        for k, batch in enumerate(shared.cut(*load()))
                    ]
                else:
                    found.append((worker, number, status, load if status == "data" else load()))
        except channel.Closed:
            self._poll.unregister(member.channel.fileno())
            member.gone = True
            member.process.join(_GRACE)
        return found

    def _look(self, awaited: _WorkerHandle) -> None:
        """RuntimeError if a worker is dead that should not be."""
        for m in self._workers:
            # Only at the second look: what it sent last may just have come in.
            m.gone, m.ended = m.gone or m.ended, not m.process.is_alive()
        dead = [m for m in self._workers if m.gone and (m is awaited or not m.ending)]
        if not dead:
            return
        ends = "; ".join(f"{m.process.pid} {_exit_reason(m.process.exitcode)}" for m in dead)
        pids = ", ".join(str(m.process.pid) for m in dead)
        raise RuntimeError(
            f"DataLoader worker (pid(s) {pids}) exited unexpectedly: {ends}. Rerunning with "
            "num_workers=0 may give a better error trace"
        )

    def stack(self, worker: int) -> str:
        """Where a worker is in its Python code, as text."""
        member = self._workers[worker]
        pid = member.process.pid
        if not member.process.is_alive():
            return f"(worker {worker}, pid {pid}, has ended)"
        # Before it says that it is ready the signal would end it.
        if not member.ready and not (member.stack.poll() and member.stack.recv_bytes()):
            return f"(worker {worker}, pid {pid}, is still starting)"
        member.ready = True
        os.kill(pid, _SHOW_STACK)
        text, descriptor = b"", member.stack.fileno()
        while select.select([descriptor], [], [], 1.0 if not text else 0.1)[0]:
            part = os.read(descriptor, 1 << 16)
            if not part:
                break
            text += part
        return text.decode(errors="replace")

    def stop(self) -> None:
        """End all workers, by force those that do not end by themselves soon; returns when they have."""
        if os.getpid() != self._owner:
            return
        members, self._workers = self._workers, []
        for m in members:
            m.channel.close()
            m.stack.close()
        deadline = time.monotonic() + _GRACE
        for m in members:
            m.process.join(max(0.0, deadline - time.monotonic()))
        for end in ("terminate", "kill"):
            late = [m for m in members if m.process.is_alive()]
            for m in late:
                getattr(m.process, end)()
            for m in late:
                m.process.join(1.0)


@lru_cache(maxsize=1)
def _load_what_workers_need() -> None:
    """What is loaded or generated at first use: once here rather than in every child."""
    _generate_state(0, 0)
    torch.get_num_threads()
    shared.dumps(torch.zeros(1))
    # By the code that gathers the rows of several batches.
    torch.stack([torch.zeros(64), torch.zeros(64)]).index_select(0, torch.zeros(4096, dtype=torch.int64))
    torch.tensor([1.0], dtype=torch.float64)


class _WorkerHandle:
    """The main process's view of one worker."""

    def __init__(self, context: Any, payload: Job | _PickledJob, number: int, lent: int) -> None:
        self.channel, other = channel.pair()
        self.stack, stack_end = context.Pipe(duplex=False)
        self.reader = shared.Reader(lent)
        self.gone = self.ended = self.ending = self.ready = False
        self.process = context.Process(
            target=_worker_main,
            args=(other, stack_end, payload, number),
            name=f"DataLoader worker {number}",
            daemon=True,
        )
        # What is there already is left alone by a forked worker's collector: it would copy every page.
        gc.freeze()
        try:
            self.process.start()
        except BaseException:
            self.channel.close()
            self.stack.close()
            raise
        finally:
            gc.unfreeze()
            # Only the worker may hold these ends: their closing tells of its death.
            other.close()
            stack_end.close()


def _exit_reason(code: int | None) -> str:
    if code is not None and code < 0:
        return f"is killed by signal: {signal.strsignal(-code) or -code}"
    return f"exited with status {code}"


class _PickledJob:
    """A Job on its way to a worker that is not forked: its bytes lie in one block for all workers.

    It is pickled while a process is being started, as locks and pipes in a dataset demand.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._block: Any = None
        self._content: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        body, buffers = shared.dumps(self._job)
        spans, size = shared.layout(buffers)
        content = [(np.frombuffer(b, np.uint8).ctypes.data if b.nbytes else 0, b.nbytes) for b in buffers]
        if content != self._content:
            self._block, self._content = sharing.block(size), content
            shared.fill(memoryview(self._block._bytes), spans, buffers)
        return _unpickler, (body, sharing.on_its_way(self._block), size, spans)


def _unpickler(body: bytes, block: Any, size: int, spans: Any) -> Callable[[], Job]:
    """A function that unpickles the job: errors in that are to be told over the worker's socket."""

    def unpacked() -> Job:
        descriptor = block.detach()
        try:
            memory = memoryview(sharing.private(descriptor, size))
        finally:
            os.close(descriptor)
        found: Job = pickle.loads(body, buffers=[memory[a:b] for a, b in spans])
        return found

    return unpacked


# --- in the worker ------------------------------------------------------------------------------


def _worker_main(end: channel.Channel, stack_end: Any, payload: Any, number: int) -> None:
    """What a worker process runs from its start to its end; payload: a Job, or a function that unpickles
    it.
    """
    _prepare_signals(stack_end)
    start_new_thread(_end_with_main, (end.fileno(),))  # without waiting until it runs, as Thread.start does
    try:
        torch.set_num_threads(1)
        writer = shared.Writer(end)
        worker: Any
        try:
            worker = Worker(payload if isinstance(payload, Job) else payload(), number)
        except Exception as error:
            # There is no dataset here: every task is answered with the reason.
            failure = Failure(error, f"in DataLoader worker process {number}")
            worker = SimpleNamespace(
                answer=lambda index: ("error", failure),
                again=lambda: None,
                failed=lambda error: failure,
                rows=lambda tasks: None,
            )
        _worker_loop(end, writer, worker)
    except (KeyboardInterrupt, channel.Closed):
        pass  # The main process has been interrupted too, or wants no more.


def _prepare_signals(stack_end: Any) -> None:
    """The program's handlers are the main process's; a signal writes this worker's stack."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.set_blocking(stack_end.fileno(), False)
    faulthandler.register(_SHOW_STACK, stack_end, all_threads=True)
    stack_end.send_bytes(b"ready")


def _end_with_main(descriptor: int) -> None:
    """Wait until the main process has closed the socket; end this process if it does not end itself."""
    hung_up = select.poll()
    hung_up.register(descriptor, 0)
    parent = os.getppid()
    hung_up.poll()
    time.sleep(1.0)
    if os.getppid() == parent:
        # It lives, and will lose its patience by itself; this is for a child of the fork server.
        time.sleep(_GRACE)
    os._exit(1)


def _worker_loop(end: channel.Channel, writer: shared.Writer, worker: Worker) -> None:
    while True:
        for body, _ in end.receive():
            message, freed = pickle.loads(body)
            writer.released(freed)
            if message == "end":
                return
            if message == "again":
                worker.again()
                continue
            found = worker.rows([index for _, index in message]) if len(message) > 1 else None
            if found is not None:
                writer.send((message[0][0], "rows"), found)
                continue
            for task, index in message:
                _answer(worker, writer, task, index)


def _answer(worker: Worker, writer: shared.Writer, task: int, index: Any) -> None:
    answer = worker.answer(index)
    if answer is None:
        return
    status, data = answer
    try:
        writer.send((task, status), data)
    except channel.Closed:
        raise
    except Exception as error:
        failure = worker.failed(error)
        if status == "error":
            # An exception of a class that does not travel.
            failure.type, failure.text = RuntimeError, data.text
        writer.send((task, "error"), failure)
