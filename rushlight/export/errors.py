"""What export raises, under PyTorch's names."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from rushlight._engine.core.errors import TorchDynamoException


class UserErrorType(Enum):
    """What a caller did wrong."""

    DYNAMIC_CONTROL_FLOW = auto()
    ANTI_PATTERN = auto()
    STANDARD_LIBRARY = auto()
    CONSTRAINT_VIOLATION = auto()
    DYNAMIC_DIM = auto()
    INVALID_INPUT = auto()
    INVALID_OUTPUT = auto()
    UNSUPPORTED_ALIASED_MUTATED_DYNAMIC_INPUTS = auto()


class UserError(TorchDynamoException):
    """The caller's description of the inputs does not fit the program.

    error_type, a UserErrorType; msg, what is said. UserError(msg) is of an invalid input.
    """

    def __init__(
        self, error_type: UserErrorType | str, msg: str | None = None, case_name: str | None = None
    ) -> None:
        kind = UserErrorType.INVALID_INPUT if isinstance(error_type, str) else error_type
        said = error_type if isinstance(error_type, str) else msg
        super().__init__(said)
        self.error_type, self.msg, self.message = kind, said, said


class GuardOnDataDependentSymNode(RuntimeError):
    """The program looks at a tensor's numbers, which an exported program does not know. of_tensor: whether it
    asked a tensor itself whether it holds.
    """

    of_tensor = False


class ConstraintViolationError(RuntimeError):
    """An input's size is none of those that were said of it."""


def misfit(
    name: str, schema: Any, positional: int, count: int, missing: list[str], unknown: list[str]
) -> str:
    """Why arguments are not those of a signature, in PyTorch's words."""
    declared = schema.text if "::" in schema.text else str(schema)
    if count > len(schema.arguments):
        return (
            f"{name}() expected at most {len(schema.arguments)} argument(s) but received {count} "
            f"argument(s). Declaration: {declared}"
        )
    if positional > (most := sum(not p.kwarg_only for p in schema.arguments)):
        return (
            f"{name}() takes {most} positional argument(s) but {positional} was/were given.  "
            f"Declaration: {declared}"
        )
    if missing:
        return f"{name}() is missing value for argument '{missing[0]}'. Declaration: {declared}"
    return f"Unknown keyword argument '{unknown[0]}' for operator '{name}'. Schema: {declared}"
