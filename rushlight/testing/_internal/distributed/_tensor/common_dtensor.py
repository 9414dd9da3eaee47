"""torch.testing._internal.distributed._tensor.common_dtensor: tests of DTensor on several ranks."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight import Tensor, nn
from rushlight._engine.core.pytree import tree_map
from rushlight._engine.names.alternatives import attribute
from rushlight.distributed.device_mesh import DeviceMesh, init_device_mesh
from rushlight.distributed.tensor import DTensor, Placement, Replicate, Shard, distribute_tensor
from rushlight.testing._internal.common_distributed import run_subtests as run_subtests, skip_if_lt_x_gpu
from rushlight.testing._internal.distributed.models import (
    Attention,
    ExpertLayer,
    Experts,
    FeedForward,
    MLPModule,
    MLPStacked,
    ModelArgs,
    RMSNormPython,
    TensorParallelForExpert,
    Transformer,
    TransformerBlock,
)
from rushlight.testing._internal.distributed.processes import MultiProcContinuousTest, MultiProcessTestCase
from rushlight.testing._internal.distributed.skips import ACCELERATOR_DIST_BACKENDS, own_device
from rushlight.testing._internal.distributed.threads import MultiThreadedTestCase
from rushlight.utils import _pytree

__all__ = [
    "DEVICE_COUNT",
    "DEVICE_TYPE",
    "NUM_DEVICES",
    "PG_BACKEND",
    "Attention",
    "DTensorContinuousTestBase",
    "DTensorConverter",
    "DTensorOpTestBase",
    "DTensorTestBase",
    "DTensorTestMixin",
    "ExpertLayer",
    "Experts",
    "FeedForward",
    "MLPModule",
    "MLPStacked",
    "ModelArgs",
    "RMSNormPython",
    "TensorParallelForExpert",
    "Transformer",
    "TransformerBlock",
    "skip_unless_torch_gpu",
    "with_comms",
]

DEVICE_COUNT = torch.cuda.device_count()
DEVICE_TYPE = "cuda" if torch.cuda.is_available() else "cpu"
PG_BACKEND = dist.Backend.default_device_backend_map[DEVICE_TYPE]
NUM_DEVICES = min(4, DEVICE_COUNT) if DEVICE_COUNT > 1 else 4


def __getattr__(name: str) -> Any:
    return attribute(__name__, name)


def skip_unless_torch_gpu(method: Any) -> Any:
    """Skip with fewer than NUM_DEVICES devices."""
    return skip_if_lt_x_gpu(NUM_DEVICES)(method)


class DTensorTestMixin:
    """What tests of DTensors have: a kind of device, a mesh of all ranks, comparisons with plain tensors."""

    world_size: Any
    rank: Any
    assertEqual: Callable[..., None]

    @property
    def is_local_tensor_enabled(self) -> bool:
        """False: each rank is a process or thread."""
        return False

    @property
    def device_type(self) -> str:
        """The kind of device, if each rank has one."""
        return DEVICE_TYPE if self.world_size <= DEVICE_COUNT else "cpu"

    def build_device_mesh(self) -> DeviceMesh:
        """A mesh of all ranks."""
        return init_device_mesh(self.device_type, (self.world_size,))

    def init_manual_seed_for_rank(self) -> None:
        """Seed by the rank."""
        torch.manual_seed(self.rank)

    def _test_op_on_dtensor(self, op_call: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """A function of DTensors gives what it gives of the whole tensors."""

        def whole(each: Any) -> Any:
            return each.full_tensor().detach().clone() if isinstance(each, DTensor) else each

        plain = op_call(*tree_map(whole, args), **tree_map(whole, kwargs))
        found = _pytree.tree_leaves(op_call(*args, **kwargs))
        self.assertEqual(_pytree.tree_leaves(plain), [each.full_tensor() for each in found])

    def _test_op(self, mesh: DeviceMesh, op_call: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """A function gives the same of tensors that are cut in any way that fits."""
        plain = op_call(*args, **kwargs)
        cut = DTensorConverter(mesh, args, kwargs)
        for cut_args, cut_kwargs in cut:
            self.assertEqual(cut.successful(), True)
            self.assertEqual(op_call(*cut_args, **cut_kwargs).full_tensor(), plain)


class DTensorContinuousTestBase(DTensorTestMixin, MultiProcContinuousTest):  # type: ignore[misc]  # a property
    """Tests of a class on ranks that are started once."""

    @classmethod
    def backend_str(cls) -> str:
        """The backend of the devices that there are."""
        return dist.get_default_backend_for_device(DEVICE_TYPE)

    @classmethod
    def _init_pg(cls, rank: int, world_size: int, rdvz_file: str) -> None:
        if torch.accelerator.is_available():
            own_device(rank, world_size)
        super()._init_pg(rank, world_size, rdvz_file)


class DTensorTestBase(DTensorTestMixin, MultiProcessTestCase):
    """Tests, by @with_comms, on processes that have joined a world."""

    @property
    def world_size(self) -> int:
        """How many ranks there are."""
        return NUM_DEVICES

    @property
    def backend(self) -> str:
        """The backend of the kind of device."""
        return dist.get_default_backend_for_device(self.device_type)

    def init_pg(self, eager_init: bool = False, backend: str | None = None) -> None:
        """Join the world; the rank's device becomes the current one."""
        name = self.backend if backend is None else backend
        if any(kind in name for kind in ACCELERATOR_DIST_BACKENDS):
            own_device(self.rank, self.world_size)
        for part in name.split(","):
            if part.partition(":")[2] not in ("", "gloo", "nccl") or not part:
                raise RuntimeError(f"Backend {name} not supported!")
        bound = eager_init and "nccl" in name
        dist.init_process_group(
            backend=name,
            world_size=self.world_size,
            rank=self.rank,
            init_method=f"file://{self.file_name}",
            device_id=torch.device(self.device_type, self.rank) if bound else None,
        )

    def destroy_pg(self, device_id: int | None = None) -> None:
        """Leave the world when all have come to this point."""
        if self.device_type == "cpu":
            dist.barrier()
        else:
            dist.barrier(device_ids=[torch.cuda.current_device() if device_id is None else device_id])
        dist.destroy_process_group()

    def setUp(self) -> None:
        super().setUp()
        self._spawn_processes()


def with_comms(eager_init: Any = False, backend: str | None = None) -> Any:
    """A decorator, with or without arguments: the test runs in a world that its class's init_pg() joins.

    eager_init: whether the rank's device is told at once.
    """
    if callable(eager_init):
        return _in_world(eager_init, False, None)
    return functools.partial(_in_world, eager=eager_init, backend=backend)


def _in_world(func: Callable[..., Any], eager: bool, backend: str | None) -> Callable[..., Any]:
    @functools.wraps(func)
    def run(self: Any, *args: Any, **kwargs: Any) -> None:
        in_one = not hasattr(self, "init_pg")  # ranks that are threads have joined
        with nullcontext() if in_one else _joined(self, eager, backend):
            func(self, *args, **kwargs)

    return run


@contextmanager
def _joined(test: Any, eager: bool, backend: str | None) -> Iterator[None]:
    """Inside, a rank is in the world; it does not wait for others when its test fails."""
    test.init_pg(eager, backend)
    try:
        yield
    except Exception:
        dist.destroy_process_group()
        raise
    test.destroy_pg()


class DTensorOpTestBase(MultiThreadedTestCase):
    """Tests on threads."""

    @property
    def world_size(self) -> int:
        """How many ranks there are."""
        return NUM_DEVICES

    @property
    def device_type(self) -> str:
        """The kind of device that there is."""
        return DEVICE_TYPE

    def build_device_mesh(self) -> DeviceMesh:
        """A mesh of all ranks."""
        return init_device_mesh(self.device_type, (self.world_size,))

    def setUp(self) -> None:
        super().setUp()
        self._spawn_threads()


class DTensorConverter:
    """An iterator over arguments of a function with their tensors made DTensors, cut in all ways that fit.

    `hit` and `miss`: how many tensors were made DTensors, and how many were left as they are.
    """

    def __init__(
        self, mesh: DeviceMesh, args: Any, kwargs: dict[str, Any], replicate_only: bool = False
    ) -> None:
        self.hit = self.miss = 0
        self.mesh, self.args, self.kwargs, self.replicate_only = mesh, args, kwargs, replicate_only
        self._leaves, self._tree = _pytree.tree_flatten((args, kwargs))
        choices = [self.gen_sharding_choices_for_arg(x) for x in self._leaves if isinstance(x, Tensor)]
        self.sharding_combs: Iterator[Sequence[Placement]] = itertools.product(*choices)

    def successful(self) -> bool:
        """Whether all tensors so far could be made DTensors."""
        return self.hit > 0 and self.miss == 0

    def is_supported_tensor(self, t: Tensor) -> bool:
        """Whether a tensor can be cut."""
        plain = not (t.layout != torch.strided or t.is_quantized or t.is_nested)
        return plain and not (t.is_neg() or t.is_conj() or t.device.type == "meta")

    def gen_sharding_choices_for_arg(self, arg: Tensor) -> list[Placement]:
        """Whole everywhere, or cut along a dim that the ranks divide; tensors of bool are whole."""
        found: list[Placement] = [Replicate()]
        if self.replicate_only or arg.dtype == torch.bool:
            return found
        ranks = self.mesh.size()
        return found + [Shard(dim) for dim, n in enumerate(arg.shape) if n > 1 and n % ranks == 0]

    def __iter__(self) -> DTensorConverter:
        return self

    def __next__(self) -> tuple[Any, dict[str, Any]]:
        chosen = iter(next(self.sharding_combs))
        leaves = [
            self.to_dist_tensor(leaf, self.mesh, [next(chosen)]) if isinstance(leaf, Tensor) else leaf
            for leaf in self._leaves
        ]
        args, kwargs = _pytree.tree_unflatten(leaves, self._tree)
        return args, kwargs

    def to_dist_tensor(self, t: Tensor, mesh: DeviceMesh, placements: list[Placement]) -> Tensor:
        """The DTensor, or what cannot be one as it is."""
        if type(t) not in (Tensor, nn.Parameter) or not self.is_supported_tensor(t):
            self.miss += 1
            return t
        self.hit += 1
        found = distribute_tensor(t, mesh, placements if t.ndim else [Replicate()] * mesh.ndim)
        return nn.Parameter(found, requires_grad=found.requires_grad) if type(t) is nn.Parameter else found
