"""torch.testing._internal.common_distributed: tests of several ranks, as processes or as threads."""

from __future__ import annotations

import functools
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight import Tensor, nn
from rushlight._engine.names.alternatives import attribute
from rushlight.testing._internal.common_utils import TestCase, find_free_port
from rushlight.testing._internal.distributed.processes import (
    DEFAULT_WORLD_SIZE,
    TIMEOUT_DEFAULT,
    TIMEOUT_OVERRIDE,
    DistributedTestBase,
    MultiProcContinuousTest,
    MultiProcessTestCase,
    get_timeout,
    retrieve_result_from_completion_queue,
    run_subtests,
)
from rushlight.testing._internal.distributed.skips import (
    ACCELERATOR_DIST_BACKENDS,
    DDP_RANK_DEVICES,
    HAS_ACCELERATOR,
    TEST_SKIPS,
    DistTestCases,
    TestSkip,
    at_least_x_gpu,
    get_required_world_size,
    import_transformers_or_skip,
    nccl_skip_if_lt_x_gpu,
    require_n_gpus_for_nccl_backend,
    requires_accelerator_dist_backend,
    requires_ddp_rank,
    requires_gloo,
    requires_mpi,
    requires_multicast_support,
    requires_nccl,
    requires_nccl_shrink,
    requires_nccl_version,
    requires_ucc,
    requires_world_size,
    skip_if_lt_x_gpu,
    skip_if_no_gpu,
    skip_if_odd_worldsize,
    skip_if_rocm,
    skip_if_rocm_arch_multiprocess,
    skip_if_rocm_multiprocess,
    skip_if_rocm_ver_lessthan_multiprocess,
    skip_if_small_worldsize,
    skip_if_win32,
    sm_is_or_higher_than,
    with_dist_debug_levels,
    with_nccl_blocking_wait,
)
from rushlight.testing._internal.distributed.threads import (
    MultiThreadedTestCase,
    spawn_threads_and_init_comms,
)

__all__ = [
    "ACCELERATOR_DIST_BACKENDS",
    "DDP_RANK_DEVICES",
    "DEFAULT_WORLD_SIZE",
    "HAS_ACCELERATOR",
    "TEST_SKIPS",
    "TIMEOUT_DEFAULT",
    "TIMEOUT_OVERRIDE",
    "DistTestCases",
    "DistributedTestBase",
    "MultiProcContinuousTest",
    "MultiProcessTestCase",
    "MultiThreadedTestCase",
    "TestSkip",
    "at_least_x_gpu",
    "get_required_world_size",
    "get_timeout",
    "import_transformers_or_skip",
    "nccl_skip_if_lt_x_gpu",
    "require_n_gpus_for_nccl_backend",
    "requires_accelerator_dist_backend",
    "requires_ddp_rank",
    "requires_gloo",
    "requires_mpi",
    "requires_multicast_support",
    "requires_nccl",
    "requires_nccl_shrink",
    "requires_nccl_version",
    "requires_ucc",
    "requires_world_size",
    "retrieve_result_from_completion_queue",
    "run_subtests",
    "skip_if_lt_x_gpu",
    "skip_if_no_gpu",
    "skip_if_odd_worldsize",
    "skip_if_rocm",
    "skip_if_rocm_arch_multiprocess",
    "skip_if_rocm_multiprocess",
    "skip_if_rocm_ver_lessthan_multiprocess",
    "skip_if_small_worldsize",
    "skip_if_win32",
    "sm_is_or_higher_than",
    "spawn_threads_and_init_comms",
    "with_dist_debug_levels",
    "with_nccl_blocking_wait",
]

PLATFORM_SUPPORTS_SYMM_MEM = False  # devices here do not read each other's memory
tmp_dir: tempfile.TemporaryDirectory[str] | None = None


def __getattr__(name: str) -> Any:
    return attribute(__name__, name)


def evaluate_platform_supports_symm_mem() -> bool:
    """False: devices here do not read each other's memory."""
    return PLATFORM_SUPPORTS_SYMM_MEM


def create_tcp_store(
    addr: str = "localhost",
    world_size: int = 1,
    is_master: bool = True,
    timeout: timedelta = timedelta(minutes=5),
    wait_for_workers: bool = True,
    jit_class: bool = False,
    use_libuv: bool = True,
) -> Any:
    """A TCPStore at a free port."""
    port = find_free_port()
    return dist.TCPStore(
        addr, port, world_size, is_master, timeout, wait_for_workers=wait_for_workers, use_libuv=use_libuv
    )


def create_device(interface: str | None = None, lazy_init: bool = False) -> Any:
    """A network interface for a group of gloo's, by name; the local one."""
    if interface is None:
        return dist.ProcessGroupGloo.create_device(hostname="127.0.0.1", lazy_init=lazy_init)
    return dist.ProcessGroupGloo.create_device(interface=interface, lazy_init=lazy_init)


@contextmanager
def captured_output() -> Iterator[tuple[io.StringIO, io.StringIO]]:
    """What is printed inside: texts of stdout and stderr."""
    before = sys.stdout, sys.stderr
    texts = io.StringIO(), io.StringIO()
    sys.stdout, sys.stderr = texts
    try:
        yield texts
    finally:
        sys.stdout, sys.stderr = before


def simple_sparse_reduce_tests(
    rank: int, world_size: int, num_inputs: int = 1
) -> list[tuple[list[Tensor], list[Tensor]]]:
    """A rank's sparse tensors, of 1 to 3 sparse dims and then of 1 to 3 dense ones, and all ranks' sums."""

    def one(rank: int, size: int, sparse: int, dense: int) -> Tensor:
        places = torch.zeros(sparse, rank + 1, dtype=torch.int64)
        places[0] = torch.arange(rank + 1)
        values = torch.ones([rank + 1] + [2] * dense)
        return torch.sparse_coo_tensor(places, values, [size] * sparse + [2] * dense)

    size, cases = num_inputs * world_size, []
    for dims in ((1, 0), (2, 0), (3, 0), (1, 1), (1, 2), (1, 3)):
        mine = [one(num_inputs * rank + n, size, *dims) for n in range(num_inputs)]
        total = functools.reduce(torch.add, [one(n, size, *dims) for n in range(size)])
        cases.append((mine, [total] * num_inputs))
    return cases


def init_multigpu_helper(world_size: int, backend: str) -> dict[int, list[int]]:
    """The devices of each rank: one, or none where there are fewer devices than ranks."""
    there = range(torch.cuda.device_count())
    share = len(there) // world_size if world_size > len(there) else 1
    return {rank: list(there[rank * share : (rank + 1) * share]) for rank in range(world_size)}


def initialize_temp_directories(init_method: str | None = None) -> None:
    """Make a directory for ranks to meet in, and name it in TEMP_DIR and INIT_METHOD."""
    global tmp_dir
    tmp_dir = tempfile.TemporaryDirectory()
    os.environ["TEMP_DIR"] = tmp_dir.name
    for name in ("barrier", "test_dir", "init_dir"):
        os.mkdir(os.path.join(tmp_dir.name, name))
    met = os.path.join(tmp_dir.name, "init_dir", "shared_init_file")
    os.environ["INIT_METHOD"] = f"file://{met}" if init_method is None else init_method


def cleanup_temp_dir() -> None:
    """Remove what initialize_temp_directories() made."""
    if tmp_dir is not None:
        tmp_dir.cleanup()


@functools.cache
def has_efa() -> bool:
    """Whether there are interfaces of libfabric's provider efa."""
    try:
        found = subprocess.run(["fi_info", "-p", "efa", "-t", "FI_EP_RDM"], check=False)
    except FileNotFoundError:
        return False
    return found.returncode == 0


def tp_transports() -> list[str] | None:
    """The transports of remote calls; None: any."""
    return ["shm", "uv"] if has_efa() else None


def verify_ddp_error_logged(model_DDP: Any, err_substr: str) -> None:
    """AssertionError if DistributedDataParallel's record of its run does not tell the error."""
    told = model_DDP._get_ddp_logging_data()
    for name in ("iteration", "has_error", "error"):
        if name not in told:
            raise AssertionError(f"Expected '{name}' in ddp_logging_data")
    wanted = err_substr.split("\nException raised from ")[0]
    if wanted not in told["error"]:
        raise AssertionError(f"Did not find expected {wanted} in ddp logging data error: {told['error']}")


class SaveForwardInputsModule(nn.Module):
    """A linear layer that keeps what it was given."""

    def __init__(self, forward_inputs: dict[nn.Module, Tensor], cast_forward_inputs: bool) -> None:
        super().__init__()
        self.l = nn.Linear(100, 100)
        self.forward_inputs, self.cast_forward_inputs = forward_inputs, cast_forward_inputs

    def forward(self, x: Tensor) -> Tensor:
        self.forward_inputs[self] = x
        found: Tensor = self.l(x.to(self.l.weight.dtype) if self.cast_forward_inputs else x)
        return found


class SaveForwardInputsModel(nn.Module):
    """Two of these layers, which also keeps what it was given itself."""

    def __init__(self, forward_inputs: dict[nn.Module, Tensor], cast_forward_inputs: bool) -> None:
        super().__init__()
        self.c1 = SaveForwardInputsModule(forward_inputs, cast_forward_inputs)
        self.c2 = SaveForwardInputsModule(forward_inputs, cast_forward_inputs)
        self.forward_inputs = forward_inputs

    def forward(self, x: Tensor) -> Tensor:
        self.forward_inputs[self] = x
        found: Tensor = self.c2(self.c1(x))
        return found


@contextmanager
def _dynamo_dist_per_rank_init(
    rank: int, world_size: int, backend: str | None = None, init_pg: bool = True, fake_pg: bool = False
) -> Iterator[None]:
    """Be a rank of a world, on its own device, with compile() begun anew."""
    found = torch.accelerator.current_accelerator()
    if found is not None and not fake_pg:
        torch.accelerator.set_device_index(rank)
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="6789")
    name = backend or dist.get_default_backend_for_device("cpu" if found is None else found.type)
    if init_pg and fake_pg:
        dist.init_process_group("fake", rank=rank, world_size=world_size, store=dist.HashStore())
    elif init_pg:
        dist.init_process_group(name, rank=rank, world_size=world_size)
    _forget_compiled()
    try:
        yield
    finally:
        _forget_compiled()
        if init_pg:
            dist.destroy_process_group()


def _forget_compiled() -> None:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()


class DynamoDistributedSingleProcTestCase(TestCase):
    """Tests of a world of one rank."""

    rank, device, device_ids = 0, "cpu", None

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        found = torch.accelerator.current_accelerator()
        kind = "cpu" if found is None else found.type
        cls.device = kind if found is None else f"{kind}:0"
        store = dist.HashStore()
        backend = dist.get_default_backend_for_device(kind)
        dist.init_process_group(backend, rank=0, world_size=1, store=store)

    @classmethod
    def tearDownClass(cls) -> None:
        dist.destroy_process_group()
        super().tearDownClass()


class DynamoDistributedMultiProcTestCase(DistributedTestBase):
    """Tests with a rank for each device, which begin with _dynamo_dist_per_rank_init."""

    @property
    def world_size(self) -> int:
        return int(torch.accelerator.device_count())
