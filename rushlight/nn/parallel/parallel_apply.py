"""Modules that run side by side on several devices (torch.nn.parallel.parallel_apply)."""

from __future__ import annotations

from typing import Any

from rushlight.nn.parallel.comm import _NONE

__all__ = ["get_a_var", "parallel_apply"]


def get_a_var(obj: Any) -> Any:
    """A tensor that nested containers hold, or None."""
    import rushlight as torch

    if isinstance(obj, torch.Tensor):
        return obj
    inner = obj.items() if isinstance(obj, dict) else obj if isinstance(obj, (list, tuple)) else ()
    return next((found for one in inner if (found := get_a_var(one)) is not None), None)


def parallel_apply(modules: Any, inputs: Any, kwargs_tup: Any = None, devices: Any = None) -> list[Any]:
    """Refused as by PyTorch without a GPU: RuntimeError; AssertionError where the numbers differ."""
    if len(modules) != len(inputs):
        raise AssertionError(
            f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}"
        )
    for name, given in (("kwargs_tup", kwargs_tup), ("devices", devices)):
        if given is not None and len(given) != len(modules):
            raise AssertionError(
                f"The number of modules {len(modules)} is not equal to the number of {name} {len(given)}"
            )
    raise RuntimeError(_NONE)
