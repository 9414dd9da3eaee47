"""torch._subclasses.meta_utils: whether two tensors are alike in all but their numbers."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import rushlight as torch


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

    def go(a: Any, b: Any) -> None:
        names = "dtype requires_grad is_sparse layout".split() + ([] if skip_leaf else ["is_leaf"])
        if not skip_symbolic:
            names.append("shape")
        calls = "is_inference is_conj is_neg".split()
        if a.layout is not torch.strided:
            calls += ["dense_dim", "sparse_dim", *(["is_coalesced"] if a.is_sparse else [])]
        else:
            calls += ["_is_view", *([] if skip_symbolic else ["stride", "storage_offset"])]
        for name in names:
            assert_eq(getattr(a, name), getattr(b, name))
        for name in calls:
            assert_eq(getattr(a, name)(), getattr(b, name)())
        grads = [t.grad if t.is_leaf or t.retains_grad else None for t in (a, b)]
        assert_eq(*[grad is not None for grad in grads])
        if grads[0] is not None:
            go(*grads)
        if a.layout is torch.strided and a._is_view():
            go(a._base, b._base)

    go(m1, m2)


def __getattr__(name: str) -> Any:
    """What else PyTorch has here can be imported."""
    return import_module("rushlight._engine.names.alternatives").attribute(__name__, name)
