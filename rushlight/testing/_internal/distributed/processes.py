"""Tests whose ranks are processes: one process for each rank and test, or one for each rank of a class."""

from __future__ import annotations

import contextlib
import functools
import itertools
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
from rushlight.testing._internal.distributed.skips import TEST_SKIPS, environment

DEFAULT_WORLD_SIZE = 4
TIMEOUT_DEFAULT = int(os.getenv("DISTRIBUTED_TESTS_DEFAULT_TIMEOUT", "300"))
_PATIENCE = 10.0  # seconds for processes that were told to end
TIMEOUT_OVERRIDE = {"test_ddp_uneven_inputs": 400, "test_DistributedDataParallel": 500}


def get_timeout(test_id: str) -> int:
    """For how many seconds the ranks of a test are waited for."""
    return TIMEOUT_OVERRIDE.get(test_id.split(".")[-1], TIMEOUT_DEFAULT)


def backend_of(device: Any) -> str:
    """The backend for a kind of device."""
    return "nccl" if "cuda" in str(device) else "gloo"


def run_subtests(
    cls_inst: Any, subtest_config: dict[str, list[Any]], test_fn: Any, *test_args: Any, **test_kwargs: Any
) -> None:
    """Run a function for each combination of arguments, as subtests, with a barrier behind each."""
    for values in itertools.product(*subtest_config.values()):
        chosen = dict(zip(subtest_config, values, strict=True))
        with cls_inst.subTest(**chosen):
            torch._dynamo.reset()
            test_fn(*test_args, **test_kwargs, **chosen)
            torch._dynamo.reset()
        dist.barrier()


class RanksTestCase(TestCase):
    """A test case whose tests run on several ranks, and which is itself no rank."""

    rank: int
    MAIN_PROCESS_RANK = -1  # of the process or thread that waits for the ranks

    def __init__(self, method_name: str = "runTest", methodName: str = "runTest") -> None:
        name = method_name if methodName == "runTest" else methodName
        super().__init__(name)
        if hasattr(self, name):
            setattr(self, name, self.join_or_run(getattr(self, name)))
        elif methodName != "runTest":
            raise ValueError(f"no such test method in {self.__class__}: {methodName}")

    def join_or_run(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """The test of a rank; for who is no rank, waiting for the ranks."""

        @functools.wraps(fn)
        def chosen(test: RanksTestCase, **kwargs: Any) -> None:
            if test.rank == test.MAIN_PROCESS_RANK:
                test._wait(fn)
            else:
                fn(**kwargs)

        return types.MethodType(chosen, self)

    def run_subtests(self, *args: Any, **kwargs: Any) -> None:
        """run_subtests of this test."""
        run_subtests(self, *args, **kwargs)

    def _wait(self, fn: Callable[..., Any]) -> None:
        """Wait until all ranks have run a test, and raise what it is to raise."""
        raise NotImplementedError


class MultiProcessTestCase(RanksTestCase):
    """Each test is run by `world_size` processes, which setUp() starts by _spawn_processes().

    A rank has `rank` and `file_name`, a file for a FileStore. A rank's exception, an exit status of rank 0
    other than 0 and a rank that does not end in time are the test's failure; a skip in rank 0 is the test's.
    """

    TEST_ERROR_EXIT_CODE = 10  # of a rank whose test raised

    file_name: str
    processes: list[Any]
    pid_to_pipe: dict[int, Connection]  # where a rank tells its exception
    special_return_code_checks: dict[Any, int]  # test -> the exit status that it is to have
    skip_return_code_checks: list[Any]  # tests that may have any
    _told: dict[int, str]  # what ranks have said of their exceptions
    _late: list[int]  # ranks that did not end in time

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

    def _wait(self, fn: Callable[..., Any]) -> None:
        self._join_processes(fn)

    def setUp(self) -> None:
        super().setUp()
        self.special_return_code_checks, self.skip_return_code_checks = {}, []
        self.processes, self.pid_to_pipe, self._told, self._late = [], {}, {}, []
        self.rank = self.MAIN_PROCESS_RANK
        with tempfile.NamedTemporaryFile(delete=False) as file:
            self.file_name = file.name

    def tearDown(self) -> None:
        super().tearDown()
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            _end(process, _PATIENCE)
        self.processes = []
        with contextlib.suppress(OSError):  # a FileStore may have removed it
            os.remove(self.file_name)

    def _current_test_name(self) -> str:
        return self.id().split(".")[-1]

    def _start_processes(self, proc: Any) -> None:
        test, more = self._current_test_name(), {"fake_pg": getattr(self, "fake_pg", False)}
        pipes = [torch.multiprocessing.Pipe() for _ in range(int(self.world_size))]
        self.processes = [
            proc(target=self._run, name=f"process {n}", args=(n, test, self.file_name, there), kwargs=more)
            for n, (_, there) in enumerate(pipes)
        ]
        for process, (here, there) in zip(self.processes, pipes, strict=True):
            process.start()
            there.close()  # the rank's end is the only one then: what it does not say is not waited for
            self.pid_to_pipe[process.pid] = here

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
            while running := [n for n, process in enumerate(self.processes) if process.exitcode is None]:
                self._listen()
                if time.monotonic() - begun > limit:
                    self._late = running
                if self._late or self._errors():
                    for process in self.processes:
                        process.terminate()
                    break
                time.sleep(0.02)
            self._listen()
            self._check_return_codes(fn, time.monotonic() - begun)
        finally:
            for pipe in self.pid_to_pipe.values():
                pipe.close()

    def _listen(self) -> None:
        """Hear ranks at once: one with much to say does not end before."""
        for rank, process in enumerate(self.processes):
            pipe = self.pid_to_pipe[process.pid]
            with contextlib.suppress(EOFError, ConnectionError):
                while pipe.poll():
                    self._told[rank] = pipe.recv()

    def _errors(self) -> list[tuple[int, Any]]:
        ends = list(enumerate(self.processes))
        return [(rank, process) for rank, process in ends if process.exitcode == self.TEST_ERROR_EXIT_CODE]

    def _check_return_codes(self, fn: Any, elapsed_time: float) -> None:
        if not self.processes:  # none was started: nothing to check
            return
        told = [
            f"Process {rank} exited with error code {self.TEST_ERROR_EXIT_CODE} and exception:\n"
            f"{self._told.get(rank, 'none was told')}\n"
            for rank, _ in self._errors()
        ]
        if told:
            raise RuntimeError("".join(told))
        if self._late:
            raise RuntimeError(
                f"Process {self._late[0]} terminated or timed out after {elapsed_time} seconds"
            )
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
        self.enterContext(environment(WORLD_SIZE=str(self.world_size)))  # ranks ask it
        self._spawn_processes()

    def tearDown(self) -> None:
        super().tearDown()
        with contextlib.suppress(AssertionError):
            dist.destroy_process_group()

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
            for process in cls.processes:  # after a failure some may wait for each other
                _end(process, _PATIENCE if cls.poison_pill else cls.timeout.total_seconds())
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

    def _wait(self, fn: Callable[..., Any]) -> None:
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


def _end(process: Any, patience: float) -> None:
    """Wait for the end of a process; one that does not end in time is killed."""
    process.join(patience)
    if process.exitcode is None:
        process.kill()
        process.join()


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
