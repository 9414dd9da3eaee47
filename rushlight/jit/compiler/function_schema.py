"""What a compiled function says of its arguments and results: torch.FunctionSchema."""

from __future__ import annotations

from abc import ABCMeta
from dataclasses import dataclass
from typing import Any

from rushlight.jit.compiler.calls import declaration
from rushlight.jit.program.graphtypes import Type, typed
from rushlight.jit.program.ir import Function
from rushlight.jit.program.schema import REQUIRED
from rushlight.jit.program.types import NONE
from rushlight.ops._schemas import Schema


@dataclass(frozen=True)
class Argument:
    """One argument, or one result, which has no name."""

    name: str
    type: Type
    default_value: Any = None
    kwarg_only: bool = False
    defaulted: bool = False
    N: int | None = None  # of a list for which one number may stand, how many it has

    @property
    def alias_info(self) -> None:
        """Nothing: what compiled functions do to memory is not told."""
        return None

    @property
    def is_out(self) -> bool:
        """Whether it is a result's memory: never."""
        return False

    @property
    def real_type(self) -> Type:
        """The type."""
        return self.type

    def has_default_value(self) -> bool:
        """Whether a call may leave it out."""
        return self.defaulted


class FunctionSchema(metaclass=ABCMeta):  # noqa: B024 (signatures of ops are of a class of their own)
    """name(arguments) -> result, of a compiled function, as signatures of ops are."""

    overload_name = ""
    is_mutable = False

    def __init__(self, function: Function) -> None:
        self.name, self._text = function.name, declaration(function)
        last = len(function.arguments) - function.named_only
        self.arguments = [
            Argument(
                name,
                typed(t),
                None if default is REQUIRED else default,
                place >= last,
                default is not REQUIRED,
                function.repeated.get(name),
            )
            for place, (name, t, default) in enumerate(function.arguments)
        ]
        self.returns = [Argument("", typed(function.returns or NONE))]

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


FunctionSchema.__module__ = Argument.__module__ = "torch"
FunctionSchema.register(Schema)
