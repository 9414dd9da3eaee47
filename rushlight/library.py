"""torch.library: ops of a program's own, which are called as torch.ops.NAMESPACE.NAME."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from types import SimpleNamespace
from typing import Any

import rushlight as torch
from rushlight.autograd import Function
from rushlight.base.pytree import broadcast, flatten
from rushlight.dispatch.state import MODES, STACK
from rushlight.ops import NAMESPACES


class _Call(Function):
    """A call of a custom op as a node: its inputs are all tensors among the arguments, also in lists."""

    @staticmethod
    def forward(ctx: Any, op: Any, tree: Any, *leaves: Any) -> Any:
        args = tree.unflatten(leaves)
        found = op._compute(leaves)(*args)
        ctx.op, ctx.tree = op, tree
        if op._setup_context is not None:
            op._setup_context(ctx=ctx, inputs=args, output=found)
        return found

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if ctx.op._backward is None:
            raise RuntimeError(f"Trying to backward through {ctx.op._name}.default but no autograd formula "
                               "was registered. Please use register_autograd to add one.")
        found = ctx.op._backward(ctx, *grads)
        grads = broadcast(found if isinstance(found, tuple) else (found,), ctx.tree)
        return None, None, *(grads or ())


class CustomOpDef:
    """An op whose body is a Python function of tensors; autograd and compile() look no further into it."""

    def __init__(self, name: str, fn: Callable[..., Any]) -> None:
        self._name, self._fn, self._signature = name, fn, signature(fn)
        self._fake = self._backward = self._setup_context = None
        self.default = self

    def _compute(self, leaves: Any) -> Callable[..., Any]:
        meta = any(isinstance(leaf, torch.Tensor) and leaf.is_meta for leaf in leaves)
        return self._fake if meta and self._fake is not None else self._fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        leaves, tree = flatten(tuple(bound.arguments.values()))
        run, how = _Call.apply, (self, tree, *leaves)
        for mode in MODES and STACK.modes:
            if hasattr(mode, "custom"):
                run, how = partial(mode.custom, self), (run, how, args, kwargs)
        return run(*how)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._name})>"

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """fn(*args) runs instead where an argument is a tensor on the meta device; a decorator."""
        self._fake = fn
        return fn

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Any = None) -> None:
        """backward(ctx, *grads) gives a gradient or None for each argument; setup_context(ctx, inputs,
        output) saves for it what it needs."""
        self._backward, self._setup_context = backward, setup_context


def custom_op(name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: Any,
              device_types: Any = None, schema: str | None = None, tags: Any = None) -> Any:
    """The op `name` ("namespace::name"), computed by fn; a decorator without fn.

    mutates_args: names of the arguments that fn writes to. Nothing depends on it here: what is written to
    counts versions by itself. device_types, schema, tags: accepted. Errors: ValueError for a name without
    a namespace.
    """
    space, separator, own = name.partition("::")
    if not separator or not own.isidentifier() or not space.isidentifier():
        raise ValueError(f"custom_op: expected a name such as 'mylib::square', got {name!r}")

    def define(fn: Callable[..., Any]) -> CustomOpDef:
        op = CustomOpDef(name, fn)
        setattr(NAMESPACES.setdefault(space, SimpleNamespace()), own, op)
        return op
    return define if fn is None else define(fn)


def _op(op: Any) -> CustomOpDef:
    if isinstance(op, str):
        space, _, own = op.partition("::")
        op = getattr(NAMESPACES.get(space), own, op)
    if not isinstance(op, CustomOpDef):
        raise RuntimeError(f"operator {op} does not exist: expected what torch.library.custom_op made, or "
                           "its name")
    return op


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """CustomOpDef.register_fake of an op or its name; a decorator without func."""
    return _op(op).register_fake if func is None else _op(op).register_fake(func)


def register_autograd(op: Any, backward: Callable[..., Any], /, *, setup_context: Any = None,
                      lib: Any = None) -> None:
    """CustomOpDef.register_autograd of an op or its name."""
    _op(op).register_autograd(backward, setup_context=setup_context)
