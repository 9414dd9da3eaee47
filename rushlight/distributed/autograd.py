"""torch.distributed.autograd: gradients through calls of functions on other workers."""

from __future__ import annotations

from typing import Any

from rushlight.distributed.rpc.gradients import (
    DistAutogradContext,
    backward,
    contexts,
    get_gradients,
)

__all__ = ["DistAutogradContext", "backward", "context", "get_gradients", "is_available"]


def is_available() -> bool:
    """True: gradients through remote calls are there."""
    return True


class context:
    """What is called in it can be differentiated: `with context() as n`, then backward(n, [loss])."""

    def __enter__(self) -> int:
        self.autograd_context = contexts.new()
        return self.autograd_context._context_id()

    def __exit__(self, *error: Any) -> None:
        contexts.release(self.autograd_context._context_id())


def _new_context() -> DistAutogradContext:
    return contexts.new()


def _release_context(context_id: int) -> None:
    contexts.release(context_id)


def _retrieve_context(context_id: int) -> DistAutogradContext:
    return contexts.find(context_id)


def _is_valid_context(context_id: int) -> None:
    contexts.find(context_id)


def _current_context() -> DistAutogradContext:
    found = contexts.current()
    if found is None:
        raise RuntimeError(
            "Current thread doesn't have a valid autograd context. Please wrap your code using: `with "
            "torch.distributed.autograd.context() as context_id` to generate a valid context"
        )
    return found


def _has_valid_context() -> bool:
    return contexts.current() is not None


def _get_max_id() -> int:
    return (contexts.worker << 48) + (1 << 48) - 1


def _init(worker_id: int) -> None:
    contexts.begin(worker_id)


def _get_debug_info() -> dict[str, str]:
    """Figures, as text."""
    return {
        "num_current_backward_passes": str(contexts.passing()),
        "num_autograd_contexts": str(contexts.count()),
    }
