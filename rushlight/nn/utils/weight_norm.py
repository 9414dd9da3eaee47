"""Weight normalisation by a hook (deprecated: see parametrizations.weight_norm)."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight.nn.parameter import Parameter, UninitializedParameter


def check_new(module: Any, kind: Any, name: str) -> None:
    """RuntimeError where a parameter has this normalisation, ValueError where it has no shape."""
    what = "weight" if kind is WeightNorm else "spectral"
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, kind) and hook.name == name:
            raise RuntimeError(f"Cannot register two {what}_norm hooks on the same parameter {name}")
    if isinstance(module._parameters.get(name), UninitializedParameter):
        raise ValueError(
            f"The module passed to `{kind.__name__}` can't have uninitialized parameters."
            f" Make sure to run the dummy forward before applying {what} normalization"
        )


def undo(module: Any, kind: Any, name: str) -> None:
    """Take a normalisation off a parameter; ValueError where there is none."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return
    what = "weight" if kind is WeightNorm else "spectral"
    raise ValueError(f"{what}_norm of '{name}' not found in {module}")


def norm_except_dim(v: Any, dim: int | None) -> Any:
    """The 2-norm over all dims but one, which stay with size 1; over all dims, a scalar."""
    if dim is None or dim == -1:
        return v.norm()
    dims = [d for d in range(v.dim()) if d != dim % v.dim()]
    return torch.linalg.vector_norm(v, 2, dims, keepdim=True) if dims else v.abs()


def scaled(v: Any, g: Any, dim: int | None) -> Any:
    """g * v / ||v||."""
    return v * (g / norm_except_dim(v, dim))


class WeightNorm:
    """Computes the weight from its length g and direction v before each forward."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Any:
        """g * v / ||v||."""
        return scaled(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    @staticmethod
    def apply(module: Any, name: str, dim: int | None) -> WeightNorm:
        """Replace a parameter by its length and direction; RuntimeError where that is done."""
        check_new(module, WeightNorm, name)
        fn = WeightNorm(name, dim)
        weight = getattr(module, name)
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, fn.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, fn.compute_weight(module))
        module.register_forward_pre_hook(fn)
        return fn

    def remove(self, module: Any) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Any, inputs: Any) -> None:
        """Set the weight from length and direction before each forward, as a hook."""
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Replace a parameter by `name`_g (length, one for each index of `dim`) and `name`_v."""
    warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of "
        "`torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Undo weight_norm; ValueError where there is none."""
    undo(module, WeightNorm, name)
    return module
