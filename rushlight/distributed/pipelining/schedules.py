"""Schedules: in which order ranks compute the microbatches of a batch, and the running of it."""

from __future__ import annotations

import csv
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight.distributed.pipelining import actions
from rushlight.distributed.pipelining._utils import generate_stage_to_rank_mapping
from rushlight.distributed.pipelining.actions import _Action, _ComputationType
from rushlight.distributed.pipelining.microbatch import (
    TensorChunkSpec,
    _split_tensor,
    merge_chunks,
    split_args_kwargs_into_chunks,
)
from rushlight.distributed.pipelining.stage import _PipelineStageBase

_TARGET_CHUNK_SPEC = TensorChunkSpec(0)
_MOVES: dict[_ComputationType, Callable[[_PipelineStageBase, int], None]] = {
    _ComputationType.SEND_F: _PipelineStageBase.send_forward,
    _ComputationType.RECV_F: _PipelineStageBase.receive_forward,
    _ComputationType.SEND_B: _PipelineStageBase.send_backward,
    _ComputationType.RECV_B: _PipelineStageBase.receive_backward,
}


class _PipelineSchedule:
    """What all schedules do.

    loss_fn(output, target): of a microbatch; without it there is no backward. scale_grads: gradients are the
    means over the microbatches, as for losses that are means; else sums.
    """

    _stages: list[_PipelineStageBase]
    _mine: dict[int, _PipelineStageBase]  # the same by number
    rank: int
    pp_group_size: int
    _num_stages: int
    stage_index_to_group_rank: dict[int, int]

    def __init__(
        self,
        n_microbatches: int,
        loss_fn: Any = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        self._n_microbatches, self._loss_fn, self.scale_grads = n_microbatches, loss_fn, scale_grads
        self._args_chunk_spec, self._kwargs_chunk_spec = args_chunk_spec, kwargs_chunk_spec
        self._output_merge_spec = output_merge_spec
        self._has_backward = loss_fn is not None
        self._internal_losses: dict[int, Any] = {}
        self.pipeline_order: dict[int, list[_Action | None]] = {}
        self._told: tuple[Any, dict[int, list[_Action]]] = None, {}

    def _check(self) -> None:
        """ValueError for what the schedule cannot run."""

    def _take(self, stages: list[_PipelineStageBase]) -> None:
        """Be the schedule of this rank's stages."""
        self._stages, self._num_stages = stages, stages[0].num_stages
        self.rank, self.pp_group_size = stages[0].group_rank, stages[0].group_size

    def _map_stages(self, mapping: dict[int, int]) -> None:
        """Let each stage know which rank has which."""
        self.stage_index_to_group_rank = mapping
        self._mine = {stage.stage_index: stage for stage in self._stages}
        for stage in self._stages:
            stage.stage_index_to_group_rank, stage.neighbours = mapping, self._mine

    def eval(self, *args: Any, target: Any = None, losses: list[Any] | None = None, **kwargs: Any) -> Any:
        """A step of forwards alone."""
        before, self._has_backward = self._has_backward, False
        try:
            return self.step(*args, target=target, losses=losses, **kwargs)
        finally:
            self._has_backward = before

    def step(
        self,
        *args: Any,
        target: Any = None,
        losses: list[Any] | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Compute a whole batch: its arguments are the first stage's, keywords each stage's own.

        The rank of the last stage gives `target`, may have the microbatches' losses put into the list
        `losses`, and gets the outputs as one; others get None.
        """
        if self._has_backward and not torch.is_grad_enabled():
            raise RuntimeError(
                "step() requires gradients to be enabled for backward computation; it should not be used "
                "under torch.no_grad() context. Please call eval() instead."
            )
        for stage in self._stages:
            stage.has_backward, stage.chunks = self._has_backward, self._n_microbatches
            stage.clear_runtime_states()
        split, named = self._split_inputs(args, kwargs)
        targets = None
        if target is not None:
            targets = list(_split_tensor(target, _TARGET_CHUNK_SPEC, self._n_microbatches))
        self._step_microbatches(split, named, targets, losses, return_outputs, loss_kwargs)
        last = next((stage for stage in self._stages if stage.is_last), None)
        if last is None or not return_outputs:
            return None
        return merge_chunks(last.output_chunks, self._output_merge_spec)

    def _split_inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        if not args and not kwargs:
            return [()] * self._n_microbatches, [{}] * self._n_microbatches
        return split_args_kwargs_into_chunks(
            args, kwargs, self._n_microbatches, self._args_chunk_spec, self._kwargs_chunk_spec
        )

    def _check_inputs(
        self, arg_mbs: Any = None, kwarg_mbs: Any = None, target_mbs: Any = None, losses: Any = None
    ) -> tuple[list[Any], list[Any]]:
        given = {"arg_mbs": arg_mbs, "kwarg_mbs": kwarg_mbs, "target_mbs": target_mbs}
        for name, pieces in given.items():
            if pieces is None:
                continue
            if not isinstance(pieces, list):
                raise TypeError(f"{name} must be a list but got a {type(pieces)}")
            if len(pieces) != self._n_microbatches:
                raise ValueError(f"Expecting {self._n_microbatches} {name} but got {len(pieces)}")
        if losses is not None and not isinstance(losses, list):
            raise TypeError(f"losses must be a list but got a {type(losses)}")
        count = self._n_microbatches
        return [()] * count if arg_mbs is None else arg_mbs, [{}] * count if kwarg_mbs is None else kwarg_mbs

    # --- running --------------------------------------------------------------------------------------

    def _step_microbatches(
        self,
        arg_mbs: Any = None,
        kwarg_mbs: Any = None,
        target_mbs: Any = None,
        losses: Any = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Run this rank's actions on microbatches."""
        arg_mbs, kwarg_mbs = self._check_inputs(arg_mbs, kwarg_mbs, target_mbs, losses)
        self._internal_losses = {}
        for stage in self._stages:
            stage.set_sync(False)
        for action in self._all_actions()[self.rank]:
            stage, kind = self._mine[action.stage_index], action.computation_type
            number = action.microbatch_index
            if number is None:
                continue
            if kind in _MOVES:
                _MOVES[kind](stage, number)
            elif kind is not _ComputationType.FORWARD:
                self._backward(stage, kind, number)
            else:
                output = stage.forward_one_chunk(number, arg_mbs[number], kwarg_mbs[number], return_outputs)
                if stage.is_last and self._loss_fn is not None and target_mbs is not None:
                    loss = self._loss_fn(output, target_mbs[number], **(loss_kwargs or {}))
                    self._internal_losses[number] = loss
        for stage in self._stages:
            stage.wait_sent()
            if self._has_backward:
                stage.perform_reduce_grad(self._n_microbatches if self.scale_grads else 1)
            stage.set_sync(True)
        self._update_losses(losses)

    def _all_actions(self) -> dict[int, list[_Action]]:
        """What ranks compute, send and receive: found anew only where what it follows from has changed."""
        ranks, backward = self.stage_index_to_group_rank, self._has_backward
        if self._told[0] != (self.pipeline_order, ranks, backward):
            order = actions.with_transfers(self.pipeline_order, ranks, backward)
            copied = {rank: [*row] for rank, row in self.pipeline_order.items()}
            self._told = (copied, dict(ranks), backward), order
        return self._told[1]

    def _backward(self, stage: _PipelineStageBase, kind: _ComputationType, number: int) -> None:
        """A backward of any kind."""
        if kind is _ComputationType.BACKWARD_WEIGHT:
            stage.backward_weight_one_chunk(number)
            return
        loss = None
        if stage.is_last:
            if number not in self._internal_losses:
                raise RuntimeError(
                    f"Loss for microbatch {number} is not available. "
                    f"Available losses for microbatches: {list(self._internal_losses.values())}"
                )
            loss = self._internal_losses[number]
        full = kind is _ComputationType.FULL_BACKWARD
        stage.backward_one_chunk(number, loss=loss, full_backward=full)

    def _update_losses(self, losses: list[Any] | None) -> None:
        if losses is None or not any(stage.is_last for stage in self._stages):
            return
        if len(self._internal_losses) != self._n_microbatches:
            raise RuntimeError(
                f"Expecting {self._n_microbatches} losses but got {len(self._internal_losses)}"
            )
        losses[:] = [self._internal_losses[n] for n in range(self._n_microbatches)]


class PipelineScheduleSingle(_PipelineSchedule):
    """Schedules of one stage for each rank."""

    def __init__(
        self,
        stage: _PipelineStageBase,
        n_microbatches: int,
        loss_fn: Any = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        super().__init__(
            n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads
        )
        self._stage = stage
        self._take([stage])
        self._map_stages(stage.stage_index_to_group_rank)
        self.pipeline_order = self._get_pipeline_order() or {}
        self._check()

    def _get_pipeline_order(self) -> dict[int, list[_Action | None]] | None:
        """What each rank does."""
        ranks = self.stage_index_to_group_rank
        return {
            ranks[n]: [*self._order(n, self._num_stages, self._n_microbatches)]
            for n in range(self._num_stages)
        }

    @staticmethod
    def _order(stage: int, stages: int, count: int) -> list[_Action]:
        return [_Action(stage, _ComputationType.FORWARD, n) for n in range(count)]


class _ScheduleForwardOnly(PipelineScheduleSingle):
    """Forwards alone."""

    def _check_inputs(
        self, arg_mbs: Any = None, kwarg_mbs: Any = None, target_mbs: Any = None, losses: Any = None
    ) -> tuple[list[Any], list[Any]]:
        if target_mbs is not None or losses is not None:
            raise RuntimeError("Forward-only schedule does not support loss computation")
        return super()._check_inputs(arg_mbs, kwarg_mbs)


class ScheduleGPipe(PipelineScheduleSingle):
    """All forwards, then all backwards."""

    _order = staticmethod(actions.gpipe)


class Schedule1F1B(PipelineScheduleSingle):
    """A forward and a backward in turn, after as many forwards as it takes until a gradient comes back."""

    _order = staticmethod(actions.alternating)

    def _check(self) -> None:
        if self._n_microbatches < self._num_stages:
            raise ValueError(
                f"Number of microbatches ({self._n_microbatches}) must be greater than or equal to the "
                f"number of stages ({self._num_stages})."
            )


class PipelineScheduleMulti(_PipelineSchedule):
    """Schedules of several stages for each rank: `stages` are this rank's, in the model's order."""

    _style = "loop"
    number_of_rounds: int
    microbatches_per_round: int

    def __init__(
        self,
        stages: list[Any],
        n_microbatches: int,
        loss_fn: Any = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        use_full_backward: bool | None = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ) -> None:
        super().__init__(
            n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads
        )
        self._take(stages)
        self.n_local_stages = len(stages)
        self._map_stages(generate_stage_to_rank_mapping(self.pp_group_size, self._num_stages, self._style))
        self._check()
        self.pipeline_order = self._orders()

    def _orders(self) -> dict[int, list[_Action | None]]:
        """What each rank does."""
        return {rank: [*self._calculate_single_rank_operations(rank)] for rank in range(self.pp_group_size)}

    def _calculate_single_rank_operations(self, rank: int) -> list[_Action]:
        return []

    def _rounds(self, name: str) -> None:
        """The rule of schedules in rounds."""
        rounds = max(1, self._n_microbatches // self.pp_group_size)
        self.number_of_rounds, self.microbatches_per_round = rounds, self._n_microbatches // rounds
        if self._n_microbatches % rounds:
            raise ValueError(
                f"{name} requires the number of microbatches to be a multiple of the number of rounds "
                f"({rounds}), but got {self._n_microbatches}."
            )

    def _dump_csv(self, filename: str) -> None:
        """Write what each rank does into a file."""
        with open(filename, "w", newline="") as file:
            csv.writer(file).writerows(self.pipeline_order[rank] for rank in sorted(self.pipeline_order))

    def _load_csv(self, filename: str, format: str = "compute_only") -> None:
        """Do what a file says, a line for each rank; which rank has which stage is told by it."""
        with open(filename, newline="") as file:
            rows = [[_Action.from_str(told) for told in row] for row in csv.reader(file)]
        self.pipeline_order = dict(enumerate(rows))
        found = {
            part.stage_index: rank
            for rank, row in enumerate(rows)
            for action in row
            if action is not None
            for part in action.sub_actions or (action,)
        }
        self._map_stages({stage: found[stage] for stage in sorted(found)})


class _PipelineScheduleRuntime(PipelineScheduleMulti):
    """A schedule that a file tells, or `pipeline_order`."""


class ScheduleLoopedBFS(_PipelineScheduleRuntime):
    """All microbatches through a stage, before the rank's next one (arXiv:2211.05953)."""

    def __init__(
        self,
        stages: list[Any],
        n_microbatches: int,
        loss_fn: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ) -> None:
        super().__init__(
            stages, n_microbatches, loss_fn, output_merge_spec=output_merge_spec, scale_grads=scale_grads
        )

    def _calculate_single_rank_operations(self, rank: int) -> list[_Action]:
        return actions.breadth_first(rank, self.pp_group_size, self._num_stages, self._n_microbatches)


class ScheduleInterleaved1F1B(_PipelineScheduleRuntime):
    """Rounds of microbatches through a rank's stages, forward and backward in turn (arXiv:2104.04473)."""

    def _check(self) -> None:
        self._rounds("Interleaved 1F1B")

    def _calculate_single_rank_operations(self, rank: int) -> list[_Action]:
        return actions.depth_first(rank, self.pp_group_size, self._num_stages, self._n_microbatches)


class ScheduleInterleavedZeroBubble(_PipelineScheduleRuntime):
    """Interleaved 1F1B; weights' gradients fill the time in which a rank would wait (arXiv:2401.10241)."""

    def _check(self) -> None:
        self._rounds("Zero bubble")

    def _calculate_single_rank_operations(self, rank: int) -> list[_Action]:
        size = self.pp_group_size
        order = actions.depth_first(rank, size, self._num_stages, self._n_microbatches, hops=1)
        return actions.split_backwards(order, rank)


class _VSchedule(_PipelineScheduleRuntime):
    """Two stages for each rank, whose second ones come in the opposite order."""

    _style = "v"

    def _check(self) -> None:
        if self.n_local_stages != 2:
            raise ValueError(f"ZBV requires exactly 2 stages per rank, but got {self.n_local_stages}.")

    def _orders(self) -> dict[int, list[_Action | None]]:
        found = actions.there_and_back(self.pp_group_size, self._num_stages, self._n_microbatches)
        return {rank: [*row] for rank, row in found.items()}


class ScheduleZBVZeroBubble(_VSchedule):
    """Zero bubbles with stages there and back (arXiv:2401.10241, section 6)."""


class ScheduleDualPipeV(_VSchedule):
    """DualPipe's stages there and back; what overlaps there is computed here in turn."""

    def _check(self) -> None:
        super()._check()
        if self._n_microbatches < self._num_stages:
            raise ValueError(
                "DualPipeV requires at least as many microbatches as stages, but got "
                f"{self._n_microbatches} microbatches and {self._num_stages} stages."
            )


_BY_NAME: dict[str, type] = {
    "1F1B": Schedule1F1B,
    "Interleaved1F1B": ScheduleInterleaved1F1B,
    "GPipe": ScheduleGPipe,
    "LoopedBFS": ScheduleLoopedBFS,
    "InterleavedZeroBubble": ScheduleInterleavedZeroBubble,
    "PipelineScheduleSingle": PipelineScheduleSingle,
    "PipelineScheduleMulti": PipelineScheduleMulti,
    "ZBVZeroBubble": ScheduleZBVZeroBubble,
    "DualPipeV": ScheduleDualPipeV,
}


def get_schedule_class(schedule_name: str) -> Any:
    """The schedule of this name, in letters of any case; ValueError where there is none."""
    for name, found in _BY_NAME.items():
        if name.lower() == schedule_name.lower():
            return found
    raise ValueError(f"Unknown schedule name '{schedule_name}'. The valid options are {list(_BY_NAME)}")
