"""torch._functorch.eager_transforms: torch.func's derivatives."""

from __future__ import annotations

from typing import Any

from rushlight.func import functionalize as functionalize
from rushlight.func import grad as grad
from rushlight.func import grad_and_value as grad_and_value
from rushlight.func import hessian as hessian
from rushlight.func import jacfwd as jacfwd
from rushlight.func import jacrev as jacrev
from rushlight.func import jvp as jvp
from rushlight.func import linearize as linearize
from rushlight.func import vjp as vjp
from rushlight.func.derivatives import chosen


def _slice_argnums(args: Any, argnums: Any, as_tuple: bool = True) -> Any:
    """The arguments that a derivative is taken of."""
    found = chosen(argnums, args)
    return (found,) if as_tuple and isinstance(argnums, int) else found
