"""Gradients of each sample: `call_for_per_sample_grads(module)(x).sum().backward()` fills `grad_sample`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten, tree_map
from rushlight.autograd import Function
from rushlight.func import functional_call, vmap
from rushlight.nn.modules.module import Module


class _Expand(Function):
    """A parameter once for each sample; what comes back is its `grad_sample`."""

    @staticmethod
    def forward(ctx: Any, parameter: torch.Tensor, count: int, scale: int) -> torch.Tensor:
        ctx.parameter, ctx.scale = parameter, scale
        return parameter.expand(count, *parameter.shape)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[None, None, None]:
        found = grads[0] * ctx.scale if ctx.scale != 1 else grads[0]
        known = getattr(ctx.parameter, "grad_sample", None)
        ctx.parameter.grad_sample = found if known is None else known + found
        return None, None, None


def _batch_size(leaves: list[Any], dim: int) -> int:
    sizes = [x.shape[dim] for x in leaves if isinstance(x, torch.Tensor)]
    if not sizes:
        raise RuntimeError(
            "Unable to find a tensor in the passed args and kwargs. They may not be pytree-able and so "
            "ExpandedWeights cannot compute the batch size from the inputs. Please specify it explicitly"
        )
    for size in sizes:
        if size != sizes[0]:
            raise RuntimeError(
                f"When computing batch size, found at least one input with batch size {sizes[0]} and one "
                f"with batch size {size}. Please specify it explicitly using the batch size kwarg in "
                "call_for_per_sample_grads"
            )
    return int(sizes[0])


def _checked(module: Any, batch_size: Any, loss_reduction: str) -> None:
    """RuntimeError where an argument is not what it must be, or gradients of samples are there already."""
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    for weight in module.parameters():
        if getattr(weight, "grad_sample", None) is not None:
            raise RuntimeError(
                "Current Expanded Weights accumulates the gradients, which will be incorrect for multiple "
                f"calls without clearing gradients. Please clear out the grad_sample parameter of {weight} "
                "or post an issue to pytorch/pytorch to prioritize correct behavior"
            )


def call_for_per_sample_grads(
    module: Module, *, batch_size: int | None = None, loss_reduction: str = "sum", batch_first: bool = True
) -> Callable[..., Any]:
    """A function like `module`, whose backward gives each parameter `grad_sample`, of shape
    (batch, *parameter.shape), in the place of `grad`.

    The module is called with one sample at a time, all at once (vmap). batch_size: how many samples there
    are, by default the size of the arguments' first dim (of the second unless `batch_first`).
    loss_reduction: "mean" where the loss is a mean over samples, so that gradients are those of each one's
    own loss. Raises RuntimeError for bad arguments and where a parameter has a `grad_sample` already.
    """
    _checked(module, batch_size, loss_reduction)
    dim = 0 if batch_first else 1

    @wraps(module.forward)
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = flatten((args, kwargs))
        count = batch_size or _batch_size(leaves, dim)
        batched = [isinstance(x, torch.Tensor) and x.dim() > dim and x.shape[dim] == count for x in leaves]
        scale = count if loss_reduction == "mean" else 1
        expanded = {
            name: _Expand.apply(p, count, scale) for name, p in module.named_parameters() if p.requires_grad
        }

        def one(weights: dict[str, torch.Tensor], *samples: torch.Tensor) -> Any:
            rest = iter(samples)
            whole = [next(rest).unsqueeze(dim) if b else x for x, b in zip(leaves, batched, strict=True)]
            given, named = spec.unflatten(whole)
            found = functional_call(module, weights, given, named)
            return tree_map(_single, found)

        def _single(found: Any) -> Any:
            return found.squeeze(dim) if isinstance(found, torch.Tensor) else found

        inputs = [x for x, b in zip(leaves, batched, strict=True) if b]
        run = vmap(one, in_dims=(0, *(dim for _ in inputs)), out_dims=dim, randomness="different")
        return run(expanded, *inputs)

    return call
