"""A stage: a part of a model, what comes to it and what it sends on.

What a stage sends first says of what shapes it is: once in each step, of the first microbatch. Messages are
begun in the order that `actions.with_transfers` tells all ranks: NCCL, which knows no tags, moves those
between two ranks one after the other.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight._engine.core.pytree import flatten
from rushlight.distributed.data_parallel import DistributedDataParallel
from rushlight.distributed.fsdp._fully_shard import FSDPModule, managed
from rushlight.distributed.pipelining._backward import (
    input_gradients,
    stage_backward,
    weight_gradients,
)
from rushlight.distributed.pipelining._utils import PipeliningMetadataError, TensorMeta, mesh_key
from rushlight.distributed.tensor.dtensor import DTensor, _part

_KINDS = 4  # of messages: sizes, shapes, activations, gradients


def _as_tuple(output: Any) -> tuple[Any, ...]:
    """A module's output, as the arguments of the next one."""
    if type(output) is list:
        return tuple(output)
    return output if isinstance(output, tuple) else (output,)


class _PipelineStageBase:
    """What all stages do; `submod` is the part of the model, number `stage_index` of `num_stages`."""

    def __init__(
        self,
        submodule: Any,
        stage_index: int,
        num_stages: int,
        device: Any,
        group: Any = None,
        dw_builder: Callable[[], Callable[..., None]] | None = None,
    ) -> None:
        if stage_index >= num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.device, self.group, self.dw_builder = torch.device(device), group, dw_builder
        self.group_rank, self.group_size = dist.get_rank(group), dist.get_world_size(group)
        if self.group_size > num_stages:
            raise RuntimeError(
                f"Pipeline group size {self.group_size} cannot be larger than number of stages {num_stages}"
            )
        self.get_mesh: Callable[[Any, Any], Any] | None = None
        self.meshes: dict[Any, Any] = {}  # by mesh_key
        self.has_backward = False
        self.chunks: int | None = None
        self.log_prefix = f"[Stage {stage_index}]"
        self.stage_index_to_group_rank = {n: n % self.group_size for n in range(num_stages)}
        self.clear_runtime_states()

    @property
    def is_first(self) -> bool:
        """Whether its inputs are the program's."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether its outputs are the program's."""
        return self.stage_index == self.num_stages - 1

    def clear_runtime_states(self) -> None:
        """Before a step."""
        self.output_chunks: list[Any] = []
        self.dw_runner: dict[int, Callable[..., None]] = {}
        self.fwd_cache: dict[int, tuple[Any, list[Any]]] = {}  # outputs, inputs
        self._later: dict[int, tuple[Any, Any, list[Any]]] = {}  # what backward of the weights needs
        self._given: dict[int, tuple[Any, ...]] = {}  # activations of a stage of this rank
        self._returned: dict[int, tuple[Any, ...]] = {}  # gradients likewise
        self._results: dict[int, tuple[Any, ...]] = {}  # outputs that go to another rank
        self._gradients: dict[int, list[tuple[int, Any]]] = {}  # and inputs' gradients: (number, gradient)
        self._sending: list[tuple[Any, Any]] = []
        self._coming: dict[int, list[Any]] = {}  # works of activations
        self._coming_back: dict[int, list[Any]] = {}  # and of gradients
        self._incoming: list[TensorMeta] | None = None
        self._outgoing: list[TensorMeta] | None = None
        self._backwards = 0

    # --- messages -----------------------------------------------------------------------------------

    def _tag(self, stage: int, mb_index: int, kind: int, number: int) -> int:
        """Of what stage `stage` sends."""
        return ((number * (self.chunks or 1) + mb_index) * self.num_stages + stage) * _KINDS + kind

    def _beside(self, step: int) -> Any:
        """The stage next to this one, where this rank has it: None where another rank does."""
        return self.neighbours.get(self.stage_index + step)

    neighbours: dict[int, Any] = {}  # this rank's stages, by number

    def _isend(self, t: Any, stage: int, tag: int) -> None:
        to = self.stage_index_to_group_rank[stage]
        sent = t.contiguous()
        self._sending.append((dist.isend(sent, group=self.group, tag=tag, group_dst=to), sent))

    def _irecv(self, t: Any, stage: int, tag: int) -> Any:
        return dist.irecv(t, group=self.group, tag=tag, group_src=self.stage_index_to_group_rank[stage])

    def _recv(self, t: Any, stage: int, tag: int) -> Any:
        self._irecv(t, stage, tag).wait()
        return t

    def _mesh(self, key: Any) -> Any:
        """This rank's mesh of a DTensor that comes; PipeliningMetadataError where nobody has told it."""
        if key is None:
            return None
        if key not in self.meshes:
            names, layout = key
            if self.get_mesh is None:
                raise PipeliningMetadataError(
                    f"Mesh not found in cache for mesh_dim_names={names}, mesh_layout={layout}, and no "
                    "get_mesh callback provided. Provide a get_mesh callback or use DTensors in static mode."
                )
            self.meshes[key] = self.get_mesh(names, layout)
        return self.meshes[key]

    def send_forward(self, mb_index: int) -> None:
        """Begin to send what the next stage, on another rank, computes with."""
        outputs = self._results.pop(mb_index)
        self._tell_shapes(outputs, mb_index)
        for number, t in enumerate(outputs):
            tag = self._tag(self.stage_index, mb_index, 2, number)
            self._isend(_part(t).detach(), self.stage_index + 1, tag)

    def receive_forward(self, mb_index: int) -> None:
        """Begin to receive what this stage computes with."""
        before = self.stage_index - 1
        metas = self._hear_shapes()
        parts = [meta.empty(self.device) for meta in metas]
        tags = [self._tag(before, mb_index, 2, number) for number in range(len(metas))]
        self._coming[mb_index] = [
            self._irecv(part, before, tag) for part, tag in zip(parts, tags, strict=True)
        ]
        self._given[mb_index] = tuple(
            meta.filled(part, self._mesh(meta.mesh)) for meta, part in zip(metas, parts, strict=True)
        )

    def send_backward(self, mb_index: int) -> None:
        """Begin to send the gradients of what has come from another rank."""
        for number, grad in self._gradients.pop(mb_index):
            self._isend(grad, self.stage_index - 1, self._tag(self.stage_index, mb_index, 3, number))

    def receive_backward(self, mb_index: int) -> None:
        """Begin to receive the gradients of what has gone to another rank."""
        following = self.stage_index + 1
        found: list[Any] = []
        works = self._coming_back[mb_index] = []
        for number, t in enumerate(self.fwd_cache[mb_index][0]):
            if not t.requires_grad:
                found.append(None)
                continue
            meta = TensorMeta.of(t)
            part = meta.empty(self.device)
            works.append(self._irecv(part, following, self._tag(following, mb_index, 3, number)))
            found.append(meta.filled(part, t.device_mesh if isinstance(t, DTensor) else None))
        self._returned[mb_index] = tuple(found)

    def wait_sent(self) -> None:
        """Until the others have what this stage has sent."""
        for work, _ in self._sending:
            work.wait()
        self._sending = []

    def _tell_shapes(self, outputs: tuple[Any, ...], mb_index: int) -> None:
        """Once in a step, say what is sent; later on, see that it is the same."""
        for t in outputs:
            if not isinstance(t, torch.Tensor):
                raise AssertionError(f"{self.log_prefix} expected tensor values as outputs, got {type(t)}")
        metas = [TensorMeta.of(t) for t in outputs]
        if self._outgoing is None:
            self._outgoing = metas
            data = torch.frombuffer(bytearray(pickle.dumps(metas)), dtype=torch.uint8).to(self.device)
            following, size = self.stage_index + 1, torch.tensor([data.numel()], device=self.device)
            self._isend(size, following, self._tag(self.stage_index, 0, 0, 0))
            self._isend(data, following, self._tag(self.stage_index, 0, 1, 0))
        for number, (meta, first) in enumerate(zip(metas, self._outgoing, strict=True)):
            if meta != first:
                raise PipeliningMetadataError(
                    f"{self.log_prefix} output {number} of microbatch {mb_index} is {meta}, "
                    f"and that of the first one was {first}"
                )

    def _hear_shapes(self) -> list[TensorMeta]:
        """What the stage before this one sends."""
        if self._incoming is None:
            before = self.stage_index - 1
            size = torch.zeros(1, dtype=torch.int64, device=self.device)
            self._recv(size, before, self._tag(before, 0, 0, 0))
            data = torch.zeros(int(size), dtype=torch.uint8, device=self.device)
            self._recv(data, before, self._tag(before, 0, 1, 0))
            self._incoming = pickle.loads(data.cpu().numpy().tobytes())
        return self._incoming

    # --- forward ------------------------------------------------------------------------------------

    def _activations(self, mb_index: int) -> tuple[Any, ...]:
        """What the stage before this one has made: leaves of this stage's graph."""
        given = self._given.pop(mb_index)
        if (works := self._coming.pop(mb_index, None)) is None:  # from a stage of this rank
            needed = [t.requires_grad for t in given]
            given = tuple(t.detach() for t in given)
        else:
            needed = [meta.requires_grad for meta in self._hear_shapes()]
            for work in works:
                work.wait()
        if self.has_backward:
            for t, need in zip(given, needed, strict=True):
                t.requires_grad_(need)
        return given

    def forward_one_chunk(
        self,
        fwd_chunk_id: int,
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None = None,
        save_forward_output: bool = True,
    ) -> Any:
        """Compute a microbatch; `args` are the first stage's."""
        given = tuple(args) if self.is_first else self._activations(fwd_chunk_id)
        try:
            output = self.forward_maybe_with_nosync(*given, **(kwargs or {}))
        except Exception as error:
            raise RuntimeError(
                f"\n            {self.log_prefix} failed to run forward:\n            args: {given}\n"
                f"            kwargs: {kwargs or {}}\n            "
            ) from error
        outputs = _as_tuple(output)
        if self.is_last and save_forward_output:
            self.output_chunks.append(output)
        if self.has_backward:
            self.fwd_cache[fwd_chunk_id] = outputs, list(given)
        if not self.is_last:
            self._send_on(outputs, fwd_chunk_id)
        return output

    def _send_on(self, outputs: tuple[Any, ...], mb_index: int) -> None:
        following = self._beside(1)
        if following is not None:
            following._given[mb_index] = outputs
            return
        self._results[mb_index] = outputs

    def forward_maybe_with_nosync(self, *args: Any, **kwargs: Any) -> Any:
        """The part of the model; gradients are summed over DDP's ranks once in a step."""
        if isinstance(self.submod, DistributedDataParallel):
            with self.submod.no_sync():
                return self.submod(*args, **kwargs)
        return self.submod(*args, **kwargs)

    # --- backward -----------------------------------------------------------------------------------

    def _output_gradients(self, mb_index: int) -> tuple[Any, ...]:
        """What the stage behind this one has found."""
        for work in self._coming_back.pop(mb_index, ()):
            work.wait()
        return self._returned.pop(mb_index)

    def _send_back(self, inputs: list[Any], grads: tuple[Any, ...], mb_index: int) -> None:
        before = self._beside(-1)
        given = tuple(
            torch.zeros_like(t) if t.requires_grad and grad is None else grad
            for t, grad in zip(inputs, grads, strict=True)
        )
        if before is not None:
            before._returned[mb_index] = given
            return
        self._gradients[mb_index] = [
            (number, _as_lies(grad, t))
            for number, (t, grad) in enumerate(zip(inputs, given, strict=True))
            if t.requires_grad
        ]

    def backward_one_chunk(
        self, bwd_chunk_id: int, loss: Any = None, full_backward: bool = True, last_backward: bool = False
    ) -> None:
        """The gradients of a microbatch: all, or (`full_backward=False`) only the inputs'."""
        if not self.has_backward:
            return
        outputs, inputs = self.fwd_cache.pop(bwd_chunk_id)
        grads = None if self.is_last else self._output_gradients(bwd_chunk_id)
        made = loss if self.is_last else outputs
        if full_backward or self.dw_builder is not None:
            found = self._run(lambda: stage_backward(made, grads, inputs), last_backward)
            if self.dw_builder is not None:
                weights = self.dw_builder()
                if full_backward:
                    weights()
                else:
                    self.dw_runner[bwd_chunk_id] = weights
        else:
            found = input_gradients(made, grads, [] if self.is_first else inputs)
            self._later[bwd_chunk_id] = made, grads, inputs
        if not self.is_first:
            self._send_back(inputs, found, bwd_chunk_id)
        if self.is_last and not self.is_first and full_backward:
            for t in outputs:
                if not t._is_view():
                    t.detach_()

    def backward_weight_one_chunk(self, bwd_chunk_id: int, last_backward: bool = False) -> None:
        """The gradients of the weights, where backward_one_chunk has left them for later."""
        if not self.has_backward:
            return
        if bwd_chunk_id in self.dw_runner:
            self.dw_runner.pop(bwd_chunk_id)()
            return
        if bwd_chunk_id not in self._later:
            raise AssertionError(
                f"{self.log_prefix} Attempted to run backward_weight_one_chunk for chunk {bwd_chunk_id}"
                " without first calling `backward_one_chunk(full_backward=False)`"
            )
        made, grads, inputs = self._later.pop(bwd_chunk_id)
        leaves = [t for t in inputs if isinstance(t, torch.Tensor)] if self.is_first else []
        wanted = [*_leaves(self.submod), *(t for t in leaves if t.requires_grad)]
        self._run(lambda: weight_gradients(made, grads, wanted), last_backward)

    def _run(self, backward: Callable[[], Any], last: bool) -> Any:
        """A backward; of the last one in a step, with DDP's sums over its ranks."""
        self._backwards += 1
        ddp = self.submod
        if not isinstance(ddp, DistributedDataParallel) or not (last or self._backwards == self.chunks):
            return backward()
        ddp.reducer.prepare_for_backward([])
        return backward()

    def set_sync(self, wanted: bool) -> None:
        """Whether fully_shard's units sum gradients over their ranks in backward."""
        if isinstance(self.submod, FSDPModule):
            self.submod.set_requires_gradient_sync(wanted)

    def perform_reduce_grad(self, grad_scale_factor: int) -> None:
        """After all backwards of a step: fully_shard's sums over ranks, and each gradient's mean."""
        if isinstance(self.submod, FSDPModule):
            self.submod._reduce_accumulated()
        self.scale_grads(grad_scale_factor)

    def scale_grads(self, grad_scale_factor: int) -> None:
        """Divide the weights' gradients."""
        if grad_scale_factor == 1:
            return
        for p in self.submod.parameters():
            if p.grad is not None:
                p.grad.div_(grad_scale_factor)


def _leaves(module: Any) -> list[Any]:
    """The leaves that backward reaches below a module: for fully_shard's shards the whole parameters."""
    units = [m.unit for each in module.modules() if (m := managed(each)) is not None and m.unit is not None]
    whole = {id(p): leaf for unit in units for p, leaf in zip(unit.sharded, unit.whole, strict=True)}
    return [whole.get(id(p), p) for p in module.parameters()]


def _as_lies(grad: Any, t: Any) -> Any:
    """A gradient's part, where the tensor's part is."""
    if isinstance(grad, DTensor) and isinstance(t, DTensor):
        return grad.redistribute(t.device_mesh, t.placements).to_local()
    return _part(grad)


class PipelineStage(_PipelineStageBase):
    """A part of a model that the program has made.

    input_args, output_args: examples of a microbatch; they need not be given, since a stage says what it
    sends. dw_builder: makes functions that compute weights' gradients later. get_mesh(names, layout): the
    mesh of this rank for DTensors that come, where no example has it.
    """

    def __init__(
        self,
        submodule: Any,
        stage_index: int,
        num_stages: int,
        device: Any,
        input_args: Any = None,
        output_args: Any = None,
        output_grads: Any = None,
        input_grads: Any = None,
        group: Any = None,
        dw_builder: Callable[[], Callable[..., None]] | None = None,
        get_mesh: Any = None,
    ) -> None:
        super().__init__(submodule, stage_index, num_stages, device, group, dw_builder)
        self.get_mesh = get_mesh
        for t in flatten((input_args, output_args))[0]:
            if isinstance(t, DTensor):
                self.meshes[mesh_key(t.device_mesh)] = t.device_mesh
