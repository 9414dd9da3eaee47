"""Interfaces: classes that name methods, which modules and objects of several types have."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

from rushlight.jit.program import schema as schemas
from rushlight.jit.program.ir import Function
from rushlight.jit.program.types import NONE, ClassType, conforming, subtype


def is_interface(cls: Any) -> bool:
    """Whether a Python class is decorated by torch.jit.interface."""
    return isinstance(cls, type) and "__torch_script_interface__" in vars(cls)


def fill(made: ClassType, cls: Any, declare: Callable[[Any, ClassType], Function]) -> None:
    """Give an interface's type its methods, which have no body. declare(function, type): one of them."""
    made.is_interface = True
    made.compile = _nothing
    for name, found in vars(cls).items():
        if isinstance(found, types.FunctionType) and not name.startswith("__"):
            function = declare(inspect.unwrap(found), made)
            function.returns, function.finished = function.returns or NONE, True
            made.methods[name] = function


def _nothing(name: str) -> None:
    """An interface has the methods that it names."""


def missing(own: ClassType, interface: ClassType) -> str:
    """Why objects of a type do not have an interface; empty where they do."""
    if own.is_interface and not interface.is_interface:
        return f"'{own.qualname}' is an interface"
    if interface.is_module and not own.is_module:
        return (
            f"Class '{own.qualname}' is not a subtype of the module interface '{interface.qualname}' , only "
            "ScriptModule class can be subtype of module interface.\n"
        )
    for name, wanted in interface.methods.items():
        found = own.methods.get(name)
        if found is None:
            return (
                f"Class '{own.qualname}' does not have method '{name}' but interface "
                f"'{interface.qualname}' does.\n"
            )
        if not _fits(found, wanted):
            return (
                f"Method on class '{own.qualname}' (1) is not compatible with interface "
                f"'{interface.qualname}' (2)\n  (1) {_signature(found)}\n  (2) {_signature(wanted)}\n"
            )
    return ""


def incompatible(own: ClassType, interface: ClassType) -> str:
    """The same as a sentence about an object; empty where it has the interface."""
    why = missing(own, interface)
    message = f"Object of type {own.qualname} is not compatible with interface {interface.qualname}"
    return why and f"{message}\n{why}"


def _fits(found: Function, wanted: Function) -> bool:
    """Whether a method may be called as another one: it takes as much, and gives no more."""
    if len(found.arguments) < len(wanted.arguments):
        return False
    for (name, t, _), (said, other, _) in zip(found.arguments[1:], wanted.arguments[1:], strict=False):
        if name != said or not subtype(other, t):
            return False
    more = found.arguments[len(wanted.arguments) :]
    return all(default is not schemas.REQUIRED for _, _, default in more) and subtype(
        found.returns or NONE, wanted.returns or NONE
    )


def _signature(function: Function) -> str:
    parts = [f"{t.short()} {name}" for name, t, _ in function.arguments]
    return f"{function.name}({', '.join(parts)}) -> {(function.returns or NONE).short()}"


conforming.append(missing)
