"""The module that compile(module) gives."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from rushlight._engine.core.callers import warn
from rushlight._engine.core.recording import escape
from rushlight.nn import Module
from rushlight.nn.modules.module import _has_any_global_hook

# Where hooks of all modules are; programs put fresh tables in their place.
_of_all = _has_any_global_hook.__globals__


class OptimizedModule(Module):
    """A module whose calls are compiled; all else is the original's, found as `_orig_mod`.

    Hooks are its own: they run around the compiled call. What is written, copied and loaded is the original
    and how it is compiled.
    """

    def __init__(self, module: Module, make: Any) -> None:
        super().__init__()
        self._orig_mod = module
        self.__dict__["dynamo_ctx"] = make
        self._initialize()

    def _initialize(self) -> None:
        # The compiled call, as which it is found without another function in between.
        self.__dict__["_compiled"] = self.__dict__["forward"] = self.dynamo_ctx(self._orig_mod.__call__)

    @property
    def _runner(self) -> Any:
        """What the compiled call is run by; AttributeError where it is not compiled."""
        return self.__dict__["_compiled"]._runner

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # Looked up in the dict, since a class that has a __getattr__ is asked slowly.
        own = self.__dict__
        if not (
            own["_forward_hooks"]
            or own["_forward_pre_hooks"]
            or own["_backward_hooks"]
            or own["_backward_pre_hooks"]
            or "_compiled_call_impl" in own
            or _of_all["_global_forward_hooks"]
            or _of_all["_global_forward_pre_hooks"]
            or _of_all["_global_backward_hooks"]
            or _of_all["_global_backward_pre_hooks"]
        ):
            return own["forward"](*args, **kwargs)
        if _has_any_global_hook():
            warn(
                "Using `torch.compile(module)` when there are global hooks on modules (e.g., from "
                "`register_module_forward_hook`); this will cause the hooks to fire an extra time for the "
                "`OptimizedModule` created by `torch.compile(module)`. If this causes undesired behavior, "
                "please try using `module.compile()`, or use the per-module hooks instead",
                UserWarning,
            )
        return super().__call__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The compiled call."""
        return self.__dict__["_compiled"](*args, **kwargs)

    def __len__(self) -> int:
        if isinstance(self._orig_mod, Sized):
            return len(self._orig_mod)
        raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")

    # The original's, whoever sets it.
    @property
    def training(self) -> bool:
        """The mode of both modules."""
        mode: bool = self._orig_mod.training
        return mode

    @training.setter
    def training(self, mode: bool) -> None:
        if "_orig_mod" in self._modules:  # not yet in Module.__init__
            self._orig_mod.training = mode

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._modules["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_orig_mod" or hasattr(type(self), name) or "_modules" not in self.__dict__:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name == "_orig_mod" or hasattr(type(self), name):
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        """The names of the original and its own."""
        found = dir(self._orig_mod)
        return [*found, *[name for name in super().__dir__() if name not in found]]

    def __reduce__(self) -> Any:
        return type(self), (self._orig_mod, self.dynamo_ctx), self.__getstate__()

    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()
        compiled = state.pop("_compiled", None)
        if state.get("forward") is compiled:
            state.pop("forward", None)
        return state

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)
        self._initialize()


def unsupported(first: Any, second: Any) -> Any:
    """The second, after the end of a graph: what no compiler looks into, for programs that test that."""
    escape("unsupported() was called")
    return second


def is_dynamo_supported() -> bool:
    """True: compile() works on every Python that this package does."""
    return True


def is_inductor_supported() -> bool:
    """True: kernels are compiled by LLVM."""
    return True
