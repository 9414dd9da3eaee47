"""Tests whose ranks are processes: one process for each rank and test, or one for each rank of a class."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import tempfile
import time
import traceback
import types
import unittest
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection
from queue import Empty
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight.testing._internal.common_utils import TestCase, set_rng_seed
from rushlight.testing._internal.distributed.skips import TEST_SKIPS

DEFAULT_WORLD_SIZE = 4
TIMEOUT_DEFAULT = int(os.getenv("DISTRIBUTED_TESTS_DEFAULT_TIMEOUT", "300"))
TIMEOUT_OVERRIDE = {"test_ddp_uneven_inputs": 400, "test_DistributedDataParallel": 500}


def get_timeout(test_id: str) -> int:
    """For how many seconds the ranks of a test are waited for."""
    return TIMEOUT_OVERRIDE.get(test_id.split(".")[-1], TIMEOUT_DEFAULT)


def backend_of(device: Any) -> str:
    """The backend for a kind of device."""
    return "nccl" if "cuda" in str(device) else "gloo"


class RanksTestCase(TestCase):
    """A test case whose tests run on several ranks, and which is itself no rank."""

    _waits = "join_or_run"  # the method that makes of a test what the main process does instead

    def __init__(self, method_name: str = "runTest", methodName: str = "runTest") -> None:
        name = method_name if methodName == "runTest" else methodName
        super().__init__(name)
        if hasattr(self, name):
            setattr(self, name, getattr(self, self._waits)(getattr(self, name)))
        elif methodName != "runTest":
            raise ValueError(f"no such test method in {self.__class__}: {methodName}")


class MultiProcessTestCase(RanksTestCase):
    """Each test is run by `world_size` processes, which setUp() starts by _spawn_processes().

    A rank has `rank` and `file_name`, a file for a FileStore. A rank's exception, an exit status other than
    0 and a rank that does not end in time are the test's failure; a skip in a rank is the test's.
    """

    MAIN_PROCESS_RANK = -1
    TEST_ERROR_EXIT_CODE = 10  # of a rank whose test raised

    rank: int
    file_name: str
    processes: list[Any]
    pid_to_pipe: dict[int, Connection]  # where a rank tells its exception
    special_return_code_checks: dict[Any, int]  # test -> the exit status that it is to have
    skip_return_code_checks: list[Any]  # tests that may have any

    def _should_stop_test_suite(self) -> bool:
        return False

    @property
    def destroy_pg_upon_exit(self) -> bool:
        """Whether a rank's process group is ended for it."""
        return True

    @property
    def world_size(self) -> int:
        """How many ranks there are."""
        return DEFAULT_WORLD_SIZE

    @property
    def is_master(self) -> bool:
        """Whether this is rank 0."""
        return self.rank == 0

    def join_or_run(self, fn: Callable[[], Any]) -> Callable[[], Any]:
        """The test of a rank; for the main process, waiting for the ranks."""

        @functools.wraps(fn)
        def wrapper(self: MultiProcessTestCase) -> None:
            if self.rank == self.MAIN_PROCESS_RANK:
                self._join_processes(fn)
            else:
                fn()

        return types.MethodType(wrapper, self)

    def setUp(self) -> None:
        super().setUp()
        self.special_return_code_checks, self.skip_return_code_checks = {}, []
        self.processes, self.pid_to_pipe = [], {}
        self.rank = self.MAIN_PROCESS_RANK
        with tempfile.NamedTemporaryFile(delete=False) as file:
            self.file_name = file.name

    def tearDown(self) -> None:
        super().tearDown()
        for process in self.processes:
            process.terminate()
        self.processes = []

    def _current_test_name(self) -> str:
        return self.id().split(".")[-1]

    def _start_processes(self, proc: Any) -> None:
        self.processes = []
        for rank in range(int(self.world_size)):
            here, there = torch.multiprocessing.Pipe()
            process = proc(
                target=self.__class__._run,
                name=f"process {rank}",
                args=(rank, self._current_test_name(), self.file_name, there),
                kwargs={"fake_pg": getattr(self, "fake_pg", False)},
            )
            process.start()
            self.pid_to_pipe[process.pid] = here
            self.processes.append(process)

    def _spawn_processes(self) -> None:
        self._start_processes(torch.multiprocessing.get_context("spawn").Process)

    @classmethod
    def _run(cls, rank: int, test_name: str, file_name: str, parent_pipe: Connection, **kwargs: Any) -> None:
        self = cls(test_name)
        self.rank, self.file_name = rank, file_name
        self.run_test(test_name, parent_pipe)

    def run_test(self, test_name: str, parent_pipe: Connection) -> None:
        """Be a rank: run the test, and tell the main process what it raised."""
        set_rng_seed()
        try:
            getattr(self, test_name)()
        except unittest.SkipTest:
            sys.exit(TEST_SKIPS["generic"].exit_code)
        except Exception:
            parent_pipe.send(traceback.format_exc())
            sys.exit(MultiProcessTestCase.TEST_ERROR_EXIT_CODE)
        finally:
            parent_pipe.close()
        if self.destroy_pg_upon_exit:
            with contextlib.suppress(AssertionError, ValueError):
                dist.destroy_process_group()

    def _join_processes(self, fn: Callable[[], Any]) -> None:
        limit, begun = get_timeout(self.id()), time.monotonic()
        try:
            while any(process.exitcode is None for process in self.processes):
                late = time.monotonic() - begun > limit
                if late or self._errors():
                    for process in self.processes:
                        process.terminate()
                    break
                time.sleep(0.02)
            self._check_return_codes(fn, time.monotonic() - begun)
        finally:
            for pipe in self.pid_to_pipe.values():
                pipe.close()

    def _errors(self) -> list[tuple[int, Any]]:
        ends = list(enumerate(self.processes))
        return [(rank, process) for rank, process in ends if process.exitcode == self.TEST_ERROR_EXIT_CODE]

    def _check_return_codes(self, fn: Any, elapsed_time: float) -> None:
        if not self.processes:  # none was started: nothing to check
            return
        told = [
            f"Process {rank} exited with error code {self.TEST_ERROR_EXIT_CODE} and exception:\n"
            f"{self.pid_to_pipe[process.pid].recv()}\n"
            for rank, process in self._errors()
        ]
        if told:
            raise RuntimeError("".join(told))
        for rank, process in enumerate(self.processes):
            if process.exitcode is None:
                raise RuntimeError(f"Process {rank} terminated or timed out after {elapsed_time} seconds")
        if fn in self.skip_return_code_checks:
            return
        first = self.processes[0]
        for skip in TEST_SKIPS.values():
            if first.exitcode == skip.exit_code:
                raise unittest.SkipTest(skip.message)
        wanted = self.special_return_code_checks.get(fn, 0)
        self.assertEqual(
            first.exitcode,
            wanted,
            msg=f"Expected exit code {wanted} but got {first.exitcode} for pid: {first.pid}",
        )


class DistributedTestBase(MultiProcessTestCase):
    """Tests that make their process group by create_pg(device)."""

    def setUp(self) -> None:
        super().setUp()
        os.environ["WORLD_SIZE"] = str(self.world_size)
        self._spawn_processes()

    def tearDown(self) -> None:
        with contextlib.suppress(AssertionError):
            dist.destroy_process_group()
        with contextlib.suppress(OSError):
            os.remove(self.file_name)

    def backend(self, device: Any) -> str:
        """The backend for a kind of device."""
        return backend_of(device)

    def create_pg(self, device: Any, world_size: int | None = None) -> Any:
        """Join the world of all ranks; with NCCL a rank's device becomes the default. The group."""
        size = self.world_size if world_size is None else world_size
        store = dist.FileStore(self.file_name, torch.get_device_module(device).device_count())
        backend = self.backend(device)
        dist.init_process_group(backend=backend, world_size=size, rank=self.rank, store=store)
        if "nccl" in backend:
            torch.set_default_device(torch.device("cuda", self.rank))
            torch.cuda.set_device(self.rank)
        return dist.group.WORLD

    def rank_to_device(self, device: Any) -> dict[int, list[int]]:
        """The devices of each rank."""
        there = torch.get_device_module(device).device_count()
        return {rank: [rank % there] for rank in range(self.world_size)}


def retrieve_result_from_completion_queue(
    process: Any, completion_queue: Any, timeout: float | None = None
) -> Any:
    """What a rank has put into its queue; a RuntimeError, not raised, where it ended or the time is up."""
    begun = time.monotonic()
    while True:
        try:
            return completion_queue.get(timeout=1.0)
        except Empty:
            if not process.is_alive() and completion_queue.empty():
                return RuntimeError(f"Exited with {process.exitcode}")
        if timeout is not None and time.monotonic() - begun > timeout:
            return RuntimeError(f"Process timed out after {time.monotonic() - begun}s")


class MultiProcContinuousTest(RanksTestCase):
    """All tests of a class are run by the same ranks, which make their process group once.

    After a test that failed the others of its class are skipped: its ranks may be anywhere.
    """

    MAIN_PROCESS_RANK = -1
    world_size: int = -2  # not told: as many as there are devices
    rank: int = -2
    rdvz_file: str | None = None
    timeout: timedelta = timedelta(seconds=120)
    poison_pill = False
    _processes_spawned = False
    processes: list[Any] = []
    task_queues: list[Any] = []
    completion_queues: list[Any] = []
    pg: Any = None
    _waits = "_worker_run_main_wait"

    @classmethod
    def backend_str(cls) -> str | None:
        """The backend; None: that of the tensors' devices."""
        return None

    @classmethod
    def device_type(cls) -> str:
        """The kind of device that is tested."""
        found = torch.accelerator.current_accelerator()
        return "cpu" if found is None else found.type

    @classmethod
    def opts(cls, high_priority_stream: bool = False) -> Any:
        """Options of the process group."""
        return None

    @classmethod
    def _init_pg(cls, rank: int, world_size: int, rdvz_file: str) -> None:
        os.environ["LOCAL_RANK"] = str(rank)
        dist.init_process_group(
            backend=cls.backend_str(),
            world_size=world_size,
            rank=rank,
            store=dist.FileStore(rdvz_file, world_size),
            pg_options=cls.opts(),
            timeout=cls.timeout,
        )
        cls.pg = dist.group.WORLD

    @classmethod
    def _run_test_given_id(cls, test_id: str, **kwargs: Any) -> None:
        name = test_id.split(".")[-1]
        self = cls(name)
        self.rank, self.world_size = cls.rank, cls.world_size
        getattr(self, name)(**kwargs)

    @classmethod
    def _worker_loop(cls, rank: int, world_size: int, rdvz_file: str, tasks: Any, answers: Any) -> None:
        cls.rank, cls.world_size, failed, skipped = rank, world_size, False, None
        try:
            cls._init_pg(rank, world_size, rdvz_file)
        except SystemExit as end:
            skipped = _skip_of(end)
            if skipped is None:
                raise
        while (test_id := tasks.get()) is not None:
            if skipped is not None:
                answers.put(skipped)
                continue
            try:
                cls._run_test_given_id(test_id)
                answers.put(test_id)
            except unittest.SkipTest as skip:
                answers.put(skip)
            except BaseException as error:
                told = _skip_of(error)
                failed = failed or told is None
                text = "".join(traceback.format_exception(error))
                answers.put(told or RuntimeError(f"Exception in worker process:\n{text}"))
        if not failed and skipped is None:
            dist.destroy_process_group()

    @classmethod
    def _spawn_processes(cls, world_size: int) -> None:
        with tempfile.NamedTemporaryFile(delete=False) as file:
            cls.rdvz_file = file.name
        context = torch.multiprocessing.get_context("spawn")
        cls.processes, cls.task_queues, cls.completion_queues = [], [], []
        for rank in range(int(world_size)):
            tasks, answers = context.Queue(), context.Queue()
            process = context.Process(
                target=cls._worker_loop,
                name=f"process {rank}",
                daemon=True,
                args=(rank, world_size, cls.rdvz_file, tasks, answers),
            )
            process.start()
            cls.processes.append(process)
            cls.task_queues.append(tasks)
            cls.completion_queues.append(answers)

    @classmethod
    def _ensure_processes_spawned(cls) -> None:
        if cls._processes_spawned:
            return
        told = _of_class(cls, "world_size")
        if told == -2:
            told = torch.get_device_module(_of_class(cls, "device_type")).device_count()
            if not told:
                raise unittest.SkipTest(f"No {_of_class(cls, 'device_type')} devices available")
        backend = _of_class(cls, "backend_str")
        if backend is not None and ":" not in backend and not dist.is_backend_available(backend):
            raise unittest.SkipTest(f"Backend '{backend}' is not available")
        cls.world_size = told
        cls._spawn_processes(told)
        cls._processes_spawned = True

    @classmethod
    def tearDownClass(cls) -> None:
        if cls._processes_spawned:
            for tasks in cls.task_queues:
                tasks.put(None)
            for process in cls.processes:
                process.join()
            cls._processes_spawned = False
            with contextlib.suppress(OSError):
                os.remove(str(cls.rdvz_file))
        super().tearDownClass()

    def setUp(self) -> None:
        super().setUp()
        self._ensure_processes_spawned()
        self.rank = self.MAIN_PROCESS_RANK
        if self.poison_pill:
            raise unittest.SkipTest(f"Previous test failed, skipping {self.id()}")
        for tasks in self.task_queues:
            tasks.put(self.id())

    def _worker_run_main_wait(self, fn: Callable[[], Any]) -> Callable[[], Any]:
        @functools.wraps(fn)
        def wrapper(self: MultiProcContinuousTest, **kwargs: Any) -> None:
            if self.rank == self.MAIN_PROCESS_RANK:
                self._join()
            else:
                fn(**kwargs)

        return types.MethodType(wrapper, self)

    def _join(self) -> None:
        """Wait for what all ranks say of the test, and raise the first one's failure or skip."""
        pairs = zip(self.processes, self.completion_queues, strict=True)
        limit = get_timeout(self.id())
        said = [retrieve_result_from_completion_queue(process, answers, limit) for process, answers in pairs]
        for answer in said:
            if isinstance(answer, BaseException):
                if not isinstance(answer, unittest.SkipTest):
                    self.__class__.poison_pill = True
                raise answer
            self.assertEqual(answer, self.id())


def _skip_of(error: BaseException) -> unittest.SkipTest | None:
    """The skip that a rank's end by exit status stands for."""
    code = error.code if isinstance(error, SystemExit) else None
    messages = [skip.message for skip in TEST_SKIPS.values() if skip.exit_code == code]
    return unittest.SkipTest(messages[0]) if messages else None


def _of_class(cls: type, name: str) -> Any:
    """What a class says by a value, a property or a method."""
    found = getattr(cls, name)
    if isinstance(found, property):
        return found.fget(object.__new__(cls)) if found.fget else None
    return found() if callable(found) else found
