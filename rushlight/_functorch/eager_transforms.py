"""torch._functorch.eager_transforms: torch.func's derivatives."""

from __future__ import annotations

from typing import Any

from rushlight.func import (
    functionalize as functionalize,
    grad as grad,
    grad_and_value as grad_and_value,
    hessian as hessian,
    jacfwd as jacfwd,
    jacrev as jacrev,
    jvp as jvp,
    linearize as linearize,
    vjp as vjp,
)
from rushlight.func.derivatives import _wrap_tensor_for_grad as _wrap_tensor_for_grad, chosen


def _slice_argnums(args: Any, argnums: Any, as_tuple: bool = True) -> Any:
    """The arguments that a derivative is taken of."""
    found = chosen(argnums, args)
    return (found,) if as_tuple and isinstance(argnums, int) else found
