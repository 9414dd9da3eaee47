"""What names stand for while a program is compiled, when they are not (yet) values of the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rushlight.jit.program.ir import Function, Value
from rushlight.jit.program.types import ClassType


@dataclass
class Items:
    """Things in a row that the compiler knows one by one: modules of a ModuleList, *args, zip(...)."""

    items: list[Any]


@dataclass
class Known:
    """An object of Python: a module, a function, a class."""

    object: Any


@dataclass
class Builtin:
    """An op of the table, with what comes before its arguments (the tensor of a method)."""

    kind: str
    args: tuple[Any, ...] = ()


@dataclass
class Overloaded:
    """Functions of one name; the first whose arguments fit is called. value: whose methods they are."""

    functions: list[Function]
    value: Value | None = None


@dataclass
class Method:
    """A method of a value; `owner` is its class, `name` the method's."""

    value: Value
    owner: ClassType
    name: str


@dataclass
class Space:
    """A dotted name in a file's code that is not complete yet: torch, ops.prim, __torch__.torch.nn."""

    path: str


@dataclass
class Missing:
    """A variable that only some ways to here have assigned, or that was deleted, which `held` was before."""

    message: str
    place: str
    held: Value | None = None


@dataclass
class Manager:
    """One of torch's context managers that a program has made, and its arguments."""

    manager: Any
    args: tuple[Value, ...]
