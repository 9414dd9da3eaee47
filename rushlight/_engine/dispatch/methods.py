"""Tensor methods that write or reinterpret memory: they are no ops, so they have no rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.in_place import check_writable, refuse_overlap, track_view
from rushlight._engine.autograd.node import Node
from rushlight._engine.core import accelerator, dtype as dt
from rushlight._engine.core.conversion import convert, fill, needs_care, number
from rushlight._engine.core.determinism import fill_unwritten
from rushlight._engine.core.device import CPU, device, device as _device
from rushlight._engine.core.errors import wrong_type
from rushlight._engine.core.layout import (
    broadcast_shapes,
    channels_last_strides,
    check_apart_from_itself,
    contiguous_strides,
    format_strides,
    suggests,
)
from rushlight._engine.core.promotion import of_number
from rushlight._engine.core.recording import TAPE, constant, escape, off_host, settle
from rushlight._engine.core.services import service
from rushlight._engine.dispatch import node_names
from rushlight._engine.dispatch.arguments import given_dtype
from rushlight._engine.dispatch.interpreters import (
    BELOW,
    CLASSES,
    MODES,
    PLAIN,
    interpret,
    listening,
    wrapped,
)
from rushlight._engine.dispatch.method_overrides import taken_over, taken_over_by
from rushlight._engine.dispatch.number_operands import NUMBERS
from rushlight._engine.dispatch.runners import in_place
from rushlight._engine.dispatch.runners.each_element import apply_, map2_, map_
from rushlight._engine.dispatch.tensor_rows import TENSOR_ROWS
from rushlight._engine.lazy import package
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.construction import factories
from rushlight._engine.tensors.construction.legacy import new
from rushlight._engine.tensors.geometry import MemoryFormat, contiguous_format, page_locked, preserve_format
from rushlight._engine.tensors.gradient import Gradient
from rushlight._engine.tensors.kind import Kind, kind
from rushlight._engine.tensors.lazy_views import place
from rushlight._engine.tensors.meta import meta_array
from rushlight._engine.tensors.storages.storage import strided
from rushlight._engine.tensors.tensor import Tensor, storage, wrap, wrap_view

Array = np.ndarray[Any, Any]


def _beside(t: Tensor, other: Tensor) -> Tensor:
    """A tensor on another one's device, where vmap or forward mode has one of them: their ops go on there."""
    if t._kind.backend is other._kind.backend or not wrapped((t, other)):
        return t
    return to(t, other._kind.device)


def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Write `other`, broadcast and converted, into this tensor; it may be a number."""
    if other.__class__ in NUMBERS:
        other = wrap(np.asarray(other, of_number(other).np))
    if other.__class__ not in PLAIN and (taken := _copied_by_class(self, other, non_blocking)):
        return taken[0]
    if MODES and (wrapped((self, other)) or listening()):
        return interpret(ROWS["_overwritten"], copy_, (self, _beside(other, self)), {})
    if self._kind.lazy:
        return in_place.through(lambda own: copy_(own, other), self, other)
    if self._kind.backend is not other._kind.backend and not (self._kind.on_meta or other._kind.on_meta):
        return _copied_over(self, other, non_blocking)
    a, b = self._array, other._array
    tracked = LOCAL.enabled and (other._grad_node is not None or self._grad_node is not None)
    check_writable(self, tracked)
    refuse_overlap(self, (other,))
    if a.shape != b.shape and broadcast_shapes(a.shape, b.shape) != a.shape:
        raise RuntimeError(
            f"output with shape {list(a.shape)} doesn't match the broadcast shape "
            f"{list(broadcast_shapes(a.shape, b.shape))}"
        )
    if tracked:
        in_place.write(self, ROWS["_overwritten"](self, other))
        return self
    if not self._kind.on_meta:
        if other._kind.on_meta:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        settle()
        assign(a, b)
        if TAPE:
            TAPE[-1].write(assign, (a, b), (self, other))
    storage(self).version += 1
    return self


def _copied_by_class(self: Tensor, other: Any, non_blocking: bool) -> tuple[()] | tuple[Tensor]:
    """(result,) where the class of what is copied hears of it, above autograd or below; else (), and
    TypeError for what is no tensor.
    """
    given: dict[str, Any] = {"non_blocking": True} if non_blocking else {}
    taken = taken_over_by(other, copy_, self, other, **given)
    if not taken and not isinstance(other, Tensor):
        raise wrong_type("copy_", "other", "Tensor", other, 1)
    if not taken and other.__class__ in BELOW and CLASSES.below:
        tell = service("method told to a class with a __torch_dispatch__")
        return (tell("copy_", copy_, self, other, non_blocking),)
    return taken


def _copied_over(self: Tensor, src: Tensor, non_blocking: bool) -> Tensor:
    """copy_ between the memory of two devices: through a tensor of this dtype and shape where it must."""
    if (
        (LOCAL.enabled and (src._grad_node is not None or self._grad_node is not None))
        or src._kind.lazy
        or (src._geometry.shape != self._geometry.shape or src._kind.dtype is not self._kind.dtype)
    ):
        return copy_(self, to(src, self._kind.device, non_blocking=non_blocking))
    check_writable(self, False)
    check_apart_from_itself(self._geometry)
    off_host("a copy between devices")
    backend: Any = self._kind.backend or src._kind.backend  # one of them has one
    pinned = page_locked(self if self._kind.backend is None else src)
    backend.copy(self._memory, src._memory, non_blocking, pinned)
    if self._kind.backend is None and non_blocking and pinned:
        backend.on_its_way(self)
    storage(self).version += 1
    return self


def _follow_(self: Tensor, src: Any) -> Tensor:
    """copy_ as kernels write running values: also where a function that only reads them is differentiated."""
    captured, LOCAL.transforms = LOCAL.transforms, ()
    try:
        return copy_(self, src)
    finally:
        LOCAL.transforms = captured


def assign(a: Array, b: Any) -> None:
    """a[...] = b with PyTorch's conversions."""
    if a.dtype is b.dtype:
        a[...] = b
        return
    with np.errstate(all="ignore"):
        a[...] = convert(b, a.dtype) if needs_care(b.dtype, a.dtype) else b


def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one number (or 0-d tensor) everywhere."""
    return _fill(self, value, "FillBackward2")


def _fill(self: Tensor, value: Any, node: str) -> Tensor:
    if not MODES and value.__class__ in NUMBERS and in_place.free(self):
        fill(self._array, 0 if value.__class__ is int and not value else number(value, self._kind.dtype))
        storage(self).version += 1
        return self
    if value.__class__ not in NUMBERS and (taken := taken_over_by(value, fill_, self, value)):
        return taken[0]
    if MODES and (wrapped((self, value)) or listening()):
        return interpret(ROWS["fill"], fill_, (self, value), {})
    if self._kind.lazy:
        return in_place.through(lambda own: _fill(own, value, node), self, value)
    if isinstance(value, Tensor):
        if value._geometry.ndim:
            raise RuntimeError(
                "fill_ only supports 0-dimension value tensor but got tensor with "
                f"{value._geometry.ndim} dimensions."
            )
        within = value._storage is not None and value._storage is self._storage
        found = copy_(self, ROWS["clone"](value) if within else value)
        return found if found.is_leaf else node_names.rename(found, "FillBackward3")
    tracked = LOCAL.enabled and self._grad_node is not None
    check_writable(self, tracked)
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (int, float, complex)):
        raise TypeError(
            "fill_() received an invalid combination of arguments - got "
            f"({type(value).__name__}), but expected a number or a tensor without dimensions"
        )
    written = number(value, self._kind.dtype)
    if tracked:
        # Recorded as an op that forgets its operand: the gradient stops here, as zeros.
        in_place.write(
            self, node_names.rename(self.masked_fill(wrap(constant(np.ones((), bool))), value), node)
        )
    else:
        if not self._kind.on_meta:
            settle()
            self._array[...] = written
            if TAPE:
                TAPE[-1].write(np.copyto, (self._array, written), (self,))
        storage(self).version += 1
    return self


def zero_(self: Tensor) -> Tensor:
    """Write zeros everywhere."""
    if MODES or not in_place.free(self):
        return _fill(self, 0, "ZeroBackward0")
    fill(self._array, 0)
    storage(self).version += 1
    return self


def contiguous(self: Tensor, memory_format: MemoryFormat = contiguous_format) -> Tensor:
    """This tensor if its elements lie in that order, else a copy."""
    if memory_format is contiguous_format and self._geometry.flags.c_contiguous:
        return self
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    if self.is_contiguous(memory_format):
        return self
    heard = getattr(TAPE[-1], "contiguous", None) if TAPE else None
    told = NotImplemented if heard is None else heard(self, memory_format)
    return TENSOR_ROWS["clone"](self, memory_format=memory_format) if told is NotImplemented else told


def view(
    self: Tensor,
    *given: int | Sequence[int] | dt.dtype,
    size: int | Sequence[int] | None = None,
    dtype: dt.dtype | None = None,
) -> Tensor:
    """The same elements in another shape, or the same bytes as another dtype."""
    if given and given[0].__class__ is int and size is None and dtype is None:
        return TENSOR_ROWS["_view"].call(self, *given)
    sizes: tuple[Any, ...] = given if size is None else (size,)
    if dtype is not None or (len(sizes) == 1 and isinstance(sizes[0], (dt.dtype, type))):
        plain: Callable[..., Tensor] = getattr(self.__class__, "_view_dtype", _view_dtype)
        return taken_over(Tensor.view, plain, self, given_dtype("view", sizes[0] if dtype is None else dtype))
    return TENSOR_ROWS["_view"].call(self, *sizes)


@wraps(factories.new_tensor)
def new_tensor(self: Tensor, *given: Any, **options: Any) -> Tensor:
    """A new leaf with a copy of data, in this tensor's dtype and on its device."""
    return taken_over(Tensor.new_tensor, factories.new_tensor, self, *given, **options)


def _view_dtype(self: Tensor, dtype: dt.dtype) -> Tensor:
    if self._kind.lazy:
        which = "conjugate view tensors" if self._kind.conj else "tensors with negative bit set"
        raise RuntimeError(
            f"torch.Tensor.view is not supported for {which} when converting to a different dtype."
        )
    a = self._array
    if a.itemsize == dtype.itemsize:
        array = a.view(dtype.np)
    else:
        if not a.ndim:
            raise RuntimeError(
                f"self.dim() cannot be 0 to view {self.dtype.legacy} as {dtype.legacy} "
                "(different element sizes)"
            )
        if a.shape[-1] != 1 and self.stride(-1) != 1:
            raise RuntimeError(
                f"self.stride(-1) must be 1 to view {self.dtype.legacy} as {dtype.legacy} (different element "
                f"sizes), but got {self.stride(-1)}"
            )
        if (a.shape[-1] * a.itemsize) % dtype.itemsize:
            raise RuntimeError(
                f"self.size(-1) must be divisible by {dtype.itemsize // a.itemsize} to view "
                f"{self.dtype.legacy} as {dtype.legacy} (different element sizes), but got {a.shape[-1]}"
            )
        times = dtype.itemsize // a.itemsize
        if times > 1 and self.storage_offset() % times:
            raise RuntimeError(
                f"self.storage_offset() must be divisible by {times} to view {self.dtype.legacy} as "
                f"{dtype.legacy} (different element sizes), but got {self.storage_offset()}"
            )
        odd = next((i for i in range(a.ndim - 1) if times > 1 and self.stride(i) % times), None)
        if odd is not None:
            raise RuntimeError(
                f"self.stride({odd}) must be divisible by {times} to view {self.dtype.legacy} as "
                f"{dtype.legacy} (different element sizes), but got {self.stride(odd)}"
            )
        size = a.shape[-1] * a.itemsize // dtype.itemsize
        array = (
            a.view(dtype.np)
            if a.size
            else np.empty((*a.shape[:-1], size), dtype.np)
            if (self._kind.backend is None)
            else self._kind.backend.empty((*a.shape[:-1], size), dtype.np)
        )
    out = wrap_view(array, self, kind(dtype, self._kind.device))
    track_view(out, self, Tensor.view, (dtype,))
    return out


def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Converted to a dtype, a device, or another tensor's; itself where nothing changes."""
    if len(args) == 1 and not kwargs:
        what = CPU if args[0].__class__ is str and args[0] == "cpu" else args[0]
        if what.__class__ is dt.dtype and what is not self._kind.dtype:
            return ROWS["_to_dtype"](self, what, None)  # type: ignore[no-any-return]
        if what is self._kind.dtype or (what.__class__ is device and self._kind.device == what):
            return _unchanged(self, what is not self._kind.dtype) if TAPE else self
    if args and isinstance(args[0], Tensor) and (taken := taken_over_by(args[0], to, self, *args, **kwargs)):
        return taken[0]
    non_blocking = kwargs.get("non_blocking", args[2] if len(args) > 2 and args[2] is True else False)
    try:
        where, dtype, copy, order = _to_arguments(args, {**kwargs})
    except TypeError:
        if taken := taken_over_by((*args[:1], *kwargs.values()), to, self, *args, **kwargs):
            return taken[0]
        raise
    whole = where is not None or dtype is None  # not of a dtype alone, wherever it is mentioned
    where = self._kind.device if where is None else where
    dtype = self._kind.dtype if dtype is None else dtype
    target = self._kind if (dtype is self._kind.dtype and where == self._kind.device) else kind(dtype, where)
    if target is self._kind and not copy and (order in (None, preserve_format) or suggests(self, order)):
        return _unchanged(self, whole) if TAPE else self
    if target.device != self._kind.device:
        return _move(self, target, bool(non_blocking), order)
    if dtype is self._kind.dtype:
        return TENSOR_ROWS["clone"](self, memory_format=order)
    return TENSOR_ROWS["_to_dtype"](self, dtype, order)


def _unchanged(t: Tensor, whole: bool) -> Tensor:
    """A tensor converted to what it is, of which a recorder may want to know."""
    hears: Callable[[Tensor, bool], Tensor] | None = getattr(TAPE[-1], "converted", None)
    return t if hears is None else hears(t, whole)


def _to_arguments(args: Any, kwargs: dict[str, Any]) -> tuple[Any, Any, bool, Any]:
    where, dtype = kwargs.pop("device", None), given_dtype("to", kwargs.pop("dtype", None))
    kwargs.pop("non_blocking", None)
    copy, order = kwargs.pop("copy", False), kwargs.pop("memory_format", None)
    other = kwargs.pop("other", None)
    if kwargs:
        raise TypeError(
            f"to() received an invalid combination of arguments - got unexpected keyword {sorted(kwargs)}; "
            "expected dtype, device, other, non_blocking, copy, memory_format"
        )
    if not (order is None or isinstance(order, MemoryFormat)):
        raise wrong_type("to", "memory_format", "torch.memory_format", order)
    rest = list(args)
    if rest and (isinstance(rest[0], Tensor) or other is not None):
        other = rest.pop(0) if other is None else other
    if other is not None:
        return other._kind.device, other._kind.dtype, copy, order
    if (rest and isinstance(rest[0], (str, device))) or (rest and type(rest[0]) is int):
        where = rest.pop(0)
    elif rest and rest[0] is None:
        rest.pop(0)
    if rest and rest[0] is None:
        rest.pop(0)
    elif rest and (isinstance(rest[0], dt.dtype) or (type(rest[0]) is type and rest[0] in dt.OF_PYTHON)):
        dtype = dt.of_python(rest.pop(0))
    if rest:
        if not isinstance(rest[0], bool):
            raise TypeError(
                "to() received an invalid combination of arguments - got ("
                f"{', '.join(type(a).__name__ for a in args)}), but expected a dtype, a "
                "device, a tensor, or (device, dtype)"
            )
        rest.pop(0)
    if rest:
        copy = rest.pop(0)
    return None if where is None else device(where), dtype, copy, order


class ToCopyBackward0(Node):
    """The node of a copy to another device: the gradient goes back."""

    __slots__ = ()

    def apply(self, grad: Tensor) -> Any:
        """The gradient where the tensor came from, in its dtype."""
        return (to(grad, self.saved[0].device, self.saved[0].dtype),)


def _move(self: Tensor, target: Kind, non_blocking: bool = False, order: Any = None) -> Tensor:
    if hasattr(self, "parts_moved"):  # of a layout of its own
        return self.parts_moved(lambda part, of: to(part, target.device, of, non_blocking), target.dtype)  # type: ignore[no-any-return]
    if not self._kind.on_meta and not target.on_meta:
        return _brought(self, target, non_blocking, order)
    if target.on_meta:
        step = self._geometry.itemsize
        return wrap(
            meta_array(self._geometry.shape, target.np, tuple(s // step for s in self._geometry.strides)),
            target,
        )
    raise NotImplementedError(
        "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
        "torch.nn.Module.to() when moving module from meta to a different device."
    )


def _brought(self: Tensor, target: Kind, non_blocking: bool, order: Any) -> Tensor:
    """A copy on another device, which gradients come back from; converted where the source is."""
    if MODES and wrapped((self,)):
        return interpret(ROWS["_to_dtype"], to, (self, target.device, target.dtype), {})
    source = (
        self
        if self._kind.dtype is target.dtype and not self._kind.lazy
        else TENSOR_ROWS["_to_dtype"](self, target.dtype, order)
    )
    off_host("a copy between devices")
    backend: Any = target.backend or source._kind.backend  # one of them has one
    pinned = page_locked(source)
    if target.backend is None and non_blocking:  # as PyTorch does, so that the copy need not be waited for
        found: Tensor = wrap(
            np.full(source._geometry.nbytes, 0xFF, np.uint8).view(target.np).reshape(source._geometry.shape)
        )
        found._array = accelerator.page_locked(found._array)
        storage(found).pinned = True
        backend.copy(found._array, source._memory, True, True)
        backend.on_its_way(found)
    else:
        found = wrap(backend.moved(source._memory, target.backend, non_blocking, pinned, order), target)
    if self._grad_node is not None and LOCAL.enabled:
        node = ToCopyBackward0(((self._grad_node, self._output_nr),))
        node.saved = self._kind, ()
        found._grad_node, found._output_nr = node, 0
    return found


def _converter(name: str, dtype: dt.dtype) -> Callable[..., Tensor]:
    def convert(self: Tensor, *, memory_format: Any = None) -> Tensor:
        if memory_format is not None or self._kind.on_meta:
            return to(self, dtype, memory_format=memory_format)
        if self._kind.dtype is dtype:
            return _unchanged(self, False) if TAPE else self
        return ROWS["_to_dtype"].call(self, dtype)  # type: ignore[no-any-return]

    convert.__doc__ = f"to({dtype!r})."
    convert.__name__ = convert.__qualname__ = name
    return convert


def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """The legacy type's name; with an argument, a conversion."""
    if dtype is None:
        return f"torch.{'cuda.' * (self._kind.backend is not None)}{self._kind.dtype.legacy}Tensor"
    if isinstance(dtype, str):
        if dtype.startswith("torch.cuda."):
            self, dtype = cuda(self, non_blocking=non_blocking), dtype.replace("cuda.", "")
        by_legacy = {f"torch.{d.legacy}Tensor": d for d in dt.ALL}
        if dtype not in by_legacy:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = by_legacy[dtype]
    if dtype is Tensor:
        return to(self, dt.get_default_dtype())
    if getattr(dtype, "is_cuda", False):
        self = cuda(self, non_blocking=non_blocking)
    return to(self, getattr(dtype, "dtype", dtype))


def cpu(self: Tensor, memory_format: Any = preserve_format) -> Tensor:
    """In the CPU's memory."""
    return to(self, CPU) if memory_format is preserve_format else to(self, CPU, memory_format=memory_format)


def _mover(kind: str, what: str) -> Callable[..., Tensor]:
    """Tensor.cuda() and its like: the method that moves to the devices of a kind."""

    def move(
        self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = preserve_format
    ) -> Tensor:
        where = _device(kind if device is None else device)
        if where.type != kind:
            raise RuntimeError(f"Invalid device, must be {kind} device, but got {where}")
        return to(self, where, non_blocking=non_blocking, memory_format=memory_format)

    move.__name__ = move.__qualname__ = kind
    move.__doc__ = f"In the memory of {what}: of the current one, or of that with a number; itself if there."
    return move


cuda = _mover("cuda", "a CUDA device")


def resize_(self: Tensor, *sizes: int | Sequence[int], memory_format: Any = contiguous_format) -> Tensor:
    """Give this tensor another shape; its storage grows where it must, old bytes are kept."""
    given: Any = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    if not isinstance(given, (list, tuple)) or not all(hasattr(n, "__index__") for n in given):
        raise wrong_type("resize_", "size", "tuple of ints", given, 1)
    size: tuple[int, ...] = tuple(given)
    if self._grad_node is not None and LOCAL.enabled:
        raise RuntimeError("cannot resize variables that require grad")
    a = self._memory
    if a.shape == size:
        return self
    escape("resize_() gives a tensor another shape in its place")
    flat = storage(self).bytes(a)
    strides = format_strides(size, contiguous_strides(size), memory_format)
    need, offset = math.prod(size) * a.itemsize, self.storage_offset()
    if max((*strides, 0)) >= 2**63:
        raise RuntimeError("Stride calculation overflowed")
    if need >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)}")
    if flat.size < need + offset * a.itemsize:
        if storage(self).foreign or storage(self).exposed:
            raise RuntimeError(
                "Trying to resize storage that is not resizable: a NumPy array sees it; "
                "clone() the tensor first"
            )
        backend, count = self._kind.backend, need + offset * a.itemsize
        grown = np.empty(count, np.uint8) if backend is None else backend.empty((count,), np.dtype(np.uint8))
        fill_unwritten(grown[flat.size // a.itemsize * a.itemsize :].view(a.dtype))
        grown[: flat.size] = flat
        storage(self)._bytes = flat = grown
    place(self, strided(flat, a.dtype, size, strides, offset), self._kind)
    storage(self).version += 1
    return self


def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give this tensor another's shape; with a memory format also its strides, preserved ones the other's."""
    if not isinstance(the_template, Tensor):
        raise wrong_type("resize_as_", "the_template", "Tensor", the_template, 1)
    given = {} if memory_format is None else {"memory_format": memory_format}
    if taken := taken_over_by(the_template, resize_as_, self, the_template, **given):
        return taken[0]
    shape, theirs = the_template._geometry.shape, the_template.stride()
    resize_(self, shape)
    if memory_format in (None, contiguous_format):
        return self
    if memory_format is preserve_format:
        lasts = len(shape) in (4, 5) and theirs == channels_last_strides(shape)
        memory_format = None if lasts else contiguous_format
    a, kept = storage(self).bytes(self._memory), format_strides(shape, theirs, memory_format)
    place(self, strided(a, self._kind.np, shape, kept, self.storage_offset()), self._kind)
    return self


def set_(
    self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Tensor:
    """Make this tensor see another tensor's (or a storage's) memory."""
    escape("set_() gives a tensor other memory in its place")
    if source is None:
        empty = np.empty if self._kind.backend is None else self._kind.backend.empty
        place(self, empty((0,), self._kind.np), self._kind.plain)
        self._storage = None
        return self
    if isinstance(source, Tensor) and size is None:
        theirs, ours = source._kind.dtype, self._kind.dtype
        if theirs is not ours:
            raise RuntimeError(
                f"Could not set tensor of type {theirs.legacy.lower()} to a tensor of type "
                f"{ours.legacy.lower()}: use .to() or .view(dtype)"
            )
        storage(source)
        self._storage = source._storage
        place(
            self,
            source._memory,
            kind(source._kind.dtype, source._kind.device, self._kind.conj, self._kind.neg),
        )
        return self
    if hasattr(source, "_untyped_storage"):
        if source.dtype is not self._kind.dtype:
            raise RuntimeError(
                f"Expected a Storage of type {self._kind.dtype.legacy} or an UntypedStorage, but "
                f"got type {source.dtype.legacy} for argument 1 'storage'"
            )
        source = source.untyped()
    flat = storage(source).bytes(source._memory) if isinstance(source, Tensor) else source._bytes()
    shared = storage(source) if isinstance(source, Tensor) else source._shared
    sizes = (flat.size // self._kind.dtype.itemsize,) if size is None else tuple(size)
    steps = contiguous_strides(sizes) if stride is None else tuple(stride)
    place(self, strided(flat, self._kind.np, sizes, steps, storage_offset), self._kind)
    self._storage = shared
    return self


def share_memory_(self: Tensor) -> Tensor:
    """Move this tensor's storage, and all tensors that see it, into memory that other processes can see.

    A forked process, or one that the tensor is sent to by torch.multiprocessing, reads and writes it.
    """
    # few programs share memory between processes
    from rushlight._engine.tensors.storages.sharing import share

    if self._kind.backend is None:  # a CUDA device's is always shared, PyTorch says
        share(storage(self), self)
    return self


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in page-locked memory, which copies to and from CUDA devices need not wait for; itself if it
    is.
    """
    if accelerator.platform() is None:
        raise RuntimeError(
            "Cannot access accelerator device when none is available: pin_memory() needs "
            "CUDA; leave it away on the CPU"
        )
    if self._kind.backend is not None:
        raise RuntimeError(
            f"cannot pin 'torch.cuda.{self._kind.dtype.legacy}Tensor' only dense CPU tensors can be pinned"
        )
    if page_locked(self):
        return self
    made: Tensor = TENSOR_ROWS["clone"](self)
    made._array = accelerator.page_locked(made._array)
    storage(made).pinned = True
    return made


def record_stream(self: Tensor, s: Any) -> None:
    """Keep a CUDA tensor's memory from being handed out again before a stream is through with its present
    work.
    """
    if self._kind.backend is None:
        raise NotImplementedError(
            "Could not run 'aten::record_stream' with arguments from the 'CPU' backend: only tensors of CUDA "
            "devices have streams"
        )
    self._kind.backend.record_stream(self._memory, s)


# For interpreters, which see the functional rows.
for _method in (copy_, fill_):
    setattr(_method, "writes", True)


def _removed(name: str) -> Callable[..., Any]:
    """A method that PyTorch has removed (rushlight/toplevel/removed.py)."""

    def refuse(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return service("method that PyTorch has removed")(name, self)

    refuse.__name__ = name
    return refuse


type_.__name__ = type_.__qualname__ = "type"
METHODS: dict[str, Callable[..., Any]] = {
    **{name: _removed(name) for name in ("solve", "eig", "symeig", "lstsq")},
    "copy_": copy_,
    "_follow_": _follow_,
    "fill_": fill_,
    "zero_": zero_,
    "contiguous": contiguous,
    "view": view,
    "to": to,
    "type": type_,
    "cpu": cpu,
    "cuda": cuda,
    "ipu": _mover("ipu", "an IPU"),
    "xpu": _mover("xpu", "an XPU"),
    "mtia": _mover("mtia", "an MTIA device"),
    "resize_": resize_,
    "resize_as_": resize_as_,
    "set_": set_,
    "new_tensor": new_tensor,
    "new": new,
    "share_memory_": share_memory_,
    "record_stream": record_stream,
    "pin_memory": pin_memory,
    "apply_": apply_,
    "map_": map_,
    "map2_": map2_,
    "float": _converter("float", dt.float32),
    "double": _converter("double", dt.float64),
    "half": _converter("half", dt.float16),
    "bfloat16": _converter("bfloat16", dt.bfloat16),
    "int": _converter("int", dt.int32),
    "long": _converter("long", dt.int64),
    "short": _converter("short", dt.int16),
    "char": _converter("char", dt.int8),
    "byte": _converter("byte", dt.uint8),
    "bool": _converter("bool", dt.bool_),
    "cfloat": _converter("cfloat", dt.complex64),
    "cdouble": _converter("cdouble", dt.complex128),
}


def _function(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """torch.NAME(input, ...): the method, as the input's class has it."""

    @wraps(method)
    def call(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(input, Tensor):
            raise wrong_type(name, "input", "Tensor", input, 1)
        return getattr(input, name)(*args, **kwargs)

    call.__module__, call.__qualname__ = package(), name
    return call


# Functions of the same meaning at the top level.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: _function(name, METHODS.get(name) or getattr(Gradient, name))
    for name in ("fill_", "zero_", "resize_as_", "detach", "detach_")
}
