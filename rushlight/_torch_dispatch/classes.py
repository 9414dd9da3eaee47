"""Classes of tensors with a `__torch_dispatch__`: wrappers, which have a shape and no memory, and
subclasses.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.device import device
from rushlight._engine.core.pytree import flatten
from rushlight._engine.core.services import service
from rushlight._engine.dispatch import interpreters
from rushlight._engine.dispatch.interpreters import SIMPLE
from rushlight._engine.dispatch.overrides import place_by_class
from rushlight._engine.tensors.gradient import Gradient
from rushlight._engine.tensors.kind import Kind
from rushlight._engine.tensors.meta import meta_array
from rushlight._engine.tensors.tensor import Tensor
from rushlight._torch_dispatch import delivery


def concerned(values: Any) -> list[Any]:
    """One instance of each class among arguments that hears ops below autograd: functional tensors, then
    subclasses first.
    """
    found: list[Any] = []
    _gather(values, found)
    if len(found) > 1:
        found.sort(key=lambda t: not getattr(t, "_before_modes", False))
    return found


def _gather(value: Any, found: list[Any]) -> None:
    cls = value.__class__
    if cls is tuple or cls is list:
        for item in value:
            _gather(item, found)
    elif cls is dict:
        for item in value.values():
            _gather(item, found)
    elif cls in interpreters.BELOW:
        if not any(type(f) is cls for f in found):
            place_by_class(found, value)
    elif cls not in SIMPLE and not isinstance(value, Tensor):
        for item in flatten(value)[0]:  # containers of classes of their own
            if item is not value:
                _gather(item, found)


class Classes:
    """The first of the classes of `found` that answers; mode: what was asked before, and did not answer;
    told: what the op is called where nobody answers.
    """

    def __init__(self, found: list[Any], mode: Any = None, told: str = "") -> None:
        self._told = told
        self._types: tuple[Any, ...] = tuple(map(type, found))
        self._mode = mode

    def __call__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The op that the classes are concerned with."""
        for cls in self._types:
            before, interpreters.CLASSES.asked = interpreters.CLASSES.asked, True
            try:
                result = cls.__torch_dispatch__(op, self._types, args, kwargs)
            finally:
                interpreters.CLASSES.asked = before
            if result is not NotImplemented:
                return result
        asked = [f"  - mode object {self._mode}"] * (self._mode is not None)
        shown = "\n".join(asked + [f"  - tensor subclass {cls}" for cls in self._types])
        told = self._told or f"torch._ops.{op}"
        raise TypeError(
            f"Multiple dispatch failed for '{told}'; all __torch_dispatch__ handlers returned "
            f"NotImplemented:\n\n{shown}\n\nFor more information, try re-running with "
            "TORCH_LOGS=not_implemented"
        )

    @staticmethod
    def further(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An op of what the classes were given or have made, which may be of none of them: an op that is
        told to the classes of its own arguments.
        """
        found = concerned((args, kwargs))
        return Classes(found)(op, args, kwargs) if found else op(*args, **kwargs)


def answered(row: Any, direct: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The row by the classes among its arguments; by `direct` where there are none."""
    found = concerned((args, kwargs))
    if not found:
        return direct(*args, **kwargs)

    def again(body: Callable[..., Any], *given: Any, **named: Any) -> Any:
        return body(*given, **named)

    return delivery.hear(
        Classes(found), again, row, direct, args, dict(kwargs), any(item._kind.on_meta for item in found)
    )


@lru_cache(None)
def unreal(dtype: dt.dtype, where: str) -> Kind:
    """The Kind of tensors that say they lie on a device, and have no memory."""
    made: Kind = object.__new__(Kind)
    made.dtype, made.device, made.np = dtype, device(where), dtype.np
    made.conj = made.neg = made.lazy = False
    made.on_meta = made.special = made.off_cpu = True
    made.backend = None
    made.plain = made
    return made


def make_wrapper_subclass(
    cls: type,
    size: Any,
    strides: Any = None,
    storage_offset: Any = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: Any = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    _extra_dispatch_keys: Any = None,
    storage_size: Any = None,
) -> Any:
    """An instance of `cls`, a subclass with `__torch_dispatch__`, of this size, dtype and device, without
    memory.
    """
    if not issubclass(cls, Tensor):
        raise TypeError("cls must be a subclass of Tensor")
    if cls not in interpreters.BELOW:
        raise RuntimeError(f"{cls.__name__}: Expected subclass of Tensor to define __torch_dispatch__")
    import rushlight as torch

    dtype = torch.get_default_dtype() if dtype is None else dtype
    sizes = tuple(int(n) for n in size)
    given = None if strides is None else tuple(int(n) for n in strides)
    made: Any = object.__new__(cls)
    made._array = meta_array(sizes, dtype.np, given, int(storage_offset or 0))
    made._kind = unreal(
        dtype, str(torch.device(device) if device is not None else torch.get_default_device())
    )
    made._grad_node, made._output_nr, made._storage = None, 0, None
    if requires_grad:
        Gradient.requires_grad_(made)
    if dispatch_sizes_strides_policy is not None or dispatch_device or dispatch_layout:
        service("what an instance answers itself")(
            made, dispatch_sizes_strides_policy, dispatch_device, dispatch_layout
        )
    return made
