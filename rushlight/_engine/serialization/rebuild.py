"""The only file of this folder that knows tensors: to PyTorch's pickled form, and back from it.

Functions whose names begin with `_rebuild_` appear in files under PyTorch's module names
(names.py); their arguments are the file format.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.accelerator import is_away
from rushlight._engine.core.callers import warn
from rushlight._engine.core.device import META
from rushlight._engine.core.dtype import dtype
from rushlight._engine.core.layout import Ints, Layout
from rushlight._engine.core.services import service
from rushlight._engine.lazy import package
from rushlight._engine.serialization.names import resolve, torch_module
from rushlight._engine.tensors import geometry
from rushlight._engine.tensors.construction.interop import from_numpy
from rushlight._engine.tensors.copying import attributes, meta_tensor, tensor_over
from rushlight._engine.tensors.lazy_views import mark
from rushlight._engine.tensors.meta import meta_array
from rushlight._engine.tensors.storages.storage import address
from rushlight._engine.tensors.storages.typed import BY_DTYPE, TypedStorage
from rushlight._engine.tensors.storages.untyped import UntypedStorage
from rushlight._engine.tensors.tensor import Tensor, alias

Array = np.ndarray[Any, Any]

is_storage_types = (TypedStorage, UntypedStorage)
# Objects that are pickled as a name: they are singletons of Rushlight's modules.
_REFERENCES = (dtype, geometry.NamedConstant)


def is_reference(value: Any) -> bool:
    """Whether pickle writes this object as the name of a global."""
    return isinstance(value, _REFERENCES) and not isinstance(value, geometry.StorageLayout)


def is_tensor(value: Any) -> bool:
    """Whether the object is a tensor, of any class."""
    return isinstance(value, Tensor)


# --- writing ------------------------------------------------------------------------------------


def torch_form(value: Any) -> tuple[Any, ...] | None:
    """How PyTorch's files write a tensor or a layout; None for everything else."""
    if isinstance(value, Tensor):
        # A subclass may have its own form; Parameter does.
        return tensor_form(value) if type(value).__reduce_ex__ is Tensor.__reduce_ex__ else None
    if isinstance(value, geometry.StorageLayout):
        return _get_layout, (repr(value),)
    return None


def tensor_form(t: Tensor) -> tuple[Any, ...]:
    """The function and arguments that make a tensor, of any class, again."""
    function, args = _plain_form(t)
    state = attributes(t)
    if type(t) is Tensor and not state:
        return function, args
    return _rebuild_from_type_v2, (function, type(t), args, state)


def _plain_form(t: Tensor) -> tuple[Any, tuple[Any, ...]]:
    of, sizes, strides = t._kind.dtype, tuple(t._geometry.shape), _own(t.stride())
    if t._kind.on_meta:
        return _rebuild_meta_tensor_no_storage, (of, sizes, strides, t.requires_grad)
    # PyTorch's reader expects an (empty) table of backward hooks; hooks are not written.
    place: tuple[Any, ...] = (t.storage_offset(), sizes, strides, t.requires_grad, OrderedDict())
    _warn_of_hooks(t)
    bytes_ = UntypedStorage._of(t)
    marks = {name: True for name in ("neg", "conj") if getattr(t._kind, name)}
    if of in BY_DTYPE:
        place = (TypedStorage(wrap_storage=bytes_, dtype=of), *place)
    else:
        place = (bytes_, *place, of)
    return _rebuild_tensor_v2 if of in BY_DTYPE else _rebuild_tensor_v3, (*place, marks) if marks else place


def _own(strides: tuple[int, ...]) -> tuple[int, ...]:
    """A tuple that is this tensor's alone: pickles refer to one that comes again, and bytes would differ."""
    return tuple([*strides])


def _warn_of_hooks(t: Any) -> None:
    for hook in (t._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can "
                "decorate the function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                UserWarning,
            )


def quantized_form(levels: Tensor, of: dtype, params: tuple[Any, ...]) -> tuple[Any, ...]:
    """How files hold a quantized tensor. params: its scheme, and what that needs."""
    held = TypedStorage(wrap_storage=UntypedStorage._of(levels), dtype=of)
    place = levels.storage_offset(), tuple(levels.shape), _own(levels.stride())
    return _rebuild_qtensor, (held, *place, params, False, OrderedDict())


def storage_bytes(held: Any) -> tuple[type, Any, Array, int]:
    """(class in the file, identity, bytes, bytes of an element) of a storage object.

    The identity is of the memory, as long as `held` lives: `x.data` has another Storage over the same one.
    Two tensors of one NumPy array are two storages.
    """
    if isinstance(held, TypedStorage):
        cls: type = BY_DTYPE[held.dtype]
        untyped, step = held._untyped_storage, held.dtype.itemsize
    else:
        cls, untyped, step = UntypedStorage, held, 1
    flat = untyped._bytes()
    identity: Any = id(untyped._shared)
    if untyped._shared.lent is not None:
        identity = id(flat)
    elif flat.size and untyped.device is not META:
        identity = address(flat), flat.size, untyped.device
    return cls, identity, flat.device.read(flat).copy() if is_away(flat) else flat, step


# --- reading ------------------------------------------------------------------------------------


def storage_dtype(cls: Any) -> dtype:
    """The dtype of a storage class found in a file; bytes for an untyped one."""
    if cls is UntypedStorage or cls is TypedStorage:
        return dt.uint8
    found: dtype = cls.dtype
    return found


def make_cuda_storage(held: UntypedStorage, index: int) -> UntypedStorage:
    """A storage with the bytes of `held` on a CUDA device."""
    return held.cuda(index)


def make_storage(flat: Array) -> UntypedStorage:
    """An UntypedStorage around bytes, a 1-d uint8 array."""
    return UntypedStorage._over(flat)


def make_meta_storage(nbytes: int) -> UntypedStorage:
    """A storage of the meta device: a length without bytes."""
    made = make_storage(meta_array((nbytes,), np.uint8))
    made.device = META
    return made


def swap_bytes(flat: Array, of: dtype) -> None:
    """Turn every element's bytes around, in place; a complex number's parts each for itself."""
    width = of.to_real().itemsize
    if width > 1:
        flat[: flat.size // width * width].view(f"u{width}").byteswap(inplace=True)


def _see(held: Any, of: dtype, layout: Layout) -> Tensor:
    if not isinstance(held, is_storage_types):
        raise RuntimeError(f"expected a storage in the file, got {type(held).__name__}")
    untyped = held._untyped_storage if isinstance(held, TypedStorage) else held
    if untyped.device.type == "meta":
        return meta_tensor(of, layout.sizes, layout.strides)
    untyped._bytes()
    return tensor_over(untyped._shared, of, layout)


def _finish(t: Tensor, requires_grad: bool, metadata: Any) -> Tensor:
    if metadata:
        mark(t, bool(metadata.get("conj")), bool(metadata.get("neg")))
    return t.requires_grad_() if requires_grad else t


def _rebuild_tensor(held: Any, storage_offset: int, size: Ints, stride: Ints) -> Tensor:
    return _see(held, held.dtype, Layout(tuple(size), tuple(stride), storage_offset))


def _rebuild_tensor_v2(
    held: Any,
    storage_offset: int,
    size: Ints,
    stride: Ints,
    requires_grad: bool = False,
    backward_hooks: Any = None,
    metadata: Any = None,
) -> Tensor:
    return _finish(_rebuild_tensor(held, storage_offset, size, stride), requires_grad, metadata)


def _rebuild_tensor_v3(
    held: Any,
    storage_offset: int,
    size: Ints,
    stride: Ints,
    requires_grad: bool,
    backward_hooks: Any,
    of: dtype,
    metadata: Any = None,
) -> Tensor:
    made = _see(held, of, Layout(tuple(size), tuple(stride), storage_offset))
    return _finish(made, requires_grad, metadata)


def _rebuild_qtensor(
    held: Any,
    storage_offset: int,
    size: Ints,
    stride: Ints,
    quantizer_params: tuple[Any, ...],
    requires_grad: bool,
    backward_hooks: Any,
) -> Tensor:
    of = getattr(held, "dtype", None)
    if not isinstance(of, dt.QuantizedDtype):
        raise RuntimeError(f"expected a storage of a quantized dtype in the file, got {of}")
    levels = _see(held, of.levels, Layout(tuple(size), tuple(stride), storage_offset))
    made: Tensor = service("quantized tensor of a file")(levels, of, quantizer_params)
    return made


def _rebuild_meta_tensor_no_storage(of: dtype, size: Ints, stride: Ints, requires_grad: bool) -> Tensor:
    return _finish(meta_tensor(of, tuple(size), tuple(stride)), requires_grad, None)


def _rebuild_from_type_v2(function: Any, cls: type, args: tuple[Any, ...], state: Any) -> Any:
    made = function(*args)
    if type(made) is not cls and issubclass(cls, Tensor):
        made = _finish(alias(made, cls=cls), made.requires_grad, None)
    set_state(made, state)
    return made


class _Loading(threading.local):
    """The sparse tensors of a file that is being read, whose parts may have no numbers yet."""

    sparse: list[Any] | None = None


_LOADING = _Loading()


@contextmanager
def checking_sparse() -> Iterator[None]:
    """Sparse tensors that are rebuilt inside are checked at the end, where makers check at all."""
    before, _LOADING.sparse = _LOADING.sparse, []
    try:
        yield
        if _LOADING.sparse:
            service("check of sparse tensors")(_LOADING.sparse)
    finally:
        _LOADING.sparse = before


def _rebuild_sparse_tensor(layout: Any, data: tuple[Any, ...]) -> Any:
    later = {} if _LOADING.sparse is None else {"check_invariants": False}
    if layout is not geometry.sparse_coo:
        made = resolve("torch", "sparse_compressed_tensor")(*data, layout=layout, **later)
    else:
        indices, values, size, *known = data
        coalesced = bool(known and known[0])
        make = resolve("torch", "sparse_coo_tensor")
        made = make(indices, values, size, is_coalesced=coalesced, **later)
    if _LOADING.sparse is not None:
        _LOADING.sparse.append(made)
    return made


def _rebuild_device_tensor_from_numpy(data: Array, of: dtype, device: Any, requires_grad: bool) -> Any:
    return _rebuild_device_tensor_from_cpu_tensor(from_numpy(data), of, device, requires_grad)


def _rebuild_device_tensor_from_cpu_tensor(data: Any, of: dtype, device: Any, requires_grad: bool) -> Any:
    return data.to(dtype=of, device=device).requires_grad_(requires_grad)


def _get_layout(name: str) -> Any:
    short = name.removeprefix("torch.")
    found = resolve("torch", short) if short == "jagged" else getattr(geometry, short, None)
    if not isinstance(found, geometry.StorageLayout):
        raise RuntimeError(f"no such layout in Rushlight: {name}")
    return found


def set_state(target: Any, state: Any) -> None:
    """Give a rebuilt object its attributes, as pickle does."""
    setter = getattr(target, "__setstate__", None)
    if setter is not None:
        setter(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state:
        target.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(target, name, value)


# Where programs know us as torch, plain pickles say PyTorch's names, too.
if package() == "torch":
    for _function in [f for name, f in globals().items() if name.startswith(("_rebuild", "_get"))]:
        _function.__module__ = torch_module("rushlight._engine.serialization.rebuild", _function.__name__)
