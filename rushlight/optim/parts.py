"""Functions of torch.optim.optimizer that optimizers of others are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight.utils import _foreach_utils as groups

_foreach_supported_types = [torch.Tensor, torch.nn.Parameter]


def _get_value(x: Any) -> Any:
    """The number of a tensor of one element; a number as it is."""
    return x.item() if isinstance(x, torch.Tensor) else x


_to_scalar = _get_value


def _stack_if_compiling(x: Any) -> Any:
    """The list as it is: programs are recorded, not traced with symbols."""
    return x


def _dispatch_sqrt(x: Any) -> Any:
    """The root of a tensor or of a number."""
    return x.sqrt() if isinstance(x, torch.Tensor) else x**0.5


def _get_scalar_dtype(is_fused: bool | None = None) -> Any:
    """The dtype of a step counter."""
    double = not is_fused and torch.get_default_dtype() == torch.float64
    return torch.float64 if double else torch.float32


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The devices where PyTorch's steps may be captured."""
    return ["cuda", "xpu", "hpu", *(["xla"] if supports_xla else [])]


def _view_as_real(params: list[Any], *state_and_grads: list[Any]) -> None:
    """Replace complex tensors of these lists, and what belongs to them, by their real views."""
    for i, p in enumerate(params):
        if torch.is_complex(p):
            for tensors in (params, *state_and_grads):
                tensors[i] = torch.view_as_real(tensors[i])


def _default_to_fused_or_foreach(
    params: Sequence[Any], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """(fused, foreach): which kinds of step PyTorch would take for these parameters."""
    if differentiable:
        return False, False

    def all_on(devices: list[str], floating: bool) -> bool:
        return all(
            p is None
            or (
                type(p) in _foreach_supported_types
                and p.device.type in devices
                and (not floating or torch.is_floating_point(p))
            )
            for p in params
        )

    fused = use_fused and all_on(groups._get_fused_kernels_supported_devices(), True)
    return fused, not fused and all_on(groups._get_foreach_kernels_supported_devices(), False)


def _device_dtype_check_for_fused(p: Any, cuda_unsupported: bool = False) -> None:
    """RuntimeError for a parameter that no fused step takes."""
    devices = groups._get_fused_kernels_supported_devices()
    if cuda_unsupported:
        devices.remove("cuda")
    if p.device.type not in devices or not torch.is_floating_point(p):
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of supported devices: "
            f"{devices} but {p.dtype} and {p.device.type}"
        )


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[[Any], Any]:
    """Decorator of a step: the step itself."""
    return lambda function: function
