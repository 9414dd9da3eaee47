"""Hooks of modules: how they are registered, on one module or on all, and the call that runs them.

A module without hooks never gets here: Module.__call__ goes straight to forward().
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.lazy import package
from rushlight.nn.modules.base.tables import Tables
from rushlight.utils.hooks import BackwardHook, RemovableHandle, add_hook


def _tables() -> Any:
    """The module whose variables the global tables are: a program may put others in their place."""
    return sys.modules["rushlight.nn.modules.module"]


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, name, buffer)` on every registration; a result replaces the buffer."""
    return add_hook(_tables()._global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, name, submodule)` on every registration; a result replaces the submodule."""
    return add_hook(_tables()._global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, name, param)` on every registration; a result replaces the parameter."""
    return add_hook(_tables()._global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, args)` before every module's forward; a result replaces the arguments."""
    return add_hook(_tables()._global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """`hook(module, args, output)` after every module's forward; a result replaces the output."""
    marks = [_tables()._global_forward_hooks_with_kwargs] if with_kwargs else []
    marks += [_tables()._global_forward_hooks_always_called] if always_call else []
    return add_hook(_tables()._global_forward_hooks, hook, marks=tuple(marks))


def _claim_global(full: bool) -> None:
    _check_kind(_tables()._global_is_full_backward_hook, full, "as a global Module hook")
    _tables()._global_is_full_backward_hook = full


def _check_kind(before: bool | None, full: bool, where: str) -> None:
    if before is (not full):
        raise RuntimeError(
            f"Cannot use both regular backward hooks and full backward hooks {where}."
            " Please use only one of them."
        )


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Deprecated: use register_module_full_backward_hook."""
    _claim_global(False)
    return add_hook(_tables()._global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, grad_output)` before every module's backward."""
    return add_hook(_tables()._global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, grad_input, grad_output)` after every module's backward."""
    _claim_global(True)
    return add_hook(_tables()._global_backward_hooks, hook)


class _WrappedHook:
    """A hook that gets its module as first argument, held weakly (so that it can be copied)."""

    __module__ = f"{package()}.nn.modules.module"  # as in PyTorch: pickles say so

    def __init__(self, hook: Callable[..., Any], module: Any = None) -> None:
        self.hook = hook
        self.with_module = module is not None
        self.module: Any = weakref.ref(module) if self.with_module else None
        for name in ("__module__", "__name__", "__doc__"):
            if hasattr(hook, name):
                setattr(self, name, getattr(hook, name))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        module = state.get("module")
        if state["with_module"] and module is None:
            raise RuntimeError("You are trying to revive the hook of a dead Module!")
        _WrappedHook.__init__(self, state["hook"], module)


_LOADED, _STATE = sys.modules, f"{package()}.jit.state"


def _traced() -> bool:
    """Whether torch.jit.trace records this."""
    state: Any = _LOADED.get(_STATE)
    return state is not None and state.tracing() is not None


class Hooks(Tables):
    """The part of Module that runs hooks around forward and backward."""

    def register_forward_pre_hook(
        self,
        hook: Callable[[Any, Any], Any] | Callable[[Any, Any, Any], Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args)` before forward; a result replaces the arguments.

        `with_kwargs`: `hook(module, args, kwargs)`, which returns None or (args, kwargs).
        `prepend`: before the hooks already there. Returns a handle with `remove()`.
        """
        marks = (self._forward_pre_hooks_with_kwargs,) if with_kwargs else ()
        return add_hook(self._forward_pre_hooks, hook, prepend=prepend, marks=marks)

    def register_forward_hook(
        self,
        hook: Callable[[Any, Any, Any], Any] | Callable[[Any, Any, Any, Any], Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after forward; a result replaces the output.

        `with_kwargs`: `hook(module, args, kwargs, output)`. `always_call`: also when forward
        raised. `prepend`: before the hooks already there. Returns a handle with `remove()`.
        """
        marks = [self._forward_hooks_with_kwargs] if with_kwargs else []
        marks += [self._forward_hooks_always_called] if always_call else []
        return add_hook(self._forward_hooks, hook, prepend=prepend, marks=tuple(marks))

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the module's gradients are computed."""
        return add_hook(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(
        self, hook: Callable[[Any, Any, Any], Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` once the inputs' gradients are known."""
        self._claim(True)
        return add_hook(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Deprecated: use register_full_backward_hook."""
        self._claim(False)
        return add_hook(self._backward_hooks, hook)

    def _claim(self, full: bool) -> None:
        _check_kind(self._is_full_backward_hook, full, "on a single Module")
        self._is_full_backward_hook = full

    def _get_backward_hooks(self) -> tuple[list[Any], list[Any]]:
        """The full backward hooks and the others, global ones first."""
        full: list[Any] = []
        other: list[Any] = []
        tables = _tables()
        (full if tables._global_is_full_backward_hook is True else other).extend(
            tables._global_backward_hooks.values()
        )
        (full if self._is_full_backward_hook is True else other).extend(self._backward_hooks.values())
        return full, other

    def _get_backward_pre_hooks(self) -> list[Any]:
        return [*_tables()._global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    def _slow_forward(self, *input: Any, **kwargs: Any) -> Any:
        """forward() while torch.jit.trace records; tools that follow what it records put theirs in place."""
        return self.forward(*input, **kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        """forward() with all hooks around it."""
        called: set[int] = set()
        result = None
        try:
            args, kwargs = self._run_pre_hooks(args, kwargs)
            full, other = self._get_backward_hooks()
            before = self._get_backward_pre_hooks()
            boundary = BackwardHook(self, full, before) if full or before else None
            if boundary is not None:
                args = boundary.setup_input_hook(args)
            result = (self._slow_forward if _traced() else self.forward)(*args, **kwargs)
            result = self._run_forward_hooks(args, kwargs, result, called)
            if boundary is not None:
                if not isinstance(result, (torch.Tensor, tuple)):
                    warn(
                        "For backward hooks to be called, module output should be a Tensor or a "
                        f"tuple of Tensors but received {type(result)}"
                    )
                result = boundary.setup_output_hook(result)
            if other:
                self._hook_grad_fn(other, args, result)
            return result
        except Exception:
            self._run_always_called(args, kwargs, result, called)
            raise

    def _run_pre_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        for key, hook in (*_tables()._global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()):
            if key in self._forward_pre_hooks_with_kwargs:
                found = hook(self, args, kwargs)
                if found is None:
                    continue
                if not (isinstance(found, tuple) and len(found) == 2):
                    raise RuntimeError(
                        "forward pre-hook must return None or a tuple of (new_args, "
                        f"new_kwargs), but got {found}."
                    )
                args, kwargs = found
            else:
                found = hook(self, args)
                if found is not None:
                    args = found if isinstance(found, tuple) else (found,)
        return args, kwargs

    def _run_forward_hooks(self, args: Any, kwargs: Any, result: Any, called: set[int]) -> Any:
        for key, hook in (*_tables()._global_forward_hooks.items(), *self._forward_hooks.items()):
            called.add(key)
            found = self._run_forward_hook(key, hook, args, kwargs, result)
            if found is not None:
                result = found
        return result

    def _run_forward_hook(self, key: int, hook: Any, args: Any, kwargs: Any, result: Any) -> Any:
        if key in self._forward_hooks_with_kwargs or key in _tables()._global_forward_hooks_with_kwargs:
            return hook(self, args, kwargs, result)
        return hook(self, args, result)

    def _run_always_called(self, args: Any, kwargs: Any, result: Any, called: set[int]) -> None:
        """After an error: run the hooks registered with always_call that have not run yet."""
        pairs = (
            (_tables()._global_forward_hooks, _tables()._global_forward_hooks_always_called),
            (self._forward_hooks, self._forward_hooks_always_called),
        )
        for table, always in pairs:
            where = "global module" if table is _tables()._global_forward_hooks else "module"
            for key in [k for k in table if k in always and k not in called]:
                try:
                    found = self._run_forward_hook(key, table[key], args, kwargs, result)
                    result = result if found is None else found
                except Exception as e:  # the first error is the one to raise
                    warn(
                        f"{where} forward hook with ``always_call=True`` raised an exception that "
                        f"was silenced as another error was raised in forward: {e}"
                    )

    def _hook_grad_fn(self, hooks: list[Any], args: Any, result: Any) -> None:
        """Deprecated backward hooks sit on the node of the (first) result."""
        first = result
        while not isinstance(first, torch.Tensor):
            if isinstance(first, dict):
                first = next(v for v in first.values() if isinstance(v, torch.Tensor))
            else:
                first = first[0]
        node = first.grad_fn
        if node is not None:
            for hook in hooks:
                node.register_hook(_WrappedHook(hook, self))
            self._maybe_warn_non_full_backward_hook(args, result, node)

    def _maybe_warn_non_full_backward_hook(self, inputs: Any, result: Any, grad_fn: Any) -> None:
        """A FutureWarning where a deprecated backward hook does not see all gradients."""
        what, missing = "non-full backward hooks on a Module that does not ", ""
        several = isinstance(result, tuple) and all(isinstance(r, torch.Tensor) for r in result)
        if not several and not isinstance(result, torch.Tensor):
            what, missing = f"{what}return a single Tensor or a tuple of Tensors", "of the grad_output"
        elif not all(isinstance(a, torch.Tensor) for a in inputs):
            what, missing = f"{what}take as input a single Tensor or a tuple of Tensors", "of the grad_input"
        elif several and len({r.grad_fn for r in result if r.grad_fn is not None}) > 1:
            what = "a non-full backward hook when outputs are generated by different autograd Nodes"
            missing = "grad_output"
        elif {n for n, _ in grad_fn.next_functions} != {a.grad_fn for a in inputs if a.grad_fn is not None}:
            what = "a non-full backward hook when the forward contains multiple autograd Nodes"
            missing = "grad_input"
        if missing:
            warn(
                f"Using {what} is deprecated and will be removed in future versions. This hook will be "
                f"missing some {missing}. Please use register_full_backward_hook to get the documented "
                "behavior.",
                FutureWarning,
            )
