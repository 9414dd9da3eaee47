"""What programs say about sizes to a compiler that bakes them in: kernels here take sizes at run time."""

from __future__ import annotations

from typing import Any

from rushlight._engine.core.pytree import flatten
from rushlight._engine.tensors.tensor import Tensor


def mark_static(t: Any, index: Any = None, **options: Any) -> None:
    """Nothing to do: kernels take sizes at run time, and guards look where tensors lie."""


def mark_dynamic(t: Any, index: Any, **options: Any) -> None:
    """Note which dims are to be free: a back end that is a function gets another graph for a tensor of which
    more are marked. AssertionError inside of a compiled function.
    """
    _outside(mark_dynamic)
    t.__dict__.setdefault("_dynamo_dynamic_indices", set()).update(
        index if isinstance(index, (list, tuple)) else [index]
    )


def marked(given: Any) -> tuple[frozenset[int], ...]:
    """The dims that are marked, of each tensor in arguments."""
    tensors = [t for t in flatten(given)[0] if isinstance(t, Tensor)]
    return tuple([frozenset(getattr(t, "_dynamo_dynamic_indices", ())) for t in tensors])


def maybe_mark_dynamic(t: Any, index: Any, **options: Any) -> None:
    """The same."""
    _outside(maybe_mark_dynamic)


def mark_unbacked(t: Any, index: Any, **options: Any) -> None:
    """The same."""
    _outside(mark_unbacked)


def mark_static_address(t: Any, guard: bool = False) -> None:
    """The same."""
    _outside(mark_static_address)


def _outside(function: Any) -> None:
    from rushlight._dynamo.api import is_compiling  # it imports what imports this file

    if is_compiling():
        raise AssertionError(f"Attempt to trace forbidden callable {function}: mark before the call")
