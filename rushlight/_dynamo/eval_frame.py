"""The module that compile(module) gives."""

from __future__ import annotations

from typing import Any

from rushlight._engine.core.recording import escape
from rushlight.nn import Module


class OptimizedModule(Module):
    """A module whose calls are compiled; all else is the original's, found as `_orig_mod`."""

    def __init__(self, module: Module, make: Any) -> None:
        super().__init__()
        self._orig_mod = module
        self.__dict__["dynamo_ctx"] = make
        self.__dict__["_compiled"] = made = make(module.__call__)
        self.__dict__["_runner"] = made._runner
        self.training = module.training

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["_compiled"](*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The compiled call."""
        return self(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._modules["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_orig_mod", "training") or "_modules" not in self.__dict__:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __dir__(self) -> list[str]:
        """The names of the original and its own."""
        found = dir(self._orig_mod)
        return [*found, *[name for name in super().__dir__() if name not in found]]

    def train(self, mode: bool = True) -> OptimizedModule:
        """Set the mode of both modules."""
        self._orig_mod.train(mode)
        self.training = mode
        return self

    def __reduce__(self) -> Any:
        raise RuntimeError("a compiled module cannot be pickled: save its state_dict(), or `_orig_mod`")


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
