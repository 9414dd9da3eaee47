"""DeviceArray: memory of a device as the engine holds it in `Tensor._array`.

It has what the engine asks of an array's geometry, NumPy's names for it, and no elements: NumPy cannot read
it. Where NumPy's own functions or operators meet one, they are called on the device (`Device.call`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rushlight._engine.core.device import device as torch_device
from rushlight._engine.core.layout import contiguous_strides
from rushlight._engine.tensors.kind import backend_of

if TYPE_CHECKING:  # a device makes its arrays
    from rushlight._engine.devices.cuda.allocator import Handle
    from rushlight._engine.devices.cuda.device import Device

_Mixin: Any = np.lib.mixins.NDArrayOperatorsMixin
Ints = tuple[int, ...]
BYTE = np.dtype(np.uint8)
Array = np.ndarray[Any, Any]


class Flags(NamedTuple):
    """What NumPy's `flags` tell, of a DeviceArray: whether it lies row by row, column by column, and is no
    view.
    """

    c_contiguous: bool
    f_contiguous: bool
    owndata: bool
    writeable: bool = True
    aligned: bool = True

    @property
    def contiguous(self) -> bool:
        """As c_contiguous."""
        return self.c_contiguous


class Form:
    """A geometry; there is one object for each, so that plans are found by it."""

    __slots__ = ("dtype", "own", "shape", "size", "strides", "view")

    def __init__(self, shape: Ints, strides: Ints, dtype: Any) -> None:
        self.shape, self.strides, self.dtype, self.size = shape, strides, dtype, math.prod(shape)
        rows = _dense(shape, strides, dtype.itemsize)
        columns = _dense(shape[::-1], strides[::-1], dtype.itemsize)
        self.own, self.view = Flags(rows, columns, True), Flags(rows, columns, False)


_forms: dict[tuple[Ints, Ints, Any], Form] = {}
# The most geometries that are known at a time: what is forgotten has plans made anew.
_MOST = 1 << 16


def _form(key: tuple[Ints, Ints, Any]) -> Form:
    """The Form of (shape, strides in bytes, NumPy's dtype)."""
    if len(_forms) > _MOST:
        _forms.clear()
    return _forms.setdefault(key, Form(*key))


def _dense(shape: Ints, strides: Ints, step: int) -> bool:
    if 0 in shape:
        return True
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def row_strides(shape: Ints, step: int) -> Ints:
    """Strides in bytes of an array that lies row by row; as on the CPU, a size of 0 counts as 1 here."""
    return tuple([s * step for s in contiguous_strides(shape)])


class DeviceArray(_Mixin):  # type: ignore[misc]
    """A strided view of memory of `device`. `handle` keeps the memory; `base` is what it is a view of, or
    None.
    """

    __slots__ = (
        "device",
        "handle",
        "address",
        "form",
        "shape",
        "strides",
        "dtype",
        "size",
        "base",
        "__weakref__",
    )
    shape: Ints
    strides: Ints

    def __init__(
        self,
        device: Device,
        handle: Handle | None,
        address: int,
        shape: Ints,
        strides: Ints,
        dtype: Any,
        base: Any = None,
    ) -> None:
        self.device, self.handle, self.address = device, handle, address
        self.shape, self.strides, self.dtype, self.base = shape, strides, dtype, base
        key = shape, strides, dtype
        self.form = form = _forms.get(key) or _form(key)
        self.size: int = form.size

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * int(self.dtype.itemsize)

    @property
    def flags(self) -> Flags:
        """Whether it is contiguous, and so on."""
        return self.form.own if self.base is None else self.form.view

    @property
    def T(self) -> DeviceArray:
        """The dims reversed."""
        return self.transpose()

    @property
    def dense(self) -> bool:
        """Whether the elements lie without gaps in some order of the dims."""
        if self.flags.c_contiguous:
            return True
        order = sorted(range(self.ndim), key=lambda i: -self.strides[i])
        return _dense(
            tuple([self.shape[i] for i in order]), tuple([self.strides[i] for i in order]), self.itemsize
        )

    # --- views ----------------------------------------------------------------------------------

    def outline(self) -> Array:
        """A NumPy array of the same geometry, whose elements are not to be read."""
        return self.device.outline(self)

    def seen(self, function: Callable[..., Array], *args: Any) -> DeviceArray:
        """The view that NumPy's `function` gives of such an array."""
        return self.device.view(self, function(self.outline(), *args))

    def relaid(self, shape: Ints, strides: Ints, offset: int = 0, dtype: Any = None) -> DeviceArray:
        """The same memory in another layout; strides and offset (from the first element) in bytes."""
        return DeviceArray(
            self.device,
            self.handle,
            self.address + offset,
            tuple(shape),
            tuple(strides),
            dtype or self.dtype,
            self if self.base is None else self.base,
        )

    def whole(self) -> DeviceArray:
        """All bytes of the memory, one after the other."""
        size = self.handle.size if self.handle is not None else 0
        address = self.handle.address if self.handle is not None else self.address
        base = self if self.base is None else self.base
        return DeviceArray(self.device, self.handle, address, (size,), (1,), np.dtype(np.uint8), base)

    def view(self, dtype: Any) -> DeviceArray:
        """The same bytes as another dtype."""
        return self.seen(np.ndarray.view, dtype)

    def reshape(self, *shape: Any, **how: Any) -> DeviceArray:
        """A view where there is one, else a copy."""
        outline = self.outline()
        sizes = shape[0] if len(shape) == 1 else shape
        try:
            return self.device.view(self, np.reshape(outline, sizes, copy=False, **how))
        except ValueError:  # no view is so; or no array, which the copy's reshape says
            found: DeviceArray = self.device.call(np.ndarray.reshape, (self, *shape), how)
            return found

    def transpose(self, *axes: Any) -> DeviceArray:
        """The dims in another order."""
        return self.seen(np.ndarray.transpose, *axes)

    def swapaxes(self, one: int, two: int) -> DeviceArray:
        """Two dims swapped."""
        return self.seen(np.ndarray.swapaxes, one, two)

    def squeeze(self, axis: Any = None) -> DeviceArray:
        """Without dims of size 1."""
        return self.seen(np.ndarray.squeeze, axis)

    def diagonal(self, *which: Any) -> DeviceArray:
        """The diagonals of two dims."""
        return self.seen(np.ndarray.diagonal, *which)

    @property
    def real(self) -> DeviceArray:
        """The real parts."""
        return self.seen(lambda a: a.real)

    @property
    def imag(self) -> DeviceArray:
        """The imaginary parts."""
        return self.seen(lambda a: a.imag)

    def __getitem__(self, key: Any) -> DeviceArray:
        if basic(key):
            return self.seen(np.ndarray.__getitem__, _with_ellipsis(key))
        found: DeviceArray = self.device.call(np.ndarray.__getitem__, (self, key))
        return found

    # --- elements -------------------------------------------------------------------------------

    def __setitem__(self, key: Any, value: Any) -> None:
        self.device.write(np.ndarray.__setitem__, (self, key, value))

    def fill(self, value: Any) -> None:
        """Write one number everywhere."""
        self.device.write(np.ndarray.fill, (self, value))

    def item(self, *at: Any) -> Any:
        """The one element, as a Python number; waits for it."""
        return self.device.read(self).item(*at)

    def tolist(self) -> Any:
        """The elements as nested lists; waits for them."""
        return self.device.read(self).tolist()

    def __bool__(self) -> bool:
        return bool(self.device.read(self))

    def __int__(self) -> int:
        return int(self.item())

    __index__ = __int__

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[DeviceArray]:
        return (self[i] for i in range(len(self)))

    def __reduce__(self) -> Any:
        return _rebuild, (self.device.index, self.device.read(self).copy())

    def __repr__(self) -> str:
        return f"DeviceArray({self.device.where}, {self.shape}, {self.dtype})"

    def __getattr__(self, name: str) -> Any:
        """NumPy's methods, called on the device; what would hand out the memory itself is refused."""
        method = None if name.startswith("__") else getattr(np.ndarray, name, None)
        if not callable(method) or name in ("tobytes", "tofile", "dump", "dumps", "data", "ctypes"):
            raise AttributeError(
                f"this is memory of {self.device.where}, which has no {name!r} for the host: .cpu() copies a "
                "tensor to the host"
            )
        return lambda *args, **named: self.device.call(method, (self, *args), named)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            f"can't convert {self.device.where} device type tensor to numpy. Use Tensor.cpu() to copy the "
            "tensor to host memory first."
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **named: Any) -> Any:
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        if out is None:
            return self.device.call(function, inputs, named)
        self.device.write(function, inputs, {**named, "out": out}, out)
        return out[0] if len(out) == 1 else out

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in _GEOMETRY:
            return self.device.geometry(function, args, kwargs)
        if function is np.copyto:
            self.device.write(function, args, kwargs, args[:1])
            return None
        return self.device.call(function, args, kwargs)


def _rebuild(index: int, elements: Any) -> Any:
    """A pickled array, on the device that it was on."""
    device = backend_of(torch_device("cuda", index))
    made = device.empty(elements.shape, elements.dtype, poison=False)
    made[...] = elements
    return made


# Functions that look at no elements.
_GEOMETRY = frozenset(
    (
        np.may_share_memory,
        np.shares_memory,
        np.broadcast_to,
        np.transpose,
        np.swapaxes,
        np.moveaxis,
        np.expand_dims,
        np.squeeze,
        np.diagonal,
        np.broadcast_arrays,
        np.ndim,
        np.shape,
        np.size,
        np.atleast_1d,
        np.atleast_2d,
        np.atleast_3d,
        np.iscomplexobj,
        np.isrealobj,
        np.result_type,
        np.lib.stride_tricks.as_strided,
    )
)
_BASIC = (int, np.integer, slice, type(None), type(...))


def basic(key: Any) -> bool:
    """Whether an index makes a view."""
    items = key if key.__class__ is tuple else (key,)
    return all(isinstance(item, _BASIC) and not isinstance(item, (bool, np.bool_)) for item in items)


def _with_ellipsis(key: Any) -> Any:
    """The index with `...`, so that NumPy answers with an array and not with a number."""
    items = key if key.__class__ is tuple else (key,)
    return items if any(item is ... for item in items) else (*items, ...)
