"""Tests whose ranks are threads of one process."""

from __future__ import annotations

import functools
import sys
import threading
import time
import traceback
import unittest
from collections.abc import Callable, Sequence
from queue import Queue
from typing import Any

import rushlight.distributed as dist
from rushlight.testing._internal.distributed.multi_threaded_pg import (
    ProcessLocalGroup,
    _install_threaded_pg,
    _uninstall_threaded_pg,
)
from rushlight.testing._internal.distributed.processes import (
    DEFAULT_WORLD_SIZE,
    TIMEOUT_DEFAULT,
    RanksTestCase,
)
from rushlight.testing._internal.distributed.skips import TEST_SKIPS


def spawn_threads_and_init_comms(
    func: Any = None, timeout: float = TIMEOUT_DEFAULT, world_size: int = DEFAULT_WORLD_SIZE
) -> Any:
    """A decorator, with or without arguments: the test is run by threads that are the ranks of a world."""
    if func is None:
        return functools.partial(spawn_threads_and_init_comms, timeout=timeout, world_size=world_size)

    @functools.wraps(func)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> None:
        _install_threaded_pg()
        store = dist.HashStore()

        def rank_runs(rank: int) -> None:
            _be_rank(rank, world_size, store, lambda: func(self, *args, **kwargs))

        threads = [_started(rank_runs, rank) for rank in range(world_size)]
        MultiThreadedTestCase._join_threads(threads, func, timeout)

    return wrapper


def _started(run: Callable[..., Any], *args: Any) -> threading.Thread:
    thread = threading.Thread(target=run, args=args, daemon=True)  # one that hangs does not keep the process
    thread.start()
    return thread


def _be_rank(rank: int, size: int, store: Any, run: Callable[[], Any]) -> None:
    """Join the world, run and leave it; what is raised goes into the queue, and ends the other ranks.

    A thread that was waited for in vain may come here when others are the ranks, or nobody is: it leaves
    their groups, and the process's, as they are.
    """
    over, joined = ProcessLocalGroup.over, None
    try:
        dist.init_process_group(backend="threaded", rank=rank, world_size=size, store=store)
        joined = dist.group.WORLD
        run()
    except BaseException as error:
        if over is ProcessLocalGroup.over:
            MultiThreadedTestCase.exception_queue.put((rank, sys.exc_info()))
            ProcessLocalGroup.exception_handle(error)
    finally:
        if joined is not None and dist.group.WORLD is joined:
            dist.destroy_process_group()


class MultiThreadedTestCase(RanksTestCase):
    """Each test is run by `world_size` threads, which setUp() starts by _spawn_threads().

    What a thread needs is set up by perThreadSetUp(); all have one random number generator.
    """

    exception_queue: Queue[Any] = Queue()
    MAIN_THREAD_RANK = -1

    rank: int
    threads: list[threading.Thread]
    global_store: Any = None

    @property
    def world_size(self) -> int:
        """How many ranks there are."""
        return DEFAULT_WORLD_SIZE

    @property
    def _current_test_name(self) -> str:
        return self.id().split(".")[-1]

    def _wait(self, fn: Callable[..., Any]) -> None:
        self._join_threads(self.threads, fn)

    def perThreadSetUp(self) -> None:
        """What is done on each thread before its test."""

    def perThreadTearDown(self) -> None:
        """What is done on each thread after its test."""

    def setUp(self) -> None:
        super().setUp()
        self.rank = self.MAIN_THREAD_RANK
        self.threads = []

    def tearDown(self) -> None:
        super().tearDown()
        self.threads = []

    def _spawn_threads(self) -> None:
        _install_threaded_pg()
        self.__class__.global_store = dist.HashStore()
        for rank in range(self.world_size):
            self.threads.append(_started(self.__class__._run, self._current_test_name, rank, self.world_size))

    @classmethod
    def _run(cls, test_name: str, rank: int, world_size: int, **kwargs: Any) -> None:
        self = cls(test_name)
        self.rank = rank
        self.run_test_with_threaded_pg(test_name, rank, world_size)

    def run_test_with_threaded_pg(self, test_name: str, rank: int, world_size: int) -> None:
        """Be a rank: join the world and run the test."""

        def run() -> None:
            try:
                self.perThreadSetUp()
                getattr(self, test_name)()
            finally:
                self.perThreadTearDown()

        _be_rank(rank, world_size, self.__class__.global_store, run)

    @classmethod
    def _join_threads(
        cls, threads: Sequence[threading.Thread], fn: Any, timeout: float = TIMEOUT_DEFAULT
    ) -> None:
        failed: list[tuple[int, Any]] = []
        until = time.monotonic() + timeout
        try:
            for rank, thread in enumerate(threads):
                thread.join(max(0.0, until - time.monotonic()))
                if thread.is_alive():
                    late = TimeoutError(f"Rank failed to join in under {timeout} seconds")
                    failed.append((rank, (TimeoutError, late, None)))
            while not cls.exception_queue.empty():
                failed.append(cls.exception_queue.get())
        finally:
            ProcessLocalGroup.reset()
            _uninstall_threaded_pg()
        cls._check_return_codes(failed, timeout, fn)

    @classmethod
    def _check_return_codes(cls, failed_ranks: list[tuple[int, Any]], timeout: float, fn: Any) -> None:
        told, skip = "", 0
        for rank, raised in failed_ranks:
            error = raised[1]
            if isinstance(error, TimeoutError):
                raise RuntimeError(f"Thread {rank} terminated or timed out after {timeout} seconds\n")
            if isinstance(error, unittest.SkipTest):
                skip = skip or TEST_SKIPS["generic"].exit_code
            elif isinstance(error, SystemExit):
                skip = skip or (error.code if type(error.code) is int else 0)
            else:
                told += (
                    f"Thread {rank} exited with exception:\n{''.join(traceback.format_exception(error))}\n"
                )
        if told:
            raise RuntimeError(told)
        for known in TEST_SKIPS.values():
            if known.exit_code == skip:
                raise unittest.SkipTest(known.message)

    def assertEqualOnRank(self, x: Any, y: Any, msg: Any = None, *, rank: int = 0) -> None:
        """assertEqual on one rank: random numbers are drawn by all from one generator."""
        if self.rank == rank:
            self.assertEqual(x, y, msg)

    def assertNotEqualOnRank(self, x: Any, y: Any, msg: Any = None, *, rank: int = 0) -> None:
        """assertNotEqual on one rank."""
        if self.rank == rank:
            self.assertNotEqual(x, y)
