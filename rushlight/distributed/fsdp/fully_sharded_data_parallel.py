"""FullyShardedDataParallel: a wrapper whose module's parameters are cut over the ranks, and whole while it
computes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight._engine.core.callers import warn
from rushlight.distributed._composable_state import _State
from rushlight.distributed.communication.common import broadcast_coalesced
from rushlight.distributed.fsdp import states
from rushlight.distributed.fsdp._fully_shard import slots_of
from rushlight.distributed.fsdp.api import (
    BackwardPrefetch,
    CPUOffload,
    MixedPrecision,
    ShardingStrategy,
    StateDictSettings,
    StateDictType,
)
from rushlight.distributed.fsdp.layouts import Flat
from rushlight.distributed.fsdp.older_states import OlderStates
from rushlight.distributed.fsdp.schedule import Managed
from rushlight.distributed.fsdp.unit import Unit
from rushlight.distributed.fsdp.wrap import auto_wrap
from rushlight.distributed.groups import default_group
from rushlight.nn.modules.module import Module
from rushlight.nn.parameter import Parameter

WRAPPED = "_fsdp_wrapped_module."
_KEEPING = (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy._HYBRID_SHARD_ZERO2)


class FlatParameter(Parameter):
    """A rank's shard of all parameters of a unit, as one vector."""


class FullyShardedDataParallel(OlderStates, Module, _State):
    """`module` with its parameters, their gradients and optimizer states cut over the ranks.

    process_group: the ranks (default: all), or (shards, replicas) for hybrid strategies. auto_wrap_policy:
    which submodules are wrapped too, and gathered by themselves. use_orig_params: parameters keep their
    names, and are pieces of the shard; else there is one flat one. device_id: a CUDA device, or its number,
    that the module is moved to; where there is none it must be torch.device("cpu"). sync_module_states: begin
    with rank 0's values. Devices keep whole parameters' memory between calls. ValueError, RuntimeError for
    what does not fit.
    """

    def __init__(
        self,
        module: Any,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: Any = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Any = None,
        param_init_fn: Any = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Any = None,
        device_mesh: Any = None,
    ) -> None:
        own = ("self", "module", "auto_wrap_policy", "ignored_modules", "__class__")
        options = {name: value for name, value in locals().items() if name not in own and name != "own"}
        super().__init__()
        where = _device(device_id)
        if where is not None:
            module.to(where)
        if param_init_fn is not None:
            raise NotImplementedError(
                "FullyShardedDataParallel: param_init_fn is not supported in "
                "Rushlight; give the module values before it is wrapped"
            )
        skipped, options["ignored_states"] = _ignored(ignored_modules, ignored_states)
        if auto_wrap_policy is not None:
            auto_wrap(module, auto_wrap_policy, FullyShardedDataParallel, skipped, options)
        self._fsdp_wrapped_module = module
        self.mixed_precision = mixed_precision or MixedPrecision()
        self.cpu_offload = cpu_offload or CPUOffload()
        self.sharding_strategy, shards, replicas = _groups(
            sharding_strategy or ShardingStrategy.FULL_SHARD, process_group, device_mesh
        )
        self.process_group = shards or replicas
        self._use_orig_params, self._summoned = use_orig_params, False
        self._unit = self._make_unit(
            {id(p) for p in options["ignored_states"]}, shards, replicas, sync_module_states
        )
        self._state = Managed(self, self._unit, False if self.sharding_strategy in _KEEPING else None)
        self._state.param_dtype = self.mixed_precision.param_dtype
        self._state.forward_prefetch = forward_prefetch
        self._state.backward_prefetch = backward_prefetch is not None
        self._buffer_dtypes: dict[str, Any] = {}
        self._settings = StateDictSettings(
            StateDictType.FULL_STATE_DICT, *states.CONFIGS[StateDictType.FULL_STATE_DICT]
        )
        states.register(self)

    def _make_unit(self, ignored: set[int], shards: Any, replicas: Any, sync: bool) -> Unit | None:
        slots, params = slots_of([self.module], lambda m: isinstance(m, FullyShardedDataParallel), ignored)
        if sync:
            buffers = [b for m in self.module.modules() for b in m._buffers.values() if b is not None]
            broadcast_coalesced([p.detach() for p in params] + buffers, 0, self.process_group)
        if not params:
            return None
        named, offload = self._use_orig_params, self.cpu_offload.offload_params
        return _make_unit(self.module, slots, params, shards, replicas, self.mixed_precision, named, offload)

    # --- the wrapped module -----------------------------------------------------------------------

    @property
    def module(self) -> Any:
        """The wrapped module."""
        return self._fsdp_wrapped_module

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_fsdp_wrapped_module"), name)

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        if self._unit is not None:
            self._unit.show_shards()
            self._unit.release()
        found = super()._apply(fn, recurse)  # type: ignore[misc]
        if self._unit is not None:
            self._unit.follow()
        return found

    def __getitem__(self, key: Any) -> Any:
        return self.module[key]

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[Any]:
        """As of any module; while parameters are summoned, the wrapper does not show in their names."""
        for name, p in super().named_parameters(prefix, recurse, remove_duplicate):
            yield (name.replace(WRAPPED, "") if self._summoned else name), p

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """module(*args, **kwargs), with its parameters whole."""
        state = self._state
        if state.schedule is None:
            self._lead()
        args, kwargs = state.before_forward(args, kwargs)
        return state.after_forward(self._fsdp_wrapped_module(*args, **kwargs))

    def _lead(self) -> None:
        """The first call: what is below has one schedule; casts are settled."""
        state = self._state
        state.lead(lambda m: m._state if isinstance(m, FullyShardedDataParallel) else None)
        for wrapper in self.fsdp_modules(self):
            precision = wrapper.mixed_precision
            wrapper._state.cast_inputs = (
                precision.cast_root_forward_inputs
                if wrapper._state.is_root
                else precision.cast_forward_inputs
            )
            if precision.buffer_dtype is not None:
                states.cast_buffers(wrapper, precision.buffer_dtype)

    def check_is_root(self) -> bool:
        """Whether this is the outermost wrapper; known from the first forward on."""
        if self._state.schedule is None:
            self._lead()
        return bool(self._state.is_root)

    # --- all wrappers below -----------------------------------------------------------------------

    @staticmethod
    def fsdp_modules(module: Any, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The wrappers in a module."""
        found = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        return [m for m in found if m.check_is_root()] if root_only else found

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backwards in this context accumulate whole gradients on each rank, which the next one outside
        reduces.
        """
        units = [m._unit for m in self.fsdp_modules(self) if m._unit is not None]
        before = [unit.sync for unit in units]
        try:
            for unit in units:
                unit.sync = False
            yield
        finally:
            for unit, value in zip(units, before, strict=True):
                unit.sync = value

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: Any,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """A context in which parameters are whole; with `writeback` changes are kept. Collective."""
        wrappers = FullyShardedDataParallel.fsdp_modules(module)
        with ExitStack() as stack:
            for wrapper in wrappers if recurse else wrappers[:1]:
                stack.enter_context(states.summoned(wrapper, writeback, with_grads))
            yield

    @torch.no_grad()
    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Any:
        """Scale the gradients so that the norm of all ranks' together is at most max_norm; the norm
        before.
        """
        order = float(norm_type)
        grads = {True: [], False: []}  # type: dict[bool, list[Any]]
        cut = {
            id(p)
            for m in self.fsdp_modules(self)
            if m._unit is not None and m._unit.layout.world > 1
            for p in m._unit.sharded
        }
        for p in self.parameters():
            if p.grad is not None:
                grads[id(p) in cut].append(p.grad)
        local = torch.nn.utils.get_total_norm(grads[True], order)
        rest = torch.nn.utils.get_total_norm(grads[False], order)
        if order == float("inf"):
            dist.all_reduce(local, dist.ReduceOp.MAX, group=self.process_group)
            total = torch.maximum(local, rest)
        else:
            total = local**order
            dist.all_reduce(total, group=self.process_group)
            total = (total + rest**order) ** (1 / order)
        factor = torch.clamp(max_norm / (total + 1e-6), max=1.0)
        for grad in grads[True] + grads[False]:
            grad.mul_(factor)
        return total

    # --- states -----------------------------------------------------------------------------------

    @staticmethod
    def set_state_dict_type(
        module: Any,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> StateDictSettings:
        """Choose what state_dict() of the wrappers in a module gives; what it was."""
        before = FullyShardedDataParallel.get_state_dict_type(module)
        own, optim = states.CONFIGS[state_dict_type]
        for given, default in ((state_dict_config, own), (optim_state_dict_config, optim)):
            if given is not None and type(given) is not type(default):
                raise RuntimeError(
                    f"Expected state_dict_config of type {type(default)} but got {type(given)}"
                )
        for wrapper in FullyShardedDataParallel.fsdp_modules(module):
            wrapper._settings = StateDictSettings(
                state_dict_type, state_dict_config or own, optim_state_dict_config or optim
            )
        return before

    @staticmethod
    def get_state_dict_type(module: Any) -> StateDictSettings:
        """What was chosen."""
        return FullyShardedDataParallel.fsdp_modules(module)[0]._settings

    @staticmethod
    @contextmanager
    def state_dict_type(
        module: Any,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> Iterator[None]:
        """set_state_dict_type() for a context."""
        wrappers = FullyShardedDataParallel.fsdp_modules(module)
        before = [wrapper._settings for wrapper in wrappers]
        FullyShardedDataParallel.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config
        )
        try:
            yield
        finally:
            for wrapper, settings in zip(wrappers, before, strict=True):
                wrapper._settings = settings

    @staticmethod
    def optim_state_dict(
        model: Any, optim: Any, optim_state_dict: Any = None, group: Any = None
    ) -> dict[str, Any]:
        """The optimizer's state by parameters' names, whole or as DTensors; collective."""
        return states.optim_state_dict(model, optim, optim_state_dict)

    @staticmethod
    def optim_state_dict_to_load(
        model: Any,
        optim: Any,
        optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: Any = None,
    ) -> dict[str, Any]:
        """What optim.load_state_dict() takes, of a result of optim_state_dict()."""
        found = states.optim_state_dict_to_load(model, optim, optim_state_dict)
        if load_directly:
            optim.load_state_dict(found)
        return found


def _device(device_id: Any) -> Any:
    """Where parameters are to lie; None: where they do."""
    there = torch.cuda.is_available()
    if device_id is None:
        if there:
            return None
        raise RuntimeError(
            "FSDP needs a non-CPU accelerator device, but no accelerator device is detected. "
            "To shard on the CPU pass device_id=torch.device('cpu')"
        )
    on_cpu = isinstance(device_id, (str, torch.device)) and torch.device(device_id).type == "cpu"
    if not (there or on_cpu):
        raise RuntimeError(
            "Cannot access accelerator device when none is available. Got device_id="
            f"{device_id!r}; pass device_id=torch.device('cpu')"
        )
    where = torch.device("cuda", device_id) if isinstance(device_id, int) else torch.device(device_id)
    if where.type == "cuda" and where.index is None:
        where = torch.device("cuda", torch.cuda.current_device())
    return where


def _ignored(modules: Any, states: Any) -> tuple[set[Any], list[Any]]:
    """(modules, parameters) that are left alone."""
    given = [*(modules or ()), *(states or ())]
    skipped = {inner for m in given if isinstance(m, Module) for inner in m.modules()}
    return skipped, [p for m in skipped for p in m._parameters.values() if p is not None] + [
        p for p in given if not isinstance(p, Module)
    ]


def _groups(strategy: ShardingStrategy, process_group: Any, mesh: Any) -> tuple[ShardingStrategy, Any, Any]:
    """(the strategy, the group over which parameters are cut, the group of equal shards); None for a group of
    one.
    """
    hybrid = strategy in (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)
    if process_group is not None and mesh is not None:
        raise ValueError(
            "Cannot pass both process_group and device_mesh at the same time. Please just pass "
            "only one of them."
        )
    if hybrid:
        if mesh is not None:
            process_group = mesh.get_group(1), mesh.get_group(0)
        if not isinstance(process_group, tuple) or len(process_group) != 2:
            raise ValueError(
                f"Manual wrapping with {strategy} requires explicit specification of process "
                "group or device_mesh."
            )
        return strategy, *process_group
    group = mesh.get_group() if mesh is not None else process_group or default_group()
    if group.size() == 1 and strategy is not ShardingStrategy.NO_SHARD:
        warn(f"FSDP is switching to use `NO_SHARD` instead of {strategy} since the world size is 1.")
        strategy = ShardingStrategy.NO_SHARD
    return (strategy, None, group) if strategy is ShardingStrategy.NO_SHARD else (strategy, group, None)


def _make_unit(
    module: Any,
    slots: Any,
    params: list[Any],
    shards: Any,
    replicas: Any,
    precision: MixedPrecision,
    named: bool,
    offload: bool,
) -> Unit:
    """The unit of a wrapper; `offload`: its shards lie on the CPU, and devices compute."""
    for p in params:
        if p.ndim == 0:
            raise ValueError(
                "FSDP doesn't support scalar parameters. Change "
                f"{slots[[q is p for q in params].index(True)][0][2]} to a 1D tensor with numel equal to 1."
            )
    if len(dtypes := {p.dtype for p in params}) > 1:
        raise ValueError(f"Must flatten tensors with uniform dtype but got {dtypes}")
    if not named and len({p.requires_grad for p in params}) > 1:
        raise ValueError("Must flatten tensors with uniform requires_grad when use_orig_params=False")
    # Named parameters begin at multiples of 16 bytes, as PyTorch's do.
    align = 16 // (precision.param_dtype or params[0].dtype).itemsize if named else 1
    place = None
    if offload and torch.cuda.is_available():
        place = torch.device("cuda", torch.cuda.current_device())
    dtypes_asked = precision.param_dtype, precision.reduce_dtype
    unit = Unit(slots, params, Flat, shards, replicas, *dtypes_asked, align, place)
    unit.named = named
    if named:
        unit.sharded = [
            Parameter(piece, requires_grad=p.requires_grad)
            for p, piece in zip(params, unit.layout.pieces(unit.shard), strict=True)
        ]
    else:
        unit.sharded = [FlatParameter(unit.shard, requires_grad=params[0].requires_grad)]
        module._parameters["_flat_param"] = unit.sharded[0]
    unit.show_shards()
    return unit
