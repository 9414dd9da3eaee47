"""Copies of tensors: pickle and deepcopy. Tensors that share a storage still do afterwards."""

from __future__ import annotations

import copy
from pickle import PickleBuffer
from typing import Any

import numpy as np

from rushlight._engine.core.device import META
from rushlight._engine.core.dtype import BY_NAME, dtype
from rushlight._engine.core.layout import Layout, beyond_storage, extent
from rushlight._engine.core.services import service
from rushlight._engine.lazy import is_ours, package
from rushlight._engine.tensors.kind import kind
from rushlight._engine.tensors.lazy_views import mark
from rushlight._engine.tensors.meta import meta_array
from rushlight._engine.tensors.storages.storage import Array, Storage, strided
from rushlight._engine.tensors.tensor import Tensor, alias, storage, wrap

Ints = tuple[int, ...]


def storage_of(flat: Array) -> Storage:
    """A Storage around `flat`, a 1-d uint8 array."""
    made = Storage()
    made._bytes = flat
    return made


def tensor_over(shared: Storage, of: dtype, layout: Layout) -> Tensor:
    """A tensor that sees the bytes of `shared` with a layout; RuntimeError where it leaves them."""
    flat: Any = shared._bytes
    _check_bounds(layout, of.itemsize, flat.size)
    made = wrap(strided(flat, of.np, layout.sizes, layout.strides, layout.offset))
    made._storage = shared
    return made


def meta_tensor(of: dtype, sizes: Ints, strides: Ints) -> Tensor:
    """A tensor without data."""
    return wrap(meta_array(sizes, of.np, strides), kind(of, META))


def _check_bounds(layout: Layout, itemsize: int, available: int) -> None:
    if any(n < 0 for n in (*layout.sizes, *layout.strides, layout.offset)) or (
        len(layout.sizes) != len(layout.strides)
    ):
        raise RuntimeError(
            f"setStorage: sizes {list(layout.sizes)}, strides {list(layout.strides)} and "
            f"storage offset {layout.offset} must be non-negative and match"
        )
    needed = 0 if 0 in layout.sizes else extent(layout) * itemsize
    if needed > available:
        raise beyond_storage(layout, itemsize, needed, available)


# --- pickle -------------------------------------------------------------------------------------


# The protocol, beside pickle's own numbers, by which processes of one program hand tensors to each other.
AMONG_OURS = -1


# What is kept among a tensor's attributes, and is no matter of its copies.
_OWN = ("_cdata", "_grad_dtype", "_retains_grad", "_unheard_hooks")


def attributes(t: Tensor) -> dict[str, Any]:
    """The attributes of a tensor that its copies get."""
    return {name: value for name, value in t.__dict__.items() if name not in _OWN}


def reduce_tensor(t: Tensor, protocol: Any) -> tuple[Any, ...]:
    """What plain pickle writes for a tensor: class, storage, layout; then its attributes.

    The storage is an object of its own to pickle, so that views of one memory stay views of one. Where
    programs know us as torch, it is what PyTorch writes, and reads: there each tensor brings its own memory.
    """
    if protocol != AMONG_OURS and package() == "torch":
        found: tuple[Any, ...] = service("form of a tensor in pickles")(t)
        return found
    memory = None
    if not t._kind.on_meta:
        memory = storage(t)
        memory.bytes(t._memory)
    built = (
        type(t),
        memory,
        t._kind.dtype,
        tuple(t._geometry.shape),
        t.stride(),
        0 if memory is None else t.storage_offset(),
        t.requires_grad,
        t._kind.conj,
        t._kind.neg,
    )
    given = attributes(t)
    return (_rebuild, built, given) if given else (_rebuild, built)


def _rebuild(
    cls: type,
    memory: Storage | None,
    of: dtype,
    sizes: Ints,
    strides: Ints,
    offset: int,
    requires_grad: bool,
    conj: bool = False,
    neg: bool = False,
) -> Any:
    if memory is None:
        made = meta_tensor(of, sizes, strides)
    else:
        made = tensor_over(memory, of, Layout(sizes, strides, offset))
    mark(made, conj, neg)
    if cls is not Tensor:
        made = alias(made, cls=cls)
    return made.requires_grad_() if requires_grad else made


def reduce_alone(t: Tensor) -> tuple[Any, ...] | None:
    """What pickle writes for a plain tensor with memory of its own, in few steps; None for others."""
    a = t._array
    if (
        type(t) is not Tensor
        or t._storage is not None
        or t._grad_node is not None
        or t.__dict__
        or t._kind.special
        or (a.base is not None or not a.flags.c_contiguous)
    ):
        return None
    return over, (t._kind.dtype.name, a.shape, PickleBuffer(a.reshape(-1).view(np.uint8).data))


def over(name: str, sizes: Ints, memory: Any) -> Tensor:
    """A tensor of a dtype, by its name, that lies in `memory` row by row, and is all that lies there."""
    of = BY_NAME[name].np
    # frombuffer, unlike ndarray, looks no further than the memory that it is given.
    return wrap(np.frombuffer(memory, of).reshape(sizes) if 0 not in sizes else np.empty(sizes, of))


# --- deepcopy -----------------------------------------------------------------------------------


def deepcopy_tensor(t: Tensor, memo: dict[int, Any]) -> Tensor:
    """A leaf with its own memory, attributes and gradient; RuntimeError for what is no leaf."""
    known: Tensor | None = memo.get(id(t))
    if known is not None:
        return known
    check_leaf(t)
    own = type(t).__mro__[: type(t).__mro__.index(Tensor)]
    if t._kind.lazy:
        made = t.detach().clone()
    elif t._kind.on_meta and (not is_ours(type(t)) or any("clone" in vars(cls) for cls in own)):
        made = _cloned(t)  # it wraps another tensor
    elif t._kind.on_meta:
        made = meta_tensor(t._kind.dtype, tuple(t._geometry.shape), t.stride())
    else:
        layout = Layout(tuple(t._geometry.shape), t.stride(), t.storage_offset())
        if not is_ours(type(t)):
            _check_new(t)
        made = tensor_over(_deepcopy_storage(t, memo), t._kind.dtype, layout)
    if type(made) is not type(t):
        made = alias(made, cls=type(t))
    memo[id(t)] = made
    if t.requires_grad:
        made.requires_grad_()
    if t.grad is not None:
        made.grad = copy.deepcopy(t.grad, memo)
    for name in [n for cls in own for n in _slots(cls) if hasattr(t, n)]:
        setattr(made, name, copy.deepcopy(getattr(t, name), memo))
    if t.__dict__:
        made.__dict__.update(copy.deepcopy(attributes(t), memo))
    return made


def check_leaf(t: Tensor) -> None:
    """RuntimeError for what is no leaf, which deepcopy() does not copy."""
    if not t.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
            "moment. If you were attempting to deepcopy a module, this may be because it holds a computed "
            "tensor (torch.nn.utils.weight_norm does); copy t.detach() instead."
        )


def _cloned(t: Tensor) -> Tensor:
    """clone() of a class of wrappers; RuntimeError where that is of another class."""
    made = _past_classes(t.clone)
    if type(made) is not type(t):
        raise RuntimeError(_OF_ANOTHER_CLASS.format("", "clone()", "cloning", "clone()"))
    return made


def _check_new(t: Tensor) -> None:
    """RuntimeError unless new_empty() of a program's own class gives an instance of it."""
    if type(_past_classes(t.new_empty, ())) is not type(t):
        raise RuntimeError(_OF_ANOTHER_CLASS.format("non-", "new_empty()", "that function", "new_empty()"))


def _past_classes(method: Any, *args: Any) -> Tensor:
    """A method of the class's own, or of Tensor's past its `__torch_function__`; nothing is recorded."""
    with service("public name")("no_grad")():
        made: Tensor = service("call past classes")(method, (), args)
    return made


_OF_ANOTHER_CLASS = (
    "The default implementation of __deepcopy__() for {0}wrapper subclasses only works for subclass types "
    "that implement {1} and for which {2} returns another instance of the same subclass. You should either "
    "properly implement {1} for your subclass or override __deepcopy__() if it is intended behavior for {3} "
    "to return an instance of a different type."
)


def _slots(cls: type) -> list[str]:
    """The attributes that a class has slots for."""
    given = vars(cls).get("__slots__", ())
    names = [given] if isinstance(given, str) else list(given)
    return [n for n in names if n not in ("__dict__", "__weakref__")]


def _deepcopy_storage(t: Tensor, memo: dict[int, Any]) -> Storage:
    memory = storage(t)
    found = memo.get(id(memory))
    if found is None:
        found = memo[id(memory)] = storage_of(memory.bytes(t._memory).copy())
    return found
