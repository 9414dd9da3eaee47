"""torch._ops: ops that are functions of functions, with rules for transforms.

What else PyTorch keeps here is there by name (names/placeholders.tsv); torch.library makes ordinary ops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight import ops as ops
from rushlight._functorch.interpreters import CInterpreter, TransformType, peek_interpreter_stack
from rushlight.export.overloads import Overload as OpOverload, Packet as OpOverloadPacket
from rushlight.library import DispatchKey as DispatchKey

_KERNELS = ("AutogradCPU", "Autograd", "CPU", "CompositeExplicitAutograd", "CompositeImplicitAutograd")


class HigherOrderOperator:
    """An op whose functions py_impl registers, for dispatch keys and for transforms.

    A rule for a transform, of (interpreter, *args), is called while that is the innermost one; without one
    the call goes on to the keys, "AutogradCPU" first, then "CPU", then those of composite functions.
    """

    namespace = "higher_order"

    def __init__(self, name: str, *, cacheable: bool = False) -> None:
        if type(self) is HigherOrderOperator:
            raise RuntimeError(
                "Direct instantiation of HigherOrderOperator is not allowed. Please subclass it."
            )
        self._name = self.__name__ = name
        self._cacheable = cacheable
        self.py_kernels: dict[Any, Callable[..., Any]] = {}

    def py_impl(self, key: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator of the function for a DispatchKey, a TransformType or a mode's class."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            if key in self.py_kernels:
                raise RuntimeError(f"Trying to override a python impl for {key} on operator {self._name}")
            self.py_kernels[key] = function
            return function

        return register

    def fallthrough(self, key: Any) -> None:
        """Calls go on to the next key: they always do, where nothing is registered."""

    def name(self) -> str:
        """The op's name."""
        return self._name

    def __str__(self) -> str:
        return self._name

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        running = peek_interpreter_stack()
        rule = None if running is None else self.py_kernels.get(running.key())
        if rule is not None:
            return rule(running, *args, **kwargs)
        for key in _KERNELS:
            found = self.py_kernels.get(DispatchKey[key])
            if found is not None:
                return found(*args, **kwargs)
        raise NotImplementedError(
            f"{self._name} has no kernel for the CPU: py_impl of one of {', '.join(_KERNELS)} registers one"
        )


__all__ = [
    "CInterpreter",
    "DispatchKey",
    "HigherOrderOperator",
    "OpOverload",
    "OpOverloadPacket",
    "TransformType",
]
