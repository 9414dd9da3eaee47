"""Gradients averaged over all ranks at first, then over a subgroup: the first half of post-local SGD.

The other half averages parameters now and then: torch.distributed.algorithms.model_averaging.
"""

from __future__ import annotations

from typing import Any

import rushlight.distributed as dist
from rushlight.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
from rushlight.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from rushlight.distributed.reducer import GradBucket

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """What post_localSGD_hook keeps.

    process_group, subgroup: over which gradients are averaged before and after `start_localSGD_iter`
    iterations (None: all ranks; the ranks of a machine).
    post_local_gradient_allreduce: False leaves gradients as they are after that, default True.
    """

    def __init__(
        self,
        process_group: Any,
        subgroup: Any,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count an iteration when its last bucket comes."""
        self.iter += bucket.is_last()


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Any:
    """The average of the ranks' buckets, over the group that `state` says."""
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    if state.subgroup is None:
        state.subgroup, _ = dist.new_subgroups()
    return allreduce_hook(state.subgroup, bucket)
