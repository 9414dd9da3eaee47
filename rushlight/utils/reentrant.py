"""checkpoint(use_reentrant=True): a Function whose backward calls the function again, and its backward."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import rushlight as torch
from rushlight._engine.autograd.hooks import current_run
from rushlight._engine.core.callers import warn
from rushlight._engine.core.recording import backward_only
from rushlight.utils.ambient import Ambient


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors of a tuple as leaves of the same data; other values as they are."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}"
        )
    return tuple(
        x.detach().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x for x in inputs
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn where no input requires gradients: a reentrant checkpoint gives none then."""
    if not any(isinstance(x, torch.Tensor) and x.requires_grad for x in inputs):
        warn("None of the inputs have requires_grad=True. Gradients will be None")


class CheckpointFunction(torch.autograd.Function):
    """apply(function, preserve_rng_state, *args): function(*args) unrecorded, and recorded in backward."""

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        """Call the function; keep its arguments and what surrounds it."""
        check_backward_validity(args)
        backward_only("a reentrant checkpoint serves backward() alone")
        ctx.run_function, ctx.ambient = run_function, Ambient(preserve_rng_state)
        ctx.places = [i for i, x in enumerate(args) if isinstance(x, torch.Tensor)]
        ctx.inputs = [None if isinstance(x, torch.Tensor) else x for x in args]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Gradients of the arguments; those of parameters inside go to their `.grad`."""
        run = current_run()
        if run is not None and run.partial:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an "
                "`inputs` parameter to .backward(). To resolve this error, you can either set "
                "use_reentrant=False, or call .backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for place, t in zip(ctx.places, ctx.saved_tensors, strict=True):
            inputs[place] = t
        leaves = detach_variable(tuple(inputs))
        with ctx.ambient.again(), torch.enable_grad():
            outputs = ctx.run_function(*leaves)
        outputs = (outputs,) if isinstance(outputs, torch.Tensor) else outputs
        flows = [
            (o, g)
            for o, g in zip(outputs, grads, strict=True)
            if isinstance(o, torch.Tensor) and o.requires_grad
        ]
        if not flows:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        torch.autograd.backward([o for o, _ in flows], [g for _, g in flows])
        return None, None, *[x.grad if isinstance(x, torch.Tensor) else None for x in leaves]
