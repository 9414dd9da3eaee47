"""torch.testing._internal.common_fsdp: tests of FSDP, both generations, and the networks that they train."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from enum import Enum, auto
from multiprocessing.connection import Connection
from typing import Any
from unittest import mock

import rushlight as torch
import rushlight.distributed as dist
from rushlight import Tensor, nn
from rushlight._engine.names.alternatives import attribute
from rushlight.distributed._composable import checkpoint
from rushlight.distributed.device_mesh import DeviceMesh
from rushlight.distributed.fsdp import FullyShardedDataParallel, fully_shard
from rushlight.distributed.fsdp.wrap import ModuleWrapPolicy
from rushlight.distributed.tensor import DTensor, Shard, distribute_tensor
from rushlight.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from rushlight.futures import Future
from rushlight.testing._internal.common_distributed import run_subtests as run_subtests
from rushlight.testing._internal.common_utils import set_rng_seed
from rushlight.testing._internal.distributed.processes import MultiProcContinuousTest, MultiProcessTestCase
from rushlight.testing._internal.distributed.skips import own_device
from rushlight.testing._internal.distributed.threads import MultiThreadedTestCase

DEVICE_TYPE = "cuda" if torch.cuda.is_available() else "cpu"
DISTRIBUTED_BACKEND = "nccl" if torch.cuda.is_available() else "gloo"
DEVICE_COUNT = torch.cuda.device_count() or 1


def __getattr__(name: str) -> Any:
    return attribute(__name__, name)


class FSDPInitMode(Enum):
    """Whether a network is wrapped as it is made."""

    NO_FSDP = auto()
    RECURSIVE = auto()


class DEVICEInitMode(Enum):
    """When a network goes to the device: before it is wrapped, afterwards, never."""

    DEVICE_BEFORE = auto()
    DEVICE_AFTER = auto()
    DEVICE_NEVER = auto()


CUDAInitMode = DEVICEInitMode  # its older name


class FSDPTestModel(nn.Module, ABC):
    """What tests ask of a network."""

    @abstractmethod
    def get_input(self, device: Any) -> tuple[Tensor, ...]:
        """Arguments of a call."""

    @abstractmethod
    def get_loss(self, input: Any, output: Any) -> Tensor:
        """The loss."""

    @abstractmethod
    def run_backward(self, loss: Tensor) -> None:
        """The pass back."""

    @staticmethod
    @abstractmethod
    def init(*args: Any, **kwargs: Any) -> nn.Module:
        """The network, wrapped or not."""


def get_devtype() -> torch.device:
    """The kind of device that is tested."""
    return torch.device(DEVICE_TYPE)


def subtest_name(test_name_mapping: dict[str, str], *args: Any) -> str:
    """The name of a case, by the names of its arguments."""
    return "_".join("none" if each is None else test_name_mapping[str(each)] for each in args)


def get_full_params(model: nn.Module, recurse: bool = True) -> list[Any]:
    """Copies of the whole parameters."""
    with FullyShardedDataParallel.summon_full_params(model, recurse=recurse):
        return deepcopy(list(model.parameters()))


def _zero_model(model: nn.Module, zero_buffers: bool = False, summon_full: bool = True) -> None:
    """Make all parameters zero, and buffers if asked."""
    if summon_full:
        with FullyShardedDataParallel.summon_full_params(model):
            _zero_model(model, zero_buffers, False)
        return
    with torch.no_grad():
        for each in [*model.parameters(), *(model.buffers() if zero_buffers else ())]:
            each.zero_()


def _assert_module_states(model: nn.Module, process_group: Any, assert_fn: Callable[..., Any]) -> None:
    """Compare rank 0's parameters and buffers with each rank's."""
    mine = [each.detach().cpu() for each in (*model.parameters(), *model.buffers())]
    states: list[Any] = [None] * dist.get_world_size(process_group)
    dist.all_gather_object(states, mine, group=process_group)
    for state in states[1:]:
        for first, other in zip(states[0], state, strict=True):
            assert_fn(first, other)


def _move_to_device(model: nn.Module, move_to_device: bool) -> nn.Module:
    return model.to(DEVICE_TYPE) if move_to_device else model


def _maybe_wrap_fsdp(model: nn.Module, wrap_fsdp: bool, *args: Any, **kwargs: Any) -> nn.Module:
    return FullyShardedDataParallel(model, *args, **kwargs) if wrap_fsdp else model


class DummyProcessGroup:
    """A group whose operations do nothing."""

    def __init__(self, rank: int, size: int) -> None:
        self._rank, self._size = rank, size

    def rank(self) -> int:
        """This process's rank."""
        return self._rank

    def size(self) -> int:
        """How many ranks it has."""
        return self._size

    def allreduce(self, *args: Any, **kwargs: Any) -> Any:
        """A Work whose future is there."""
        future: Future[int] = Future()
        future.set_result(1)
        return mock.Mock(get_future=lambda: future)


class TransformerWithSharedParams(FSDPTestModel):
    """A transformer of two layers each way, whose embedding is its last layer's weight."""

    def __init__(self, group: Any, device_init_mode: Any, add_bn: bool, deterministic: bool) -> None:
        super().__init__()
        self.rank, self.world_size, self.bs = group.rank(), group.size(), 2
        if deterministic:
            torch.manual_seed(0)
        self._fill(words=23, width=16)
        self.bn = nn.BatchNorm1d(self.bs) if add_bn else nn.Identity()
        if device_init_mode == DEVICEInitMode.DEVICE_BEFORE:
            self.to(DEVICE_TYPE)
        self.train(not deterministic)

    def _fill(self, words: int, width: int) -> None:
        sizes: dict[str, Any] = {"num_encoder_layers": 2, "num_decoder_layers": 2, "dim_feedforward": 8}
        self.embed_tokens = nn.Embedding(words, width)
        self.transformer = nn.Transformer(width, **sizes)
        self.output_proj = nn.Linear(width, words)
        self.output_proj.weight = self.embed_tokens.weight
        for name, buffer in (("vocab_bias", torch.ones(width)), ("long_buffer", torch.zeros(width).long())):
            self.register_buffer(name, buffer)

    def get_input(self, device: Any) -> tuple[Tensor, ...]:
        """Two sequences of words."""
        torch.manual_seed(1 + self.rank)
        source, target = (torch.arange(n * self.bs, device=device).view(n, self.bs) for n in (6, 4))
        return source, target

    def forward(self, src_ids: Tensor, tgt_ids: Tensor) -> Tensor:
        source: Any = self.embed_tokens(src_ids)
        source = source + self.vocab_bias + self.long_buffer.type_as(source)
        target = self.bn(self.embed_tokens(tgt_ids))
        found: Tensor = self.output_proj(self.transformer(source, target))
        return found

    def get_loss(self, input: Any, output: Any) -> Tensor:
        """The summed cross entropy."""
        words = output.view(-1, output.size(-1))
        return nn.functional.cross_entropy(words, input[1].view(-1), reduction="sum")

    def run_backward(self, loss: Tensor) -> None:
        """The pass back."""
        loss.backward()

    def get_ignored_modules(self) -> list[nn.Module]:
        """What a test lets FSDP ignore."""
        return [self.transformer]

    @staticmethod
    def init(
        group: Any,
        fsdp_init_mode: FSDPInitMode,
        device_init_mode: DEVICEInitMode,
        fsdp_kwargs: dict[str, Any] | None = None,
        deterministic: bool = False,
        add_bn: bool = True,
    ) -> nn.Module:
        """The network; with RECURSIVE wrapped, each layer by itself unless fsdp_kwargs has a policy.

        group: a process group, or several for hybrid strategies.
        """
        first = group[0] if isinstance(group, tuple) else group
        made = TransformerWithSharedParams(first, device_init_mode, add_bn, deterministic)
        if fsdp_init_mode == FSDPInitMode.NO_FSDP:
            return made
        options = dict(fsdp_kwargs or {})
        layers = ModuleWrapPolicy({nn.TransformerEncoderLayer, nn.TransformerDecoderLayer})
        options.setdefault("auto_wrap_policy", layers)
        hybrid = "HYBRID" in str(options.get("sharding_strategy"))
        wrapped = FullyShardedDataParallel(
            made, None if hybrid and not isinstance(group, tuple) else group, **options
        )
        after = device_init_mode == DEVICEInitMode.DEVICE_AFTER
        return wrapped.to(DEVICE_TYPE) if after else wrapped


class MLP(nn.Module):
    """Two layers, dim to dim_multiplier * dim to dim, and a buffer that is added, if asked."""

    def __init__(
        self,
        dim: int,
        device: Any = None,
        *,
        bias: bool = True,
        with_buffer: bool = False,
        dim_multiplier: int = 4,
    ) -> None:
        super().__init__()
        sizes = dim, dim_multiplier * dim
        self.in_proj, self.out_proj = (nn.Linear(*n, bias, device) for n in (sizes, sizes[::-1]))
        if with_buffer:
            self.register_buffer("buffer", torch.randn(dim, device=device))
        else:
            self.buffer = None

    def forward(self, x: Tensor) -> Tensor:
        z = nn.functional.relu(self.out_proj(nn.functional.relu(self.in_proj(x))))
        return z if self.buffer is None else z + self.buffer

    def reset_parameters(self) -> None:
        """Draw the buffer anew."""
        if self.buffer is not None:
            nn.init.normal_(self.buffer)


class MLPStack(nn.Sequential):
    """Three of these, and a norm if ranks cut the sequence."""

    def __init__(self, mlp_dim: int, *, with_seq_parallel: bool = False) -> None:
        modules: list[nn.Module] = [MLP(mlp_dim, dim_multiplier=times) for times in (3, 4, 3)]
        if with_seq_parallel:
            modules.append(nn.LayerNorm(mlp_dim, bias=False))
        super().__init__(*modules)
        self.with_seq_parallel = with_seq_parallel

    def parallelize(
        self, tp_mesh: DeviceMesh, dp_mesh: DeviceMesh, use_activation_checkpointing: bool, **options: Any
    ) -> MLPStack:
        """Cut the weights over one mesh, and over the other by fully_shard with these options."""
        plan: dict[str, Any] = {}
        for n in range(3):
            plan[f"{n}.in_proj"] = ColwiseParallel(use_local_output=False)
            plan[f"{n}.out_proj"] = RowwiseParallel(use_local_output=False)
        plan["2.out_proj"] = RowwiseParallel(output_layouts=Shard(1) if self.with_seq_parallel else None)
        if self.with_seq_parallel:
            plan["3"] = SequenceParallel(sequence_dim=1)
        parallelize_module(self, tp_mesh, plan)
        for module in self:
            if isinstance(module, MLP):
                if use_activation_checkpointing:
                    checkpoint(module)
                fully_shard(module, mesh=dp_mesh, **options)
        fully_shard(self, mesh=dp_mesh, **options)
        return self


class DoubleLinear(nn.Module):
    """Two layers side by side, both used or only the first."""

    def __init__(self, dim: int, use_second_linear: bool = True) -> None:
        super().__init__()
        self.lin1, self.lin2, self.relu = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.ReLU()
        self.use_second_linear = use_second_linear

    def forward(self, x: Tensor) -> Any:
        first = self.relu(self.lin1(x))
        return (first, self.relu(self.lin2(x))) if self.use_second_linear else first


class DummyDDP(nn.Module):
    """A wrapper that does nothing."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)


@contextmanager
def _instead(name: str, new: Callable[..., Any]) -> Iterator[None]:
    """Inside, a function of torch.distributed is another; barriers, since ranks may be threads."""
    before = getattr(dist, name)
    dist.barrier()
    setattr(dist, name, new)
    try:
        yield
    finally:
        dist.barrier()
        setattr(dist, name, before)


def patch_all_gather(new_all_gather_into_tensor: Callable[..., Any]) -> Any:
    """A context with another all_gather_into_tensor."""
    return _instead("all_gather_into_tensor", new_all_gather_into_tensor)


def patch_reduce_scatter(new_reduce_scatter_tensor: Callable[..., Any]) -> Any:
    """A context with another reduce_scatter_tensor."""
    return _instead("reduce_scatter_tensor", new_reduce_scatter_tensor)


def patch_all_reduce(new_all_reduce: Callable[..., Any]) -> Any:
    """A context with another all_reduce."""
    return _instead("all_reduce", new_all_reduce)


def reduce_scatter_with_assert(
    cls: Any, orig_reduce_scatter: Any, assert_fn: Any, *args: Any, **kwargs: Any
) -> Any:
    """Call a function on the output of reduce_scatter_tensor, then that."""
    if not args and "output" not in kwargs:
        raise AssertionError(f"Cannot get reduce-scatter output from\nargs: {args}\nkwargs: {kwargs}")
    assert_fn(args[0] if args else kwargs["output"])
    return orig_reduce_scatter(*args, **kwargs)


def check_sharded_parity(
    cls: Any,
    replicated_module: nn.Module,
    sharded_module: nn.Module,
    prefixes_to_ignore: tuple[str, ...] = (),
) -> None:
    """The parameters and gradients of a module that is cut are those of a whole one."""
    pairs = zip(replicated_module.named_parameters(), sharded_module.named_parameters(), strict=True)
    for (name, whole), (cut_name, cut) in pairs:
        for prefix in prefixes_to_ignore:
            cut_name = cut_name.replace(prefix, "")
        cls.assertEqual(name, cut_name)
        if not isinstance(cut, DTensor):
            raise AssertionError(f"{cut_name} is no DTensor")
        mesh, placements = cut.device_mesh, cut.placements
        if tuple(placements) == (Shard(0), Shard(0)):
            raise AssertionError(
                "FSDP's (Shard(0), Shard(0)) layout differs from distribute_tensor(), "
                "so we cannot check for equality using it"
            )
        cls.assertEqual(cut.to_local(), distribute_tensor(whole, mesh, placements).to_local())
        if whole.grad is None:
            cls.assertIsNone(cut.grad)
            continue
        if not isinstance(cut.grad, DTensor):
            raise AssertionError(f"the gradient of {cut_name} is no DTensor")
        cls.assertEqual(cut.grad.to_local(), distribute_tensor(whole.grad, mesh, placements).to_local())


class FSDPTestMultiThread(MultiThreadedTestCase):
    """Tests on threads, one for each device."""

    @property
    def world_size(self) -> int:
        """How many ranks there are."""
        return DEVICE_COUNT

    def setUp(self) -> None:
        super().setUp()
        self._spawn_threads()

    def perThreadSetUp(self) -> None:
        """Forget what compile() has recorded."""
        torch._dynamo.reset()

    perThreadTearDown = perThreadSetUp


class FSDPTestMixin:
    """What tests on processes have in common."""

    assertEqual: Callable[..., None]

    def _check_cpu_offload(self, fsdp_model: Any, cpu_offload: Any) -> None:
        self.assertEqual(cpu_offload, fsdp_model.cpu_offload)

    def _check_backward_prefetch(self, fsdp_model: Any, backward_prefetch: Any) -> None:
        self.assertEqual(backward_prefetch, fsdp_model.backward_prefetch)

    def _check_forward_prefetch(self, fsdp_model: Any, forward_prefetch: Any) -> None:
        self.assertEqual(forward_prefetch, fsdp_model.forward_prefetch)


class FSDPTest(FSDPTestMixin, MultiProcessTestCase):
    """Tests on processes, one for each device, that have joined a world; skipped with fewer devices."""

    def setUp(self) -> None:
        super().setUp()
        self._spawn_processes()

    @property
    def world_size(self) -> int:
        """How many ranks there are."""
        return DEVICE_COUNT

    @property
    def process_group(self) -> Any:
        """The group of all ranks."""
        return dist.group.WORLD

    @property
    def destroy_pg_upon_exit(self) -> bool:
        """False: it is ended here."""
        return False

    @property
    def init_method(self) -> str:
        """Where ranks meet."""
        return f"file://{self.file_name}"

    @classmethod
    def _run(cls, rank: int, test_name: str, file_name: str, parent_pipe: Connection, **kwargs: Any) -> None:
        self = cls(test_name)
        self.rank, self.file_name = rank, file_name
        own_device(rank, self.world_size)
        if kwargs.get("fake_pg"):
            dist.init_process_group("fake", rank=rank, world_size=self.world_size, store=dist.HashStore())
        else:
            size = int(self.world_size)
            dist.init_process_group(
                DISTRIBUTED_BACKEND, init_method=self.init_method, world_size=size, rank=rank
            )
        dist.barrier(device_ids=[rank])
        torch._dynamo.reset()
        set_rng_seed()
        self.run_test(test_name, parent_pipe)
        torch._dynamo.reset()
        dist.barrier(device_ids=[rank])
        dist.destroy_process_group()


class FSDPTestContinuous(FSDPTestMixin, MultiProcContinuousTest):
    """Tests of a class on ranks that are started once."""

    world_size: int = DEVICE_COUNT

    @classmethod
    def backend_str(cls) -> str:
        """The backend of the devices."""
        return DISTRIBUTED_BACKEND

    @classmethod
    def device_type(cls) -> str:
        """The kind of device."""
        return DEVICE_TYPE

    @classmethod
    def _init_pg(cls, rank: int, world_size: int, rdvz_file: str) -> None:
        own_device(rank, world_size)
        super()._init_pg(rank, world_size, rdvz_file)

    def setUp(self) -> None:
        super().setUp()
        set_rng_seed()

    @property
    def process_group(self) -> Any:
        """The group of all ranks."""
        return self.pg
