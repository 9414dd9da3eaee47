"""Tensors from Python data: torch.tensor, as_tensor, asarray, frombuffer, Tensor.new_tensor.

The rules of inference are tensors/construction/from_data.py's; here are devices, sharing and autograd.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight._engine.core.callers import warn
from rushlight._engine.core.device import Default, device as Device
from rushlight._engine.core.dtype import dtype as Dtype, get_default_dtype, int64
from rushlight._engine.core.errors import warn_once
from rushlight._engine.core.recording import TAPE, constant
from rushlight._engine.core.services import service
from rushlight._engine.lazy import package
from rushlight._engine.tensors.construction.from_data import from_buffer, infer
from rushlight._engine.tensors.construction.interop import from_dlpack, from_numpy, lifted
from rushlight._engine.tensors.construction.placement import (
    checked_device,
    checked_dtype,
    checked_flag,
    refuse_placement,
    track,
)
from rushlight._engine.tensors.foreign import foreign, handed_on
from rushlight._engine.tensors.of_class import HEARD
from rushlight._engine.tensors.tensor import Tensor, alias, storage, wrap

_COPY_ADVICE = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach()."
    "clone() or sourceTensor.detach().clone().requires_grad_(True), rather than {}."
)


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A new leaf with a copy of data: a number, nested sequences, an array, a tensor.

    The dtype is inferred unless given: bool, int64, the default floating dtype or its complex
    twin; arrays and tensors keep theirs. Raises ValueError for ragged sequences, TypeError or
    RuntimeError for what is no number.
    """
    if HEARD and _heard():
        more = {"requires_grad": requires_grad, "pin_memory": pin_memory}
        return _taken_over(tensor, data, dtype, device, **more)
    if dtype is not None and dtype.__class__ is not Dtype:
        if foreign(dtype):
            return _taken_over(tensor, data, dtype, device, requires_grad=requires_grad)
        dtype = checked_dtype("tensor", dtype)
    if device is not None or pin_memory:
        if foreign(device):
            return _taken_over(tensor, data, dtype, device, requires_grad=requires_grad)
        device = checked_device("tensor", device)
        refuse_placement(device, pin_memory=pin_memory)
    made = _copied("torch.tensor(sourceTensor)", data, dtype, device)
    if requires_grad is False:
        return made
    return track(made) if checked_flag("tensor", "requires_grad", requires_grad) else made


def _heard() -> bool:
    """Whether a mode of a program's own is to be asked first."""
    found: bool = service("whether classes take a call over")(())
    return found


def _taken_over(function: Callable[..., Tensor], data: Any, dtype: Any, device: Any, **more: Any) -> Tensor:
    """What a mode, or the class of a dtype or device makes of the call, given what is not its default."""
    options = {"dtype": dtype, "device": device, **more}
    given = {name: v for name, v in options.items() if v is not None and v is not False}
    made: Tensor = handed_on(function, (dtype, device), data, **given)
    return made


def _is_storage(data: Any) -> bool:
    return hasattr(data, "untyped") and hasattr(data, "nbytes")


def _of_storage(data: Any, dtype: Dtype | None) -> Tensor:
    """A tensor on a storage's memory; RuntimeError for a typed storage of another dtype.

    dtype: the default dtype unless given; for a storage of bytes int64.
    """
    own = getattr(data, "dtype", None)
    wanted = dtype or (get_default_dtype() if own is not None else int64)
    if own is not None and own is not wanted:
        raise RuntimeError(
            f"Expected a Storage of type {wanted.legacy} or an UntypedStorage, but got {own.legacy}"
        )
    empty = wrap(np.empty(0, wanted.np))
    return (empty if data.device.type == "cpu" else empty.to(data.device)).set_(data.untyped())


def _copied(advised: str, data: Any, dtype: Dtype | None, where: Device | None) -> Tensor:
    if not isinstance(data, Tensor):
        if _is_storage(data):
            return _moved(_of_storage(data, dtype), where)
        if TAPE and hasattr(TAPE[-1], "of_numbers"):  # these may be numbers of the program's inputs
            made = TAPE[-1].of_numbers(data, dtype)
            if made is not None:
                return _moved(made, where)
        return _moved(wrap(constant(infer(data, dtype))), where)
    warn(_COPY_ADVICE.format(advised), UserWarning)
    kept = alias(data)
    return kept.to(
        kept.device if where is None else where,
        kept.dtype if dtype is None else dtype,
        copy=True,
    )


def _moved(t: Tensor, where: Device | None) -> Tensor:
    if where is None:
        where = Default.value
    return lifted(t if where.type == "cpu" else t.to(where))


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """data as a tensor, sharing its memory (and graph) where no conversion is needed."""
    if foreign(dtype) or foreign(device) or (HEARD and _heard()):
        return _taken_over(as_tensor, data, dtype, device)
    of, where = checked_dtype("as_tensor", dtype), checked_device("as_tensor", device)
    refuse_placement(where)
    if isinstance(data, Tensor):
        return _converted(data, of, where, None)
    if isinstance(data, np.ndarray):
        found = _moved(from_numpy(data), where)
        return found if of is None else found.to(of)
    made = _of_storage(data, of) if _is_storage(data) else wrap(constant(infer(data, of)))
    return _moved(made, where)


def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """A new leaf with a copy of data, in this tensor's dtype and on its device."""
    of, where = checked_dtype("new_tensor", dtype), checked_device("new_tensor", device)
    refuse_placement(where, layout, pin_memory)
    of, where = of or self.dtype, where or self.device
    made = _copied("tensor.new_tensor(sourceTensor)", data, of, where)
    return track(made) if requires_grad else made


# --- asarray --------------------------------------------------------------------------------------


def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """obj as a tensor: a tensor, array, buffer, number or sequence.

    copy: None shares memory where it can, False insists (ValueError where it cannot), True copies.
    requires_grad: None keeps a tensor's own; other objects do not require grad.
    """
    if foreign(dtype) or foreign(device) or (HEARD and _heard()):
        return _taken_over(asarray, obj, dtype, device, copy=copy, requires_grad=requires_grad)
    of, where = checked_dtype("asarray", dtype), checked_device("asarray", device)
    refuse_placement(where)
    found = _aliased(obj, of, copy)
    if found is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor: leave copy=False away.")
        made = _moved(wrap(constant(infer(obj, of))), where)
    else:
        made = _converted(found, of, where, copy)
    return _with_grad(made, obj, requires_grad)


for _function in (tensor, as_tensor, asarray):  # graphs spell them so
    _function.__module__ = package()


def _aliased(obj: Any, of: Dtype | None, copy: bool | None) -> Tensor | None:
    """A tensor on the object's own memory, or None."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, np.generic):
        if copy is False:
            raise RuntimeError(
                "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray."
            )
        return wrap(infer(obj))
    if isinstance(obj, np.ndarray):
        return from_numpy(obj)
    if type(obj).__name__ == "PyCapsule":
        return from_dlpack(obj)
    if _is_storage(obj):
        return _of_storage(obj, of)
    if hasattr(type(obj), "__dlpack__"):
        return from_numpy(np.from_dlpack(obj))
    try:
        view = memoryview(obj)
    except TypeError:
        return None
    return _buffer_tensor(view, of or get_default_dtype())


def _converted(found: Tensor, of: Dtype | None, where: Device | None, copy: bool | None) -> Tensor:
    of = of or found.dtype
    if where is None:
        where = found.device if Default.value.type == "cpu" else Default.value
    if copy is False and (of is not found.dtype or where != found.device):
        what, old, new = "dtype", found.dtype.legacy, of.legacy
        if of is found.dtype:
            what, old, new = "device", str(found.device), str(where)
        raise ValueError(f"can't alias tensor with {what} '{old}' into {what} '{new}'.")
    return found.to(where, of, copy=bool(copy))


def _with_grad(made: Tensor, obj: Any, requires_grad: bool | None) -> Tensor:
    if requires_grad is None:
        if isinstance(obj, Tensor) and obj.requires_grad:
            warn_once(
                "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of "
                "False. Pass requires_grad=False explicitly to get the old behavior and silence this warning."
            )
        return made
    if made.requires_grad == requires_grad:
        return made
    if not made.is_leaf:
        return made.detach()
    return track(made) if requires_grad else made.requires_grad_(False)


# --- buffers --------------------------------------------------------------------------------------


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A 1-d tensor on the memory of a Python buffer; writes to either are seen in both.

    count: elements to take, all when negative.  offset: bytes to skip.
    """
    made = _buffer_tensor(buffer, checked_dtype("frombuffer", dtype), count, offset)
    return track(made) if requires_grad else made


def from_file(
    filename: str,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: Any = None,
    requires_grad: bool = False,
    **_: Any,
) -> Tensor:
    """A 1-d tensor of `size` elements over a file's bytes.

    shared: what is written to the tensor is written to the file, which is made or made longer. False by
    default; then it is a RuntimeError if the file is not there or too short.
    """
    of = checked_dtype("from_file", dtype) or get_default_dtype()
    try:
        with open(filename, "ab" if shared else "rb") as file:
            if shared and file.tell() < size * of.itemsize:
                file.truncate(size * of.itemsize)
        mapped = (
            np.memmap(filename, of.np, "r+" if shared else "c", shape=size) if size else np.empty(0, of.np)
        )
    except (OSError, ValueError, OverflowError) as error:
        raise RuntimeError(f"unable to open file <{filename}> as {size} elements: {error}") from None
    return track(from_numpy(mapped)) if requires_grad else from_numpy(mapped)


def _buffer_tensor(buffer: Any, of: Any, count: int = -1, offset: int = 0) -> Tensor:
    array = from_buffer(buffer, of, count, offset)
    made = wrap(array)
    storage(made).foreign, storage(made).lent = True, array
    return made
