"""Moving and casting a whole module: to(), half(), cuda(), type(), share_memory(), ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import rushlight as torch
from rushlight.__future__ import (
    get_overwrite_module_params_on_conversion,
    get_swap_module_params_on_conversion,
)
from rushlight._engine.core.callers import warn
from rushlight._engine.dispatch.methods import _to_arguments
from rushlight.nn.modules.base.tables import Tables
from rushlight.types import Device


class Conversion(Tables):
    """The part of Module that replaces the data of its parameters and buffers."""

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Self:
        """Put every parameter, its gradient and every buffer through `fn`.

        A Parameter stays the same object (optimizers hold it) unless its data cannot be exchanged,
        as between a real device and "meta".
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        overwrite, swap = get_overwrite_module_params_on_conversion(), get_swap_module_params_on_conversion()
        for name, param in self._parameters.items():
            if param is None:
                continue
            if swap:
                _swapped(param, fn, f"{type(self).__name__}.{name}")
            else:
                self._parameters[name] = _converted(param, fn, overwrite)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move and cast, in place: to(device, dtype), to(dtype), to(tensor), to(memory_format=...).

        A dtype (floating point or complex, else TypeError) casts only the floating-point and
        complex members; `memory_format` rearranges those with 4 or 5 dims.
        """
        by_device = len(args) > 1 and not isinstance(args[0], (torch.dtype, torch.Tensor))
        if by_device and not (args[1] is None or isinstance(args[1], torch.dtype)):
            raise TypeError(
                "to() received an invalid combination of arguments - got "
                f"({', '.join(type(a).__name__ for a in args)}), but expected a device and then a dtype"
            )
        if "tensor" in kwargs:
            kwargs["other"] = kwargs.pop("tensor")
        device, dtype, copy, memory_format = _to_arguments(args, kwargs)
        if copy:
            raise RuntimeError(".to() does not accept copy argument; use copy.deepcopy(module).to()")
        if dtype is not None:
            if not isinstance(dtype, torch.dtype):
                raise TypeError(
                    "to() received an invalid combination of arguments - got (dtype="
                    f"{type(dtype).__name__}), but expected a torch.dtype"
                )
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(
                    "nn.Module.to only accepts floating point or complex dtypes, but "
                    f"got desired dtype={dtype}"
                )
            if dtype.is_complex:
                warn(
                    "Complex modules are a new feature under active development whose "
                    "design may change, and some modules might not work as expected "
                    "when using complex tensors as parameters or buffers."
                )

        def convert(t: Any) -> Any:
            wanted = dtype if t.is_floating_point() or t.is_complex() else None
            if memory_format is not None and t.dim() in (4, 5):
                return t.to(device, wanted, memory_format=memory_format)
            return t.to(device, wanted)

        return self._apply(convert)

    def to_empty(self, *, device: Device, recurse: bool = True) -> Self:
        """Move to a device without copying the values: the memory there is uninitialised."""
        return self._apply(lambda t: torch.empty_like(t, device=device), recurse=recurse)

    def type(self, dst_type: Any) -> Self:
        """Cast all parameters and buffers, also integer ones."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """Cast the floating-point members to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Cast the floating-point members to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        """Cast the floating-point members to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Self:
        """Cast the floating-point members to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def cuda(self, device: Device = None) -> Self:
        """Move to a GPU."""
        return self._apply(lambda t: t.cuda(device))

    def ipu(self, device: Device = None) -> Self:
        """Move to an IPU."""
        return self._apply(lambda t: t.ipu(device))

    def xpu(self, device: Device = None) -> Self:
        """Move to an XPU."""
        return self._apply(lambda t: t.xpu(device))

    def mtia(self, device: Device = None) -> Self:
        """Move to an MTIA device."""
        return self._apply(lambda t: t.mtia(device))

    def cpu(self) -> Self:
        """Move to the CPU."""
        return self._apply(lambda t: t.cpu())

    def share_memory(self) -> Self:
        """Move the data to shared memory, for other processes."""
        return self._apply(lambda t: t.share_memory_())


def _swapped(param: Any, fn: Callable[[Any], Any], name: str) -> None:
    """Make the parameter, and its gradient, all that `fn` makes of them."""
    # of what few programs ask for
    from rushlight.utils import swap_tensors

    grad = param.grad
    with torch.no_grad():
        converted = torch.nn.Parameter(fn(param), requires_grad=param.requires_grad)
    param.grad = None  # it is the parameter's of before
    try:
        swap_tensors(param, converted)
    except Exception as error:
        param.grad = grad
        raise RuntimeError(f"_apply(): Couldn't swap {name}") from error
    if grad is not None:
        with torch.no_grad():
            new = fn(grad).requires_grad_(grad.requires_grad)
        try:
            swap_tensors(grad, new)
        except Exception as error:
            raise RuntimeError(f"_apply(): Couldn't swap {name}.grad") from error
        param.grad = grad


def _converted(param: Any, fn: Callable[[Any], Any], overwrite: bool) -> Any:
    with torch.no_grad():
        data = fn(param)
    kept, grad = not overwrite and _exchangeable(param, data), param.grad
    if kept:
        # The gradient's dtype is checked against the parameter's when it is set.
        param.grad = None
        param.data = data
        result = param
    else:
        result = torch.nn.Parameter(data, param.requires_grad)
    if grad is not None:
        with torch.no_grad():
            converted = fn(grad)
        if kept and _exchangeable(grad, converted):
            grad.data = converted
            result.grad = grad
        else:
            result.grad = converted.requires_grad_(grad.requires_grad)
    return result


def _exchangeable(old: Any, new: Any) -> bool:
    """Whether a tensor can take another's data."""
    return bool(old.is_meta == new.is_meta and old.layout == new.layout)
