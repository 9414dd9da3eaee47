"""Which tests of several ranks run here: decorators that skip, and how a rank tells that it skips a test."""

from __future__ import annotations

import functools
import os
import sys
import unittest
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeVar
from unittest.mock import patch

import rushlight as torch
import rushlight.distributed as dist

Test = TypeVar("Test", bound=Callable[..., Any])

ACCELERATOR_DIST_BACKENDS = ["nccl", "xccl", "hccl"]
DDP_RANK_DEVICES = ["cuda", "xpu"]
HAS_ACCELERATOR = torch.cuda.is_available()


class TestSkip(NamedTuple):
    """An exit status by which a rank says that it skips, and why."""

    exit_code: int
    message: str


TEST_SKIPS = {
    "backend_unavailable": TestSkip(72, "Skipped because distributed backend is not available."),
    "small_worldsize": TestSkip(73, "Skipped due to small world size."),
    "no_cuda": TestSkip(74, "CUDA is not available."),
    "multi-gpu-1": TestSkip(75, "Need at least 1 CUDA device"),
    "nccl": TestSkip(76, "c10d not compiled with NCCL support"),
    "multi-gpu-2": TestSkip(77, "Need at least 2 CUDA devices"),
    "skipIfRocm": TestSkip(78, "Test skipped for ROCm"),
    "no_peer_access": TestSkip(79, "Test skipped because no GPU peer access"),
    **{f"multi-gpu-{n}": TestSkip(77 + n, f"Need at least {n} CUDA devices") for n in range(3, 9)},
    "generic": TestSkip(86, "Test skipped at subprocess level, look at subprocess log for skip reason"),
    "odd_worldsize": TestSkip(87, "Skipped due to odd world size."),
    "importerror": TestSkip(88, "Test skipped due to missing import"),
    "no_accelerator": TestSkip(89, "accelerator is not available."),
}


def _why(reason: str) -> TestSkip:
    return TEST_SKIPS.get(reason, TEST_SKIPS["generic"])  # of more devices than statuses are told of


class DistTestCases:
    """Which backends have no collective of a name, and which have a feature."""

    skip_collective: dict[str, set[str]] = {
        "allgather_coalesced": {"nccl", "mpi", "ucc", "xccl"},
        "reduce": set(),
        "sendrecv anysource": {"nccl", "ucc", "xccl"},
        "cpu barrier": {"nccl", "ucc", "xccl"},
    }
    backend_feature: dict[str, set[str]] = {
        **{feature: {"nccl", "gloo", "ucc"} for feature in ("gpu", "cuda", "ddp", "subgroup")},
        "plugin": set(),
    }


def requires_ddp_rank(device: str) -> bool:
    """Whether DDP on devices of this kind is told the rank's."""
    return device in DDP_RANK_DEVICES


def _unless(found: Callable[[], str | None]) -> Callable[[Test], Test]:
    """A decorator: the rank ends with the exit status of the skip that `found` names when the test runs."""

    def decorator(test: Test) -> Test:
        @functools.wraps(test)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            reason = found()
            if reason is None:
                return test(*args, **kwargs)
            _skip(args, _why(reason))
            return None

        return wrapper  # type: ignore[return-value]

    return decorator


def _skip(args: tuple[Any, ...], told: TestSkip) -> None:
    handled = getattr(args[0], "_handle_test_skip", None) if args else None  # a test that has no ranks
    if handled is None:
        sys.exit(told.exit_code)
    handled(told.message)


def own_device(rank: int, ranks: int) -> None:
    """Device `rank` becomes the current one; with fewer devices than ranks the process ends as a skip."""
    if torch.accelerator.device_count() < ranks:
        sys.exit(_why(f"multi-gpu-{ranks}").exit_code)
    torch.accelerator.set_device_index(rank)


def at_least_x_gpu(x: int) -> bool:
    """Whether there are x devices."""
    return torch.cuda.is_available() and torch.cuda.device_count() >= x


def skip_if_no_gpu(func: Test) -> Test:
    """Skip where not each of WORLD_SIZE ranks has a device of its own."""

    def found() -> str | None:
        if not torch.cuda.is_available():
            return "no_cuda"
        size = int(os.environ["WORLD_SIZE"])
        return None if at_least_x_gpu(size) else f"multi-gpu-{size}"

    return _unless(found)(func)


def skip_if_small_worldsize(func: Test) -> Test:
    """Skip with fewer than eight ranks, but for MPI (BACKEND, WORLD_SIZE)."""

    def found() -> str | None:
        small = os.environ["BACKEND"] != "mpi" and int(os.environ["WORLD_SIZE"]) < 8
        return "small_worldsize" if small else None

    return _unless(found)(func)


def skip_if_odd_worldsize(func: Test) -> Test:
    """Skip with an odd number of ranks, but for MPI (BACKEND, WORLD_SIZE)."""

    def found() -> str | None:
        odd = os.environ["BACKEND"] != "mpi" and int(os.environ["WORLD_SIZE"]) % 2 == 1
        return "odd_worldsize" if odd else None

    return _unless(found)(func)


def require_n_gpus_for_nccl_backend(n: int, backend: str) -> Callable[[Test], Test]:
    """Skip tests of NCCL with fewer than n devices."""
    return _unless(lambda: f"multi-gpu-{n}" if backend == "nccl" and torch.cuda.device_count() < n else None)


def nccl_skip_if_lt_x_gpu(backend: str, x: int) -> Callable[[Test], Test]:
    """Skip tests of NCCL with fewer than x devices."""
    return require_n_gpus_for_nccl_backend(x, backend)


def import_transformers_or_skip() -> Callable[[Test], Test]:
    """Skip where transformers is not installed."""
    return _unless(lambda: None if find_spec("transformers") else "importerror")


def skip_if_lt_x_gpu(x: int, *, allow_cpu: bool = False) -> Callable[[Test], Test]:
    """Skip with fewer than x devices; allow_cpu: run where there are none at all."""

    def found() -> str | None:
        enough = at_least_x_gpu(x) or (allow_cpu and not torch.cuda.is_available())
        return None if enough else f"multi-gpu-{x}"

    return _unless(found)


def requires_world_size(n: int) -> Callable[[Test], Test]:
    """The test has n ranks (get_required_world_size); it is skipped with fewer than n devices."""

    def decorator(func: Test) -> Test:
        func._required_world_size = n  # type: ignore[attr-defined]
        there = torch.cuda.device_count()
        return unittest.skipUnless(there >= n, f"requires {n} GPUs, found {there}")(func)

    return decorator


def get_required_world_size(obj: Any, default: int) -> int:
    """How many ranks the test that is running asks for."""
    told = getattr(obj, "_current_test_name", None)
    name = told() if callable(told) else told or obj._testMethodName
    return int(getattr(getattr(obj, name, None), "_required_world_size", default))


def _needs(there: bool, what: str) -> Callable[[Test], Test]:
    return unittest.skipUnless(there, what)


def requires_gloo() -> Callable[[Test], Test]:
    """Skip without a backend for the CPU."""
    return _needs(dist.is_gloo_available(), "c10d was not compiled with the Gloo backend")


def requires_nccl() -> Callable[[Test], Test]:
    """Skip without devices."""
    return _needs(dist.is_nccl_available(), "c10d was not compiled with the NCCL backend")


def requires_ucc() -> Callable[[Test], Test]:
    """Skip without UCC, which is not here."""
    return _needs(dist.is_ucc_available(), "c10d was not compiled with the UCC backend")


def requires_mpi() -> Callable[[Test], Test]:
    """Skip without MPI's packages."""
    return _needs(dist.is_mpi_available(), "c10d was not compiled with the MPI backend")


def requires_nccl_version(version: Any, msg: str) -> Callable[[Test], Test]:
    """Skip with an NCCL older than the version."""
    if not torch.cuda.is_available():
        return lambda test: test
    if not dist.is_nccl_available():
        return requires_nccl()
    found = torch.cuda.nccl.version()
    return _needs(
        found >= version,
        f"Requires NCCL version greater than or equal to: {version}, found: {found}, reason: {msg}",
    )


def requires_nccl_shrink() -> Callable[[Test], Test]:
    """Skip with an NCCL older than 2.27."""
    return requires_nccl_version((2, 27), "Need NCCL 2.27+ for shrink_group")


def requires_accelerator_dist_backend(backends: Sequence[str] | None = None) -> Callable[[Test], Test]:
    """Skip where none of these backends of devices is there."""
    asked = ACCELERATOR_DIST_BACKENDS if backends is None else backends
    there = "nccl" in asked and dist.is_nccl_available()
    return _needs(there, f"No accelerator communication backend available among {asked}")


def requires_multicast_support() -> Callable[[Test], Test]:
    """Skip: devices here do not write to each other's memory."""
    return _needs(False, "multicast support is not available")


def _as_it_is(*args: Any, **kwargs: Any) -> Any:
    """A decorator, with or without arguments, of tests that run here."""
    return args[0] if len(args) == 1 and not kwargs and callable(args[0]) else _as_it_is


skip_if_rocm_multiprocess = skip_if_rocm_arch_multiprocess = _as_it_is
skip_if_rocm_ver_lessthan_multiprocess = skip_if_rocm = _as_it_is


def skip_if_win32() -> Callable[[Test], Test]:
    """Skip on Windows."""
    return _needs(sys.platform != "win32", "This unit test case is not supported on Windows platform")


def sm_is_or_higher_than(device: torch.device, major: int, minor: int) -> bool:
    """Whether a CUDA device has at least this capability; True of other devices."""
    return device.type != "cuda" or torch.cuda.get_device_capability(device) >= (major, minor)


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """Inside, variables of the environment have these values."""
    with patch.dict(os.environ, values):
        yield


def with_nccl_blocking_wait(func: Test) -> Test:
    """The test has TORCH_NCCL_BLOCKING_WAIT set."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with environment(TORCH_NCCL_BLOCKING_WAIT="1"):
            os.environ.pop("TORCH_NCCL_ASYNC_ERROR_HANDLING", None)
            return func(*args, **kwargs)

    return wrapper  # type: ignore[return-value]


def with_dist_debug_levels(levels: Sequence[str]) -> Callable[[Test], Test]:
    """The test runs once for each level of TORCH_DISTRIBUTED_DEBUG."""

    def decorator(func: Test) -> Test:
        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            result = None
            before = dist.get_debug_level()
            try:
                for level in levels:
                    with environment(TORCH_DISTRIBUTED_DEBUG=level):
                        dist.set_debug_level_from_env()
                        result = func(*args, **kwargs)
                        dist.barrier()
            finally:
                dist.set_debug_level(before)
            return result

        return wrapper  # type: ignore[return-value]

    return decorator
