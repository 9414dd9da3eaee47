"""functorch's names of torch.func's transforms, which warn."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn


def _deprecated(name: str) -> Callable[..., Any]:
    place = "torch.vmap" if name == "vmap" else f"torch.func.{name}"
    function = getattr(torch.func, name)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        warn(
            "We've integrated functorch into PyTorch. As the final step of the integration, "
            f"`functorch.{name}` is deprecated as of PyTorch 2.0 and will be deleted in a future version of "
            f"PyTorch >= 2.3. Please use `{place}` instead; see the PyTorch 2.0 release notes and/or the "
            "`torch.func` migration guide for more details https://pytorch.org/docs/main/func.migrating.html",
            FutureWarning,
        )
        return function(*args, **kwargs)

    return called


functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap = map(
    _deprecated, "functionalize grad grad_and_value hessian jacfwd jacrev jvp vjp vmap".split()
)
