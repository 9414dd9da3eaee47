"""torch._subclasses.meta_utils: tensors of the meta device that are like others; whether two are alike."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

import rushlight as torch
from rushlight._engine.core.device import META
from rushlight._engine.tensors.kind import kind
from rushlight._engine.tensors.meta import meta_array
from rushlight._engine.tensors.storages.storage import strided
from rushlight._engine.tensors.storages.untyped import UntypedStorage
from rushlight._engine.tensors.tensor import Tensor, storage, wrap
from rushlight.nn.parameter import Buffer, Parameter
from rushlight.utils.weak import WeakIdKeyDictionary

_COMPRESSED = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


def is_sparse_coo(t: object) -> bool:
    """Whether it is a sparse tensor of coordinates."""
    return isinstance(t, Tensor) and t.layout is torch.sparse_coo


def is_sparse_compressed_layout(layout: torch.layout) -> bool:
    """Whether it is a layout of compressed rows or columns, or of blocks."""
    return layout in _COMPRESSED


def is_sparse_compressed(t: object) -> bool:
    """Whether it is a sparse tensor of compressed rows or columns, or of blocks."""
    return isinstance(t, Tensor) and t.layout in _COMPRESSED


def is_sparse_any(t: object) -> bool:
    """Whether it is a sparse tensor."""
    return is_sparse_coo(t) or is_sparse_compressed(t)


class MetaConverter:
    """Makes tensors of the meta device that lie in memory as others do, are views where these are, share
    storages where these share them, and are leaves where these are. The same one for the same tensor, as
    long as both live.
    """

    def __init__(self, *, copy_data: bool = False) -> None:
        if copy_data:
            raise NotImplementedError("MetaConverter(copy_data=True): what it makes has no numbers")
        self.storage_memo: WeakKeyDictionary[Any, UntypedStorage] = WeakKeyDictionary()
        self.tensor_memo: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self.hit = self.miss = 0
        self._known = WeakIdKeyDictionary()  # tensor -> its number in the memo
        self._numbers = itertools.count()

    def successful(self) -> bool:
        """Whether there was a tensor, and none that it refused."""
        return self.hit > 0 and self.miss == 0

    def __call__(self, t: Any, shape_env: Any = None, *, callback: Any = None, **options: Any) -> Any:
        """The meta tensor of a tensor; NotImplemented of one of another class; anything else itself."""
        if type(t) in (Tensor, Parameter, Buffer) or (is_sparse_any(t) and not t.is_quantized):
            self.hit += 1
            found = self.meta_tensor(t)
            return Parameter(found.detach(), t.requires_grad) if type(t) is Parameter else found
        if torch.overrides.is_tensor_like(t):
            self.miss += 1
            return NotImplemented
        return t

    def number(self, t: Any) -> int:
        """The key of a tensor in the memo."""
        if t not in self._known:
            self._known[t] = next(self._numbers)
        found: int = self._known[t]
        return found

    def bare(self, t: Any) -> Any:
        """A new meta tensor that lies in its storage as `t` in its own; autograd knows nothing of it."""
        memory, array = storage(t), t._memory
        if memory not in self.storage_memo:
            whole = wrap(meta_array((t.untyped_storage().nbytes(),), np.uint8), kind(torch.uint8, META))
            self.storage_memo[memory] = UntypedStorage._of(whole)
        handle = self.storage_memo[memory]
        steps = tuple(s // array.itemsize for s in array.strides)
        flat = handle._shared.bytes(handle._view)
        made = wrap(strided(flat, array.dtype, array.shape, steps, t.storage_offset()), kind(t.dtype, META))
        made._storage = handle._shared
        return made

    def meta_tensor(self, t: Any) -> Any:
        """The meta tensor of a tensor."""
        number = self.number(t)
        made = self.tensor_memo.get(number)
        if made is None:
            made = self.tensor_memo[number] = self._made(t)
            if t.is_leaf and t.grad is not None:
                made.grad = self.meta_tensor(t.grad)
        return made

    def _made(self, t: Any) -> Any:
        if is_sparse_any(t):
            return t.detach().to("meta").requires_grad_(t.requires_grad)
        if t._is_view():
            made = self._view(t)
        elif t.is_leaf:
            return self.bare(t).requires_grad_(t.requires_grad)
        else:
            lying = self.bare(t).requires_grad_()
            with torch.enable_grad():
                made = lying.clone()
            with torch.no_grad():
                made.set_(lying.untyped_storage(), t.storage_offset(), t.size(), t.stride())
        if made.requires_grad != t.requires_grad:
            made = made.detach() if made.requires_grad else made.requires_grad_()
        return made

    def _view(self, t: Any) -> Any:
        """A view of the meta tensor of what `t` is a view of."""
        base = self.meta_tensor(t._base)
        with torch.set_grad_enabled(t.requires_grad and not t.is_leaf):
            if t.dtype is not base.dtype:
                if base.is_complex() and not t.is_complex():
                    base = torch.view_as_real(base)
                elif t.is_complex() and not base.is_complex():
                    base = torch.view_as_complex(base)
                base = base.view(t.dtype)
            made = base.as_strided(t.size(), t.stride(), t.storage_offset())
            made = made.conj() if t.is_conj() else made
            return torch._neg_view(made) if t.is_neg() else made


def assert_metadata_eq(
    assert_eq: Callable[[object, object], None],
    m1: Any,
    m2: Any,
    *,
    skip_symbolic: bool = False,
    skip_leaf: bool = False,
) -> None:
    """assert_eq(m1's, m2's) of dtype, shape, layout, strides, what autograd knows, and the same of gradients
    and of the tensors that they are views of.

    skip_symbolic: sizes and strides may differ. skip_leaf: whether they are leaves may.
    """
    again = partial(assert_metadata_eq, assert_eq, skip_symbolic=skip_symbolic, skip_leaf=skip_leaf)
    names = "dtype requires_grad is_sparse layout".split() + ([] if skip_leaf else ["is_leaf"])
    if not skip_symbolic:
        names.append("shape")
    calls = "is_inference is_conj is_neg".split()
    if m1.layout is not torch.strided:
        calls += ["dense_dim", "sparse_dim", *(["is_coalesced"] if m1.is_sparse else [])]
    else:
        calls += ["_is_view", *([] if skip_symbolic else ["stride", "storage_offset"])]
    for name in names:
        assert_eq(getattr(m1, name), getattr(m2, name))
    for name in calls:
        assert_eq(getattr(m1, name)(), getattr(m2, name)())
    grads = [t.grad if t.is_leaf or t.retains_grad else None for t in (m1, m2)]
    assert_eq(*[grad is not None for grad in grads])
    if grads[0] is not None:
        again(*grads)
    if m1.layout is torch.strided and m1._is_view():
        again(m1._base, m2._base)


def __getattr__(name: str) -> Any:
    """What else PyTorch has here can be imported."""
    return import_module("rushlight._engine.names.alternatives").attribute(__name__, name)
