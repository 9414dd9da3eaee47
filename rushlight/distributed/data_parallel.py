"""DistributedDataParallel: one model on many processes, each with a part of the batch, gradients averaged."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight._engine.core.callers import warn
from rushlight._engine.core.pytree import tree_map
from rushlight.distributed.algorithms.ddp_comm_hooks import default_hooks
from rushlight.distributed.algorithms.join import Join, Joinable, JoinHook
from rushlight.distributed.communication.common import broadcast_coalesced, words
from rushlight.distributed.groups import default_group
from rushlight.distributed.reducer import GradBucket, Reducer
from rushlight.distributed.utils import _sync_module_states, _verify_param_shape_across_processes
from rushlight.nn.modules.module import Module
from rushlight.nn.parallel.scatter_gather import gather, scatter_kwargs
from rushlight.nn.parameter import is_lazy

_MB = 1 << 20
_FUTURE = re.compile(r"\b(Future|Any)\b")  # in what a hook says that it returns


class DistributedDataParallel(Module, Joinable):
    """`module` on every rank of `process_group` (default: all): backward() leaves the average of all
    gradients.

    At construction parameters and buffers become rank 0's; buffers do before each forward, unless
    `forward_sync_buffers` is False. Gradients are reduced in buckets of `bucket_cap_mb` (default 25; the
    first one has 1) while backward goes on. `find_unused_parameters`: parameters without a gradient are no
    error. `gradient_as_bucket_view`: gradients are memory of the buckets. `static_graph`: each iteration uses
    the same parameters equally often. `skip_all_reduce_unused_params`: buckets of parameters that no rank
    uses are not sent. `batched_grad_copy` changes nothing: a copy to a bucket is one kernel anyway.
    `device_ids`, `output_device`: None on the CPU; on CUDA inputs are brought to this rank's device.
    ValueError, RuntimeError: a module that cannot be trained so; RuntimeError where the ranks' differ.
    """

    def __init__(
        self,
        module: Any,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: Any = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        Joinable.__init__(self)
        _refuse(
            delay_all_reduce_named_params=delay_all_reduce_named_params,
            mixed_precision=mixed_precision,
            param_to_hook_all_reduce=param_to_hook_all_reduce,
            bucket_cap_mb_list=bucket_cap_mb_list,
        )
        self.process_group = _group(process_group, device_mesh)
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self._module_parameters = [
            p for n, p in module.named_parameters() if n not in self.parameters_to_ignore
        ]
        _check_module(self._module_parameters, device_ids, output_device)
        self._set_devices(device_ids, output_device)
        self.module, self.dim, self.static_graph = module, dim, static_graph
        self._set_buffer_modes(broadcast_buffers, forward_sync_buffers)
        self.find_unused_parameters = find_unused_parameters
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.gradient_as_bucket_view, self.batched_grad_copy = gradient_as_bucket_view, batched_grad_copy
        self.skip_all_reduce_unused_params = skip_all_reduce_unused_params
        if check_reduction:
            warn(
                "The `check_reduction` argument in `DistributedDataParallel` module is deprecated. "
                "Please avoid using it.",
                FutureWarning,
            )
        self._set_bucket_size(bucket_cap_mb)
        self._comm_hooks: list[tuple[Any, Any]] = []
        if init_sync:
            _verify_param_shape_across_processes(self.process_group, list(self._trained().values()))
            self._sync_module_states(0, self._init_buffers)
        if any(isinstance(m, torch.nn.SyncBatchNorm) for m in module.modules()):
            raise ValueError("SyncBatchNorm layers only work with GPU modules")
        self._make_reducer()

    def _set_devices(self, device_ids: Any, output_device: Any) -> None:
        self.device_ids = list(device_ids) if device_ids else None
        self.output_device = output_device if output_device is not None else (self.device_ids or [None])[0]
        self.device = self._module_parameters[0].device
        self.device_type, self.is_multi_device_module = self.device.type, False

    def _set_bucket_size(self, megabytes: float | None) -> None:
        self.bucket_bytes_cap = int((25 if megabytes is None else megabytes) * _MB)
        self.bucket_bytes_cap_default = megabytes is None

    def _set_buffer_modes(self, broadcast: bool | None, forward: bool | None) -> None:
        if broadcast is not None:
            warn(words("buffers" if forward is None else "both"), FutureWarning)
        self._init_buffers = forward is not None or broadcast is not False
        self.forward_sync_buffers = forward if forward is not None else self._init_buffers

    @property
    def broadcast_buffers(self) -> bool:
        """Old name of forward_sync_buffers."""
        return self.forward_sync_buffers

    @broadcast_buffers.setter
    def broadcast_buffers(self, value: bool) -> None:
        self.forward_sync_buffers = value

    def _trained(self) -> dict[str, Any]:
        """Parameters that are reduced, by name; shared ones once."""
        return {
            name: p
            for name, p in self.module.named_parameters()
            if p.requires_grad and name not in self.parameters_to_ignore
        }

    def _make_reducer(self) -> None:
        trained = self._trained()
        cap = self.bucket_bytes_cap
        self.reducer = Reducer(
            list(trained.values()),
            list(trained),
            self.process_group,
            (min(_MB, cap) if self.bucket_bytes_cap_default else cap, cap),
            self.find_unused_parameters,
            self.gradient_as_bucket_view,
            self.static_graph,
            self.skip_all_reduce_unused_params,
            [n for n, p in enumerate(trained.values()) if id(p) in self._sparse()],
        )

    def _sparse(self) -> set[int]:
        """The identities of parameters whose gradients are sparse: embeddings' that say so."""
        kinds = (torch.nn.Embedding, torch.nn.EmbeddingBag)
        return {id(m.weight) for m in self.module.modules() if isinstance(m, kinds) and m.sparse}

    def _set_static_graph(self) -> None:
        """Declare the graph static, before training."""
        if self.reducer.rebuilt or self.reducer.order:
            raise RuntimeError(
                "set_static_graph() should be called before training loop starts and after "
                "DistributedDataParallel is constructed."
            )
        self.static_graph = True
        self._make_reducer()

    def _sync_module_states(self, source: int, buffers: bool) -> None:
        """Parameters, and buffers, as rank `source` of the group has them."""
        ignored = self.parameters_to_ignore
        _sync_module_states(self.module, self.process_group, 0, source, ignored, buffers)

    # --- the call ---------------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """module(*inputs, **kwargs); its backward is reduced, unless this is called in no_sync()."""
        with torch.profiler.record_function("DistributedDataParallel.forward"):
            inputs, kwargs = self._pre_forward(*inputs, **kwargs)
            return self._post_forward(self._run_ddp_forward(*inputs, **kwargs))

    def _run_ddp_forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's call itself."""
        return self.module(*inputs, **kwargs)

    def _pre_forward(self, *inputs: Any, **kwargs: Any) -> tuple[Any, Any]:
        """What comes before the module's call: the arguments for it."""
        self._before_forward()
        if self.device_ids:
            inputs, kwargs = tree_map(self._brought, (inputs, kwargs))
        return inputs, kwargs

    def _post_forward(self, output: Any) -> Any:
        """What comes after it: what the call returns."""
        if torch.is_grad_enabled() and self.require_backward_grad_sync:
            self.require_forward_param_sync = True
            self.reducer.prepare_for_backward([])
        else:
            self.require_forward_param_sync = False
        return output

    def _brought(self, value: Any) -> Any:
        """A tensor on this rank's device."""
        return value.to(self.device) if isinstance(value, torch.Tensor) else value

    def _before_forward(self) -> None:
        work = Join.notify_join_context(self)
        if work:
            active = work.get_future().wait()[0].item()
            total = self.process_group.size() if self._divide_by_initial_world_size else active
            self.reducer.divisor = lambda: total
        if torch.is_grad_enabled():
            self.reducer._rebuild_buckets()
        if self.will_sync_module_buffers():
            self._sync_buffers()
        if self._join_config.enable:
            self._sync_wanted(self.require_backward_grad_sync)

    def will_sync_module_buffers(self) -> bool:
        """Whether the next forward begins with a broadcast of buffers."""
        return (
            self.require_forward_param_sync
            and self.forward_sync_buffers
            and any(True for _ in self.module.buffers())
        )

    def _sync_buffers(self) -> None:
        """Buffers as rank 0 has them, or the last rank that has not joined."""
        self._sync_module_buffers(self._find_common_rank(True) if self._join_config.enable else 0)

    def _sync_module_buffers(self, authoritative_rank: int) -> None:
        """Buffers as a rank has them."""
        broadcast_coalesced(
            [b.detach() for name, b in self.module.named_buffers() if name not in self.parameters_to_ignore],
            authoritative_rank,
            self.process_group,
        )

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(
        module: Module, params_and_buffers_to_ignore: Iterable[str]
    ) -> None:
        """Leave parameters and buffers of these names out, when the module is wrapped later on."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore
        for name, param in module.named_parameters():
            if name in params_and_buffers_to_ignore:
                setattr(param, "_ddp_ignored", True)
        for name, buffer in module.named_buffers():
            if name in params_and_buffers_to_ignore:
                setattr(buffer, "_ddp_ignored", True)

    def scatter(self, inputs: Any, kwargs: Any, device_ids: Any) -> Any:
        """(inputs, keywords) for each device, for subclasses that call the module otherwise."""
        return scatter_kwargs(inputs, kwargs, device_ids, self.dim)

    def gather(self, outputs: Any, output_device: Any) -> Any:
        """Outputs of several devices as one, for subclasses that call the module otherwise."""
        return gather(outputs, output_device, self.dim)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Forwards in this context are not reduced: gradients add up until the next one outside."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: object, hook: Callable[..., Any]) -> None:
        """hook(state, bucket: dist.GradBucket) -> Future of one tensor takes the all-reduce's place.

        The bucket is not divided by the number of ranks. Once only: RuntimeError the second time.
        """
        _check_comm_hook(hook)
        if self._comm_hooks:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self._comm_hooks.append((hook, state))
        self.reducer.hook = (state, hook)

    def _register_builtin_comm_hook(self, comm_hook_type: Any) -> None:
        name = getattr(comm_hook_type, "name", str(comm_hook_type)).rpartition(".")[2]
        hook = {"ALLREDUCE": default_hooks.allreduce_hook, "FP16_COMPRESS": default_hooks.fp16_compress_hook}[
            name
        ]
        self.register_comm_hook(self.process_group, hook)

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """What PyTorch's monitoring is told of a wrapper, as far as it has a meaning here."""
        trained = list(self._trained().values())
        return {
            "world_size": self.process_group.size(),
            "rank": self.process_group.rank(),
            "module_name": type(self.module).__name__,
            "backend_name": self.process_group.name(),
            "bucket_cap_bytes": self.bucket_bytes_cap,
            "broadcast_buffers": self.forward_sync_buffers,
            "find_unused_parameters": self.find_unused_parameters,
            "gradient_as_bucket_view": self.gradient_as_bucket_view,
            "static_graph": self.static_graph,
            "is_multi_device_module": self.is_multi_device_module,
            "num_parameter_tensors": len(trained),
            "total_parameter_size_bytes": sum(p.numel() * p.element_size() for p in trained),
            "dtypes": ", ".join(sorted({str(p.dtype).rpartition(".")[2] for p in trained})),
        }

    # --- pickling ---------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        if self.process_group is not default_group():
            raise RuntimeError(
                "DDP Pickling/Unpickling are only supported when using DDP with the default "
                "process group. That is, when you have called init_process_group and have not "
                "passed process_group argument to DDP constructor"
            )
        given: Any = super().__getstate__()
        state: dict[str, Any] = dict(given)
        del state["process_group"], state["reducer"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.process_group = default_group()
        super().__setstate__(state)
        self._make_reducer()

    # --- ranks with fewer inputs ------------------------------------------------------------------

    _divide_by_initial_world_size = True

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """A context for training with uneven inputs: a rank that leaves it joins the others'
        communication.
        """
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a rank does that has no inputs left."""
        self._divide_by_initial_world_size = kwargs.get("divide_by_initial_world_size", True)
        return _DDPJoinHook(self)

    @property
    def join_device(self) -> Any:
        """The device of tensors that ranks exchange about joining."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The group that joins."""
        return self.process_group

    def _find_common_rank(self, candidate: bool) -> int:
        own = self.process_group.rank() if candidate else -1
        rank = torch.tensor([own], device=self.join_device)
        dist.all_reduce(rank, op=dist.ReduceOp.MAX, group=self.process_group)
        return int(rank)

    def _sync_wanted(self, mine: bool) -> bool:
        """Whether any rank reduces the gradients of this iteration."""
        wanted = torch.full((1,), float(mine), device=self.join_device)
        dist.all_reduce(wanted, group=self.process_group)
        return bool(wanted.item())


class _DDPJoinHook(JoinHook):
    def __init__(self, ddp: DistributedDataParallel) -> None:
        self.ddp = ddp

    def main_hook(self) -> None:
        """One iteration of the ranks that still have inputs."""
        ddp = self.ddp
        ddp.reducer._rebuild_buckets()
        if ddp.will_sync_module_buffers():
            ddp._sync_module_buffers(ddp._find_common_rank(False))
        ddp.require_forward_param_sync = ddp._sync_wanted(False)
        if ddp.require_forward_param_sync:
            ddp.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Everybody has the model of the last that joined."""
        ddp = self.ddp
        ddp._sync_module_states(ddp._find_common_rank(is_last_joiner), ddp.forward_sync_buffers)


def _refuse(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise NotImplementedError(
                f"DistributedDataParallel: {name} is not supported in Rushlight; leave it out"
            )


def _group(process_group: Any, device_mesh: Any) -> Any:
    if process_group is not None and device_mesh is not None:
        raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
    if device_mesh is None:
        return process_group if process_group is not None else default_group()
    if device_mesh.ndim != 1:
        raise RuntimeError(f"Only 1D device mesh is supported, but got {device_mesh}.")
    return device_mesh.get_group(mesh_dim=0)


def _check_module(params: list[Any], device_ids: Any, output_device: Any) -> None:
    if not any(p.requires_grad for p in params):
        raise RuntimeError(
            "DistributedDataParallel is not needed when a module doesn't have any parameter "
            "that requires a gradient."
        )
    if device_ids is not None and len(device_ids) > 1:
        raise ValueError("device_ids can only be None or contain a single element.")
    if len(kinds := {p.device.type for p in params}) != 1:
        raise ValueError(
            "DistributedDataParallel's input module must be on the same type of devices, but "
            f"input module parameters locate in {kinds}."
        )
    if (device_ids or output_device) and kinds != {"cuda"}:
        raise ValueError(
            "DistributedDataParallel device_ids and output_device arguments only work with "
            f"single-device/multiple-device GPU modules or CPU modules, but got device_ids {device_ids}, "
            f"output_device {output_device}, and module parameters { {p.device for p in params} }."
        )
    if any(map(is_lazy, params)):
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. Run a dummy "
            "forward pass to correctly initialize the modules"
        )


def _check_comm_hook(hook: Any) -> None:
    if not callable(hook):
        raise TypeError("Communication hook must be callable.")
    signature = inspect.signature(hook)
    annotation = signature.parameters["bucket"].annotation
    if annotation not in (inspect.Parameter.empty, GradBucket, "GradBucket", "dist.GradBucket"):
        raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
    returned = str(signature.return_annotation).replace("rushlight.", "torch.")
    if signature.return_annotation is not inspect.Signature.empty and not _FUTURE.search(returned):
        raise ValueError(
            "Communication hook: return annotation should be torch.futures.Future[torch.Tensor]."
        )
