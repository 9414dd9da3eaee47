"""torch.autograd.Function: ops whose gradients the user writes."""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight.autograd.inplace import rebase
from rushlight.autograd.mode import LOCAL, no_grad
from rushlight.autograd.natives import DelayedError
from rushlight.autograd.node import Node, edge, freed
from rushlight.autograd.packing import HOOKS, PackedTensor, pack
from rushlight.dispatch.formulanodes import fit
from rushlight.dispatch.saving import check_version, reattach, result_alias, version_of
from rushlight.dispatch.state import MODES, interpret, wrapped
from rushlight.tensor.tensor import WRAPPED, Tensor, storage, wrap


_FREED: Any = ("freed",)


class FunctionCtx(Node):
    """The `ctx` of forward and backward; it is the graph's node itself."""

    __slots__ = ("_to_save", "_saved", "needs_input_grad", "_dirty", "_non_differentiable",
                 "_materialize", "_shapes", "_freed", "_inputs", "__dict__")
    multi = True
    _function: Any = None

    def __init__(self, inputs: tuple[Any, ...]) -> None:
        tensors = [x for x in inputs if isinstance(x, Tensor)]
        super().__init__(tuple(edge(x) if isinstance(x, Tensor) else None for x in inputs), ())
        self.needs_input_grad = tuple(isinstance(x, Tensor) and x._g is not None for x in inputs)
        self._inputs = [(x._a.shape, x._k) if isinstance(x, Tensor) and x._g else None for x in inputs]
        self._to_save: tuple[Any, ...] = ()
        self._saved: list[Any] | None = []
        self._dirty: tuple[Any, ...] = ()
        self._non_differentiable: tuple[Any, ...] = ()
        self._materialize = True
        self._shapes: list[Any] = []
        self._freed = not tensors

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for backward, where they are ctx.saved_tensors."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError("save_for_backward can only save variables, but argument is of type "
                                f"{type(t).__name__}; keep other values as attributes of ctx")
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for jvp."""
        self.save_for_backward(*tensors)

    def mark_dirty(self, *args: Any) -> None:
        """Say which inputs forward wrote to in place."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say which results have no gradient."""
        self._non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (True) or None (False) for results without a gradient."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved; RuntimeError once freed, or where it was written to since."""
        if self.saved is _FREED:
            raise freed()
        if not self.saved:
            return self._to_save
        return tuple(None if kept is None else self._unpack(kept) for kept in self.saved)

    def _unpack(self, kept: Any) -> Any:
        if kept.__class__ is PackedTensor:
            return kept.restore(self)
        t, version, number = kept
        found = check_version(self, t, version)
        return _attached(found, self, number) if number >= 0 and LOCAL.enabled else found

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of saved_tensors."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        """What was saved, as it is held: each takes a pair of hooks of its own (register_hooks)."""
        if self.saved is _FREED:
            raise freed()
        from rushlight.autograd.savedvalues import of_function

        return of_function(self)

    @property
    def freed(self) -> bool:
        """Whether what was saved is gone."""
        return self.saved is _FREED

    def _close(self, outputs: tuple[Any, ...]) -> None:
        """After forward: what was saved, as the graph must keep it."""
        kept: list[Any] = []
        for t in self._to_save:
            if t is None:
                kept.append(None)
                continue
            number = next((i for i, o in enumerate(outputs) if o is t), -1)
            if HOOKS.stack:
                kept.append(pack(self, t, number))
            else:
                kept.append((t if number < 0 else t.detach() if t.__class__ in WRAPPED else result_alias(t),
                             version_of(t), number))
        self._to_save = ()
        self.saved = kept

    def results(self) -> int:
        """How many results forward gave."""
        return len(self._shapes)

    def release(self) -> None:
        """Let go of what was saved: backward may run again if it does not ask for that."""
        self.saved = _FREED

    def apply(self, grads: Any) -> Any:
        """Run the user's backward."""
        grads = list(grads) + [None] * (len(self._shapes) - len(grads))
        if self._materialize:
            grads = [_zeros(shape) if g is None and shape is not None else g
                     for g, shape in zip(grads, self._shapes, strict=True)]
        found = self._function._backward()(self, *grads)
        found = found if isinstance(found, tuple) else (found,)
        return _check_count(self, found)


def _zeros(like: Any) -> Tensor:
    shape, kind = like
    return wrap(np.zeros(shape, kind.np), kind)


def _check_count(ctx: FunctionCtx, found: tuple[Any, ...]) -> tuple[Any, ...]:
    wanted = len(ctx.next)
    if len(found) > wanted and all(g is None for g in found[wanted:]):
        found = found[:wanted]
    if len(found) != wanted:
        raise RuntimeError(f"function {ctx.name()} returned an incorrect number of gradients (expected "
                           f"{wanted}, got {len(found)})")
    return tuple(g if g is None or of is None else _fitted(ctx, i, g, *of)
                 for i, (g, of) in enumerate(zip(found, ctx._inputs, strict=True)))


def _fitted(ctx: FunctionCtx, number: int, g: Any, shape: tuple[int, ...], of: Any) -> Tensor:
    """A gradient in its input's shape and dtype."""
    if not isinstance(g, Tensor):
        raise RuntimeError(f"function {ctx.name()}: expected Variable or None (got {type(g).__name__})")
    have = g._a.shape
    if have != shape and (len(have) < len(shape) or any(
            n not in (1, m) for n, m in zip(shape[::-1], have[::-1], strict=False))):
        raise RuntimeError(f"Function {ctx.name()} returned an invalid gradient at index {number} - got "
                           f"{list(have)} but expected shape compatible with {list(shape)}")
    return g if have == shape and g._k is of else fit(g, shape, of)


class _FunctionMeta(type):
    """Gives each Function its node class, named as PyTorch names it."""

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> None:
        super().__init__(name, bases, body)
        cls._backward_cls = type(f"{name}Backward", (FunctionCtx,), {"_function": cls})


class Function(metaclass=_FunctionMeta):
    """Subclass with static methods forward(ctx, ...) [or forward(...) and setup_context(ctx, inputs,
    output)] and backward(ctx, *grads); call as Sub.apply(...)."""

    _backward_cls: type[FunctionCtx]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"{type(self).__name__} should not be instantiated. Methods on autograd "
                           "functions are all static, so you should invoke them on the class itself. "
                           "Instantiating an autograd function is legacy behavior: use .apply().")

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The op's computation."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what backward needs, where forward takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """One gradient per argument of forward."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom "
                                  "autograd.Function to use it with backward mode AD.")

    vjp = backward
    generate_vmap_rule = False

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """One tangent per result, from one per argument of forward."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use "
                                  "it with forward mode AD.")

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> Any:
        """(results, their batch dims) on batches; info has batch_size and randomness."""
        raise NotImplementedError("To use autograd.Function with vmap, you must either override the vmap "
                                  "staticmethod or set generate_vmap_rule=True.")

    @classmethod
    def _backward(cls) -> Callable[..., Any]:
        return cls.vjp if cls.backward is Function.backward else cls.backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward and record it."""
        if MODES and wrapped(args):
            return interpret(AsRow(cls), cls.apply, args, kwargs)
        return cls.run(cls._backward_cls(args), args, kwargs)

    @classmethod
    def run(cls, ctx: FunctionCtx, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`apply` with this ctx."""
        recording = LOCAL.enabled and any(isinstance(a, Tensor) and a._g is not None for a in args)
        before, LOCAL.enabled = LOCAL.enabled, False
        try:
            if cls.setup_context is Function.setup_context:
                output = cls.forward(ctx, *args, **kwargs)
            else:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
        finally:
            LOCAL.enabled = before
        return _record(ctx, args, output) if recording else output


class AsRow:
    """A Function, as interpreters see it."""

    kind, autocast = "function", "keep"

    def __init__(self, of: type[Function]) -> None:
        self.of, self.name = of, of.__name__


def _attached(t: Tensor, node: Any, number: int) -> Tensor:
    if t.__class__ in WRAPPED:
        return t._again(_attached(t.value, node, number))  # type: ignore[attr-defined,no-any-return]
    return reattach(t, node, number)


def _record(ctx: FunctionCtx, args: tuple[Any, ...], output: Any) -> Any:
    outputs = output if isinstance(output, (tuple, list)) else (output,)
    fresh = tuple(_as_result(ctx, o, args) for o in outputs)
    ctx._shapes = [(o._a.shape, o._k) if isinstance(o, Tensor) else None for o in fresh]
    ctx._to_save = tuple(next((f for f, o in zip(fresh, outputs, strict=True) if o is t), t)
                         for t in ctx._to_save)
    ctx._close(fresh)
    silent = {id(t) for t in ctx._non_differentiable}
    for number, (o, original) in enumerate(zip(fresh, outputs, strict=True)):
        if not isinstance(o, Tensor) or id(original) in silent or o._k.dtype.category < 2:
            continue
        if any(o is d for d in ctx._dirty):
            target = result_alias(o)
            target._g, target._i = ctx, number
            storage(o).version += 1
            rebase(o, target)
        else:
            o._g, o._i = ctx, number
    return fresh[0] if not isinstance(output, (tuple, list)) else type(output)(fresh)


def _as_result(ctx: FunctionCtx, o: Any, args: tuple[Any, ...]) -> Any:
    # An input that is handed through unchanged becomes a view, so that it can have its own node.
    if isinstance(o, Tensor) and any(o is a for a in args) and not any(o is d for d in ctx._dirty):
        return o.detach()
    return o


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a backward that cannot be differentiated again: doing so raises."""
    @functools.wraps(function)
    def wrapper(ctx: Any, *args: Any) -> Any:
        recording = LOCAL.enabled
        with no_grad():
            found = function(ctx, *args)
        if not recording or not any(isinstance(a, Tensor) and a._g is not None for a in args):
            return found
        outs = found if isinstance(found, tuple) else (found,)
        refusing = DelayedError("trying to differentiate twice a function that was marked with "
                                "@once_differentiable", len(outs))
        return refusing(*[o.detach().requires_grad_() if isinstance(o, Tensor) else o for o in outs])
    return wrapper


class _Engine:
    """`Variable._execution_engine`: the hook that distributed programs use."""

    @staticmethod
    def queue_callback(callback: Callable[[], None]) -> None:
        """Call `callback` when the running backward is through."""
        from rushlight.autograd.hooks import queue_callback

        queue_callback(callback)


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableMeta):
    """The old name of a tensor that tracks gradients."""

    _execution_engine = _Engine()

    def __new__(cls, data: Any, requires_grad: bool = False) -> Any:  # noqa: D102
        return data.detach().requires_grad_(requires_grad)
