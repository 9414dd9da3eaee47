"""functorch's names of what torch.func has now, which warn."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._functorch import make_functional as modules


def _deprecated(name: str, place: str = "", function: Any = None) -> Callable[..., Any]:
    place = place or f"torch.func.{name}"
    function = function or getattr(torch.func, name)

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


vmap = _deprecated("vmap", "torch.vmap")
functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp = map(
    _deprecated, "functionalize grad grad_and_value hessian jacfwd jacrev jvp vjp".split()
)
_CALL, _STACK = "torch.func.functional_call", "torch.func.stack_module_state"
make_functional = _deprecated("make_functional", _CALL, modules.make_functional)
make_functional_with_buffers = _deprecated(
    "make_functional_with_buffers", _CALL, modules.make_functional_with_buffers
)
combine_state_for_ensemble = _deprecated(
    "combine_state_for_ensemble", _STACK, modules.combine_state_for_ensemble
)
