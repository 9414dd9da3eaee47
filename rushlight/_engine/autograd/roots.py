"""Where a backward pass begins: tensors, and the gradients that are given of them, or implied."""

from __future__ import annotations

from functools import cache, partial
from typing import Any, cast

import numpy as np

from rushlight._engine.autograd import hooks
from rushlight._engine.autograd.node import GradientEdge, Node
from rushlight._engine.core.recording import TAPE, constant
from rushlight._engine.tensors.geometry import lookup_function, preserve_format
from rushlight._engine.tensors.tensor import BELOW, Tensor, wrap

_one = cache(partial(np.ones, ()))


def _implicit(t: Tensor) -> Tensor:
    """The gradient of a scalar that is not given."""
    heard = hooks.LISTENING or t.__class__ in BELOW
    known = getattr(TAPE[-1], "known_one", None) if TAPE and not heard else None
    if known and (found := known(t)) is not None:
        return found  # type: ignore[no-any-return]
    layout = t._geometry
    if layout.size != 1:
        raise RuntimeError(
            "grad can be implicitly created only for scalar outputs; call backward(gradient=...) with a "
            f"tensor of shape {tuple(layout.shape)}, or reduce first, with .sum() or .mean()"
        )
    if not t._kind.dtype.is_floating_point:
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {t._kind.dtype}"
        )
    if heard or t._kind.backend is not None:
        return lookup_function("ones_like")(t, **({"memory_format": preserve_format} if heard else {}))
    if TAPE and not layout.ndim and hasattr(TAPE[-1], "one"):
        return cast("Tensor", TAPE[-1].one(t, layout.dtype))
    one = _one(layout.dtype).copy() if not layout.ndim else np.ones(layout.shape, layout.dtype)
    return wrap(constant(one), t._kind)


def root(t: Tensor, grad: Tensor | None, create: bool) -> tuple[Node, int, Tensor]:
    """Where a pass begins: a node, the number of its result, and that result's gradient.

    RuntimeError, in PyTorch's words, where there is none, or a gradient does not fit.
    """
    # Classes of ours may have another view of a gradient, see `shown`: here it is the graph's again.
    if t.__class__ is not Tensor and hasattr(t.__class__, "_graph_s_gradient"):
        t, grad = t.__class__._graph_s_gradient(t, grad)
    if t._grad_node is None:
        raise RuntimeError(
            "element 0 of tensors does not require grad and does not have a grad_fn; nothing "
            "in its computation had requires_grad=True (or it ran under no_grad)"
        )
    if isinstance(t, GradientEdge):
        if grad is None:
            raise RuntimeError(
                "grad can be implicitly created only for scalar outputs; the gradient of a "
                "GradientEdge must be given"
            )
        return t._grad_node, t._output_nr, grad if create else grad.detach()
    if grad is None:
        return t._grad_node, t._output_nr, _implicit(t)
    if grad._geometry.shape != t._geometry.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[0] has a shape of {grad.shape} and "
            f"output[0] has a shape of {t.shape}."
        )
    if grad._kind.dtype.is_complex != t._kind.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch "
            f"in dtype: grad_output[0] has a dtype of {grad.dtype} and output[0] has a dtype of {t.dtype}."
        )
    if grad._kind.dtype is not t._kind.dtype:
        grad = grad.to(t._kind.dtype)
    return t._grad_node, t._output_nr, grad if create else grad.detach()


def for_each(value: Any, count: int) -> list[Any]:
    """Gradients as they are given, one for each of `count` tensors; RuntimeError for another number."""
    if value is None:
        return [None] * count
    if isinstance(value, (list, tuple)):
        if len(value) != count:
            raise RuntimeError(f"got {count} tensors and {len(value)} gradients")
        return list(value)
    return [value]
