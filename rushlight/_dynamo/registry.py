"""The names that compile's `backend=` takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

Backend = Callable[..., Any]
BACKENDS = ("inductor", "eager", "aot_eager")
_registered: dict[str, Backend] = {}


class InvalidBackend(RuntimeError):
    """`backend=` names none that is here."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The names that `backend=` takes."""
    return [*BACKENDS, *_registered]


def register_backend(
    compiler_fn: Backend | None = None, name: str | None = None, tags: Sequence[str] = (), **options: Any
) -> Any:
    """Let `backend=name` (the function's own name by default) mean this function; usable as a decorator.

    AssertionError where the name is taken.
    """
    if compiler_fn is None:
        return partial(register_backend, name=name, tags=tags, **options)
    known = name or compiler_fn.__name__
    if known in list_backends():
        raise AssertionError(f"duplicate name: {known}")
    _registered[known] = compiler_fn
    return compiler_fn


def resolve(backend: Any) -> Any:
    """A function, or one of Rushlight's own names; InvalidBackend for a name that is neither.

    RuntimeError for what is neither a name nor a function.
    """
    if callable(backend) or backend in BACKENDS:
        return backend
    if backend not in _registered:
        raise InvalidBackend(
            f"Invalid backend: {backend!r}, see `torch._dynamo.list_backends()` for available backends: "
            f"{', '.join(list_backends())}."
        )
    return _registered[backend]


def lookup_backend(compiler_fn: str | Backend) -> Backend:
    """The function (graph module, its inputs) -> callable that a name stands for; a function as it is."""
    found = resolve(compiler_fn)
    return eager if isinstance(found, str) else found


def eager(gm: Any, fake_tensor_inputs: Sequence[Any], **kwargs: Any) -> Callable[..., Any]:
    """A backend that runs the graph's ops as they are."""
    forward: Callable[..., Any] = gm.forward
    return forward
