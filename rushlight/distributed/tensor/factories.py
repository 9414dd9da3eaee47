"""DTensors that are made in parts: zeros, ones, empty, full, rand and randn; modules of such parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight.distributed.tensor.dtensor import DTensor, _complete, distribute_tensor, make
from rushlight.distributed.tensor.placement_types import Replicate, box, local_part

__all__ = ["distribute_module", "empty", "full", "ones", "rand", "randn", "zeros"]


def _size(size: Any) -> tuple[int, ...]:
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else tuple(size)


def _made(
    fill: Callable[..., Any],
    size: tuple[int, ...],
    mesh: Any,
    placements: Any,
    requires_grad: bool,
    options: dict[str, Any],
) -> DTensor:
    """A DTensor of which each rank makes its part."""
    placements = _complete(mesh, placements, len(size))
    local = fill(box(size, mesh, placements)[1], **options)
    made = make(local, mesh, placements, size)
    made.requires_grad_(requires_grad)
    return made


def _drawn(
    draw: Callable[..., Any],
    size: tuple[int, ...],
    mesh: Any,
    placements: Any,
    requires_grad: bool,
    options: dict[str, Any],
) -> DTensor:
    """A DTensor of random numbers: all ranks draw the whole from the generator's state, which is the same on
    all, so that the tensor does not depend on how it is cut.
    """
    placements = _complete(mesh, placements, len(size))
    made = make(local_part(draw(size, **options), mesh, placements), mesh, placements, size)
    made.requires_grad_(requires_grad)
    return made


def zeros(
    *size: Any,
    requires_grad: bool = False,
    dtype: Any = None,
    layout: Any = torch.strided,
    device_mesh: Any = None,
    placements: Any = None,
) -> DTensor:
    """Zeros in parts; replicated by default."""
    return _made(torch.zeros, _size(size), device_mesh, placements, requires_grad, {"dtype": dtype})


def ones(
    *size: Any,
    dtype: Any = None,
    layout: Any = torch.strided,
    requires_grad: bool = False,
    device_mesh: Any = None,
    placements: Any = None,
) -> DTensor:
    """Ones in parts; replicated by default."""
    return _made(torch.ones, _size(size), device_mesh, placements, requires_grad, {"dtype": dtype})


def empty(
    *size: Any,
    dtype: Any = None,
    layout: Any = torch.strided,
    requires_grad: bool = False,
    device_mesh: Any = None,
    placements: Any = None,
) -> DTensor:
    """Memory in parts; replicated by default."""
    return _made(torch.empty, _size(size), device_mesh, placements, requires_grad, {"dtype": dtype})


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = torch.strided,
    requires_grad: bool = False,
    device_mesh: Any = None,
    placements: Any = None,
) -> DTensor:
    """One number in parts; replicated by default."""
    return _made(
        torch.full,
        _size((size,) if isinstance(size, int) else size),
        device_mesh,
        placements,
        requires_grad,
        {"fill_value": fill_value, "dtype": dtype},
    )


def rand(
    *size: Any,
    requires_grad: bool = False,
    dtype: Any = None,
    layout: Any = torch.strided,
    device_mesh: Any = None,
    placements: Any = None,
) -> DTensor:
    """Uniform numbers in parts; replicated by default. The ranks have the same generator's state."""
    return _drawn(torch.rand, _size(size), device_mesh, placements, requires_grad, {"dtype": dtype})


def randn(
    *size: Any,
    dtype: Any = None,
    layout: Any = torch.strided,
    requires_grad: bool = False,
    device_mesh: Any = None,
    placements: Any = None,
) -> DTensor:
    """Normal numbers in parts; replicated by default. The ranks have the same generator's state."""
    return _drawn(torch.randn, _size(size), device_mesh, placements, requires_grad, {"dtype": dtype})


def distribute_module(
    module: Any,
    device_mesh: Any = None,
    partition_fn: Any = None,
    input_fn: Any = None,
    output_fn: Any = None,
) -> Any:
    """The module, its parameters and buffers DTensors.

    partition_fn(name, submodule, mesh) cuts some of them; the others are replicated. input_fn(module, inputs,
    mesh) and output_fn(module, outputs, mesh) run before and after forward.
    """
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, device_mesh)
        _replicated(part, device_mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(_with_module(input_fn, device_mesh, "input_fn"))
    if output_fn is not None:
        module.register_forward_hook(_with_module(output_fn, device_mesh, "output_fn"))
    return module


def _replicated(module: Any, mesh: Any) -> None:
    """What of a module's own parameters and buffers is not a DTensor yet becomes one."""
    everywhere = [Replicate()] * mesh.ndim
    for key, param in module._parameters.items():
        if param is not None and not isinstance(param, DTensor):
            whole = distribute_tensor(param.data, mesh, everywhere)
            module.register_parameter(key, torch.nn.Parameter(whole, requires_grad=param.requires_grad))
    for key, buffer in module._buffers.items():
        if buffer is not None and not isinstance(buffer, DTensor):
            module._buffers[key] = distribute_tensor(buffer, mesh, everywhere)


def _with_module(function: Any, mesh: Any, name: str) -> Callable[..., Any]:
    """A hook that calls function(module, values, mesh), or function(values, mesh) as of old."""
    many = len(inspect.signature(function).parameters)
    if many == 2:
        warn(
            f"Deprecating {name} that takes two arguments (values, device_mesh), please use "
            f"{name} that takes in (module, values, device_mesh) instead!",
            FutureWarning,
        )
        return lambda module, *values: function(values[-1], mesh)
    if many == 3:
        return lambda module, *values: function(module, values[-1], mesh)
    raise ValueError(f"{name} should take in 3 arguments, but got {many} arguments!")
