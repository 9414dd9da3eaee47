"""An optimizer of parameters that lie on several workers."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import Any

from rushlight.distributed import autograd
from rushlight.distributed.rpc import api

__all__ = ["DistributedOptimizer"]
_one_at_a_time = threading.Lock()  # of a worker's optimizers: parameters have one gradient


class _LocalOptimizer:
    """An optimizer of the parameters of one worker."""

    def __init__(self, optim_cls: Any, local_params_rref: list[Any], *args: Any, **kwargs: Any) -> None:
        self._local_params = [rref.local_value() for rref in local_params_rref]
        self.optim = optim_cls(self._local_params, *args, **kwargs)

    def step(self, autograd_ctx_id: int) -> None:
        """Step with a context's gradients."""
        found = autograd.get_gradients(autograd_ctx_id)
        with _one_at_a_time:
            for parameter in self._local_params:
                parameter.grad = found.get(parameter)
            self.optim.step()


def _new_local_optimizer(optim_cls: Any, local_params_rref: list[Any], *args: Any, **kwargs: Any) -> Any:
    return api.RRef(_LocalOptimizer(optim_cls, local_params_rref, *args, **kwargs))


def _local_optimizer_step(local_optim_rref: Any, autograd_ctx_id: int) -> None:
    local_optim_rref.local_value().step(autograd_ctx_id)


def _wait_for_all(futures: list[Any]) -> list[Any]:
    """The values of all; when all have come, what went wrong with the last one that did."""
    results: list[Any] = []
    failed: Exception | None = None
    for future in futures:
        try:
            results.append(future.wait())
        except Exception as error:
            failed = error
    if failed is not None:
        raise failed
    return results


class DistributedOptimizer:
    """An optimizer for each worker of the parameters that `params_rref` refers to.

    optimizer_class, args, kwargs: as each worker makes it. step(context_id) takes the gradients of a context
    of torch.distributed.autograd; a worker's steps are made one after the other.
    """

    def __init__(self, optimizer_class: Any, params_rref: list[Any], *args: Any, **kwargs: Any) -> None:
        by_worker: dict[Any, list[Any]] = defaultdict(list)
        for reference in params_rref:
            by_worker[reference.owner()].append(reference)
        self.is_functional_optim = False
        self.remote_optimizers = _wait_for_all(
            [
                api.rpc_async(
                    worker, _new_local_optimizer, args=(optimizer_class, references, *args), kwargs=kwargs
                )
                for worker, references in by_worker.items()
            ]
        )

    def step(self, context_id: int) -> None:
        """Let all workers step; returns when they have."""
        autograd._is_valid_context(context_id)
        _wait_for_all(
            [
                api.rpc_async(one.owner(), _local_optimizer_step, args=(one, context_id))
                for one in self.remote_optimizers
            ]
        )
