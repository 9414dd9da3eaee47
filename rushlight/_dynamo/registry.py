"""The names that compile's `backend=` takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import NoneType
from typing import Any

Backend = Callable[..., Any]
# Rushlight's own, by its names; those that change nothing, which are there to find where a fault lies.
_OWN = ("cudagraphs", "inductor")
_PLAIN = (
    "aot_eager",
    "aot_eager_decomp_partition",
    "aot_eager_decomp_partition_crossref",
    "aot_eager_decomp_partition_with_mode",
    "aot_eager_default_partitioner",
    "eager",
    "eager_debug",
    "eager_noexcept",
    "pre_dispatch_eager",
)
_registered: dict[str, Backend] = {}
_tags: dict[str, tuple[str, ...]] = {name: ("debug",) for name in _PLAIN}


class InvalidBackend(RuntimeError):
    """`backend=` names none that is here."""


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """The names that `backend=` takes, sorted; without those that bear one of these tags."""
    left_out = set(exclude_tags or ())
    return sorted(name for name in (*_OWN, *_PLAIN, *_registered) if left_out.isdisjoint(_tags.get(name, ())))


def register_backend(
    compiler_fn: Backend | None = None, name: str | None = None, tags: Sequence[str] = (), **options: Any
) -> Any:
    """Let `backend=name` (the function's own name by default) mean this function; usable as a decorator.

    AssertionError where the name is taken.
    """
    if compiler_fn is None:
        return partial(register_backend, name=name, tags=tags, **options)
    known = name or compiler_fn.__name__
    if known in list_backends(()):
        raise AssertionError(f"duplicate name: {known}")
    _registered[known], _tags[known] = compiler_fn, tuple(tags)
    return compiler_fn


def named(backend: Any) -> Any:
    """A name or a function as it is; for what is neither, what fails as it is called, by its name."""
    if callable(backend) or isinstance(backend, (str, NoneType)):
        return backend

    def failing(gm: Any, example_inputs: Sequence[Any]) -> Any:
        return backend(gm, example_inputs)

    failing.__name__ = str(backend)
    return failing


def resolve(backend: Any) -> Any:
    """A function, "inductor" for Rushlight's own, "eager" for what changes nothing; else InvalidBackend."""
    backend = named(backend)
    if callable(backend):
        return backend
    if backend in _OWN or backend in _PLAIN:
        return "inductor" if backend in _OWN else "eager"
    if backend not in _registered:
        raise InvalidBackend(
            f"Invalid backend: {backend!r}, see `torch._dynamo.list_backends()` for available backends."
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
