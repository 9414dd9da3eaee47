"""torch._dynamo.exc: what compile() raises, and export for arguments and dimensions that cannot be."""

from rushlight._engine.core.errors import RecompileError, TorchDynamoException, Unsupported
from rushlight.export.errors import UserError, UserErrorType


class BackendCompilerFailed(TorchDynamoException):
    """A function that was given as `backend` has raised; inner_exception: what it raised."""

    def __init__(self, backend: object, inner_exception: Exception) -> None:
        self.backend_name = getattr(backend, "__name__", "?")
        kind = type(inner_exception).__name__
        super().__init__(f"backend={self.backend_name!r} raised:\n{kind}: {inner_exception}")
        self.inner_exception = inner_exception


class FailOnRecompileLimitHit(TorchDynamoException):
    """More kinds of arguments than config.recompile_limit have come, and that is to be an error."""


class TorchRuntimeError(TorchDynamoException):
    """An op of a program that is exported strictly has raised a RuntimeError."""


class UncapturedHigherOrderOpError(TorchDynamoException):
    """A branch or loop over tensors whose functions can be no graphs of their own."""


__all__ = [
    "BackendCompilerFailed",
    "FailOnRecompileLimitHit",
    "RecompileError",
    "TorchDynamoException",
    "TorchRuntimeError",
    "UncapturedHigherOrderOpError",
    "Unsupported",
    "UserError",
    "UserErrorType",
]
