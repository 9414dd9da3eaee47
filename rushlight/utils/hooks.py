"""Handles of hooks, and the boundary through which a module's backward hooks see gradients."""

from __future__ import annotations

import functools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away; also a context manager.

    Tables are held weakly, so that a handle does not keep a module alive.
    """

    next_id: int = 0
    id: int

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extras = extra_dict if isinstance(extra_dict, list) else [extra_dict]
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extras if d is not None)

    def remove(self) -> None:
        """Take the hook away; a second call does nothing."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            table = reference()
            if table is not None and self.id in table:
                del table[self.id]

    def __getstate__(self) -> tuple[Any, ...]:
        tables = tuple(reference() for reference in self.extra_dict_ref)
        return (self.hooks_dict_ref(), self.id, tables) if tables else (self.hooks_dict_ref(), self.id)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        table, self.id, *extras = state
        # A dead table is replaced by one that dies at once: remove() then finds nothing.
        self.hooks_dict_ref = weakref.ref(OrderedDict() if table is None else table)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        found = extras[0] if extras else ()
        self.extra_dict_ref = tuple(weakref.ref(OrderedDict() if d is None else d) for d in found)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


def add_hook(table: Any, hook: Any, *, prepend: bool = False, marks: tuple[Any, ...] = ()) -> RemovableHandle:
    """Put a hook in its table (in front, if `prepend`), and a mark in each of the tables `marks`."""
    handle = RemovableHandle(table, extra_dict=list(marks))
    table[handle.id] = hook
    for mark in marks:
        mark[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def unserializable_hook(f: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a hook so that saving a tensor which has it warns that the hook is lost."""
    setattr(f, "__torch_unserializable__", True)
    return f


@functools.cache
def _boundary() -> Any:
    # Made at first use: most programs never register a backward hook.
    class BackwardHookFunction(torch.autograd.Function):
        """Identity; its backward shows the gradients to `ctx.react`."""

        @staticmethod
        def forward(ctx: Any, react: Any, materialize: bool, *tensors: Any) -> Any:
            ctx.react = react
            ctx.set_materialize_grads(materialize)
            ctx.mark_non_differentiable(*[t for t in tensors if not t.requires_grad])
            return tensors

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return (None, None, *ctx.react(grads))

    return BackwardHookFunction


class BackwardHook:
    """One call of a module with full backward hooks.

    The inputs and the outputs pass through an identity whose backward sees their gradients: at
    the outputs the pre-hooks run, at the inputs the hooks.
    """

    def __init__(self, module: Any, user_hooks: Iterable[Any], user_pre_hooks: Iterable[Any]) -> None:
        self.module = module
        self.user_hooks, self.user_pre_hooks = list(user_hooks), list(user_pre_hooks)
        self.grad_outputs: Any = None
        self.n_inputs = self.n_outputs = -1
        self.input_tensors_index: list[int] | None = None
        self.output_tensors_index: list[int] | None = None

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of forward, behind the boundary."""
        self.n_inputs = len(args)
        args, self.input_tensors_index = _through(args, self._at_inputs, True)
        return args

    def setup_output_hook(self, args: Any) -> Any:
        """The result of forward, behind the boundary."""
        single = not isinstance(args, tuple)
        outputs = (args,) if single else args
        self.n_outputs = len(outputs)
        outputs, self.output_tensors_index = _through(outputs, self._at_outputs, False)
        return outputs[0] if single else outputs

    def _at_outputs(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        index = self.output_tensors_index or []
        self.grad_outputs = _spread(index, grads, self.n_outputs)
        for hook in self.user_pre_hooks:
            found = hook(self.module, self.grad_outputs)
            if found is not None:
                self.grad_outputs = _checked(found, self.n_outputs, "pre hook", "grad_output")
        chosen = self.grad_outputs
        if self.input_tensors_index is None:
            self._without_inputs()
        return tuple(chosen[i] for i in index)

    def _without_inputs(self) -> None:
        warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since "
            "no inputs require gradients. Set requires_grad on an input to see its gradient."
        )
        for hook in self.user_hooks:
            found = hook(self.module, (None,) * self.n_inputs, self.grad_outputs)
            if found is not None and not (isinstance(found, tuple) and all(el is None for el in found)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient "
                    "should always return None or None for all gradients."
                )
        self.grad_outputs = None

    def _at_inputs(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.grad_outputs is None:
            # backward() reached the inputs without passing the outputs.
            return grads
        index = self.input_tensors_index or []
        seen = _spread(index, grads, self.n_inputs)
        for hook in self.user_hooks:
            found = hook(self.module, seen, self.grad_outputs)
            if found is not None:
                seen = _checked(found, self.n_inputs, "hook", "grad_input")
        self.grad_outputs = None
        return tuple(seen[i] for i in index)


def _through(values: tuple[Any, ...], react: Any, materialize: bool) -> tuple[Any, Any]:
    """`values` with their tensors behind the boundary, and where the tensors stand."""
    index = [i for i, v in enumerate(values) if isinstance(v, torch.Tensor)]
    tensors = [values[i] for i in index]
    if not (any(t.requires_grad for t in tensors) and torch.is_grad_enabled()):
        return values, None
    passed = _boundary().apply(react, materialize, *tensors)
    renewed = list(values)
    for i, tensor in zip(index, passed):
        renewed[i] = tensor
    return (tuple(renewed) if type(values) is tuple else type(values)(*renewed)), index  # or a named tuple


def _spread(index: list[int], values: tuple[Any, ...], size: int) -> tuple[Any, ...]:
    spread: list[Any] = [None] * size
    for i, value in zip(index, values):
        spread[i] = value
    return tuple(spread)


def _checked(found: Any, expected: int, hook: str, what: str) -> tuple[Any, ...]:
    grads = found if isinstance(found, tuple) else (found,)
    if len(grads) != expected:
        raise RuntimeError(
            f"Backward {hook} returned an invalid number of {what}, got {len(grads)}, but expected {expected}"
        )
    return grads
