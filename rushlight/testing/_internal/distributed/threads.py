"""Tests whose ranks are threads of one process."""

from __future__ import annotations

import functools
import sys
import threading
import traceback
import types
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
            dist.init_process_group(backend="threaded", rank=rank, world_size=world_size, store=store)
            _told(MultiThreadedTestCase.exception_queue, rank, lambda: func(self, *args, **kwargs))
            dist.destroy_process_group()

        threads = [threading.Thread(target=rank_runs, args=(rank,)) for rank in range(world_size)]
        for thread in threads:
            thread.start()
        MultiThreadedTestCase._join_threads(threads, func)

    return wrapper


def _told(queue: Queue[Any], rank: int, run: Callable[[], Any]) -> None:
    """Run a rank's test; what it raises goes into the queue, and ends the other ranks."""
    try:
        run()
    except BaseException as error:
        queue.put((rank, sys.exc_info()))
        ProcessLocalGroup.exception_handle(error)


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

    def join_or_run(self, fn: Callable[[], Any]) -> Callable[[], Any]:
        """The test of a rank; for the main thread, waiting for the ranks."""

        @functools.wraps(fn)
        def wrapper(self: MultiThreadedTestCase) -> None:
            if self.rank == self.MAIN_THREAD_RANK:
                self._join_threads(self.threads, fn)
            else:
                fn()

        return types.MethodType(wrapper, self)

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
            arguments = self._current_test_name, rank, self.world_size
            thread = threading.Thread(target=self.__class__._run, args=arguments)
            thread.start()
            self.threads.append(thread)

    @classmethod
    def _run(cls, test_name: str, rank: int, world_size: int, **kwargs: Any) -> None:
        self = cls(test_name)
        self.rank = rank
        self.run_test_with_threaded_pg(test_name, rank, world_size)

    def run_test_with_threaded_pg(self, test_name: str, rank: int, world_size: int) -> None:
        """Be a rank: join the world and run the test."""
        store = self.__class__.global_store
        dist.init_process_group(backend="threaded", rank=rank, world_size=world_size, store=store)
        try:
            self.perThreadSetUp()
            _told(self.exception_queue, rank, getattr(self, test_name))
        finally:
            dist.destroy_process_group()
            self.perThreadTearDown()

    @classmethod
    def _join_threads(cls, threads: Sequence[threading.Thread], fn: Any) -> None:
        failed: list[tuple[int, Any]] = []
        try:
            for rank, thread in enumerate(threads):
                thread.join(TIMEOUT_DEFAULT)
                if thread.is_alive():
                    late = TimeoutError(f"Rank failed to join in under {TIMEOUT_DEFAULT} seconds")
                    failed.append((rank, (TimeoutError, late, None)))
            while not cls.exception_queue.empty():
                failed.append(cls.exception_queue.get())
            ProcessLocalGroup.reset()
        finally:
            _uninstall_threaded_pg()
        cls._check_return_codes(failed, TIMEOUT_DEFAULT, fn)

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
