"""torch.sparse.check_sparse_tensor_invariants: whether sparse tensors are checked when they are made."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any


class _State:
    enabled = False


class check_sparse_tensor_invariants:
    """A context manager, a decorator, and a switch: makers of sparse tensors check what they are given.

    with check_sparse_tensor_invariants(): ...   checks inside; (enable=False): does not
    check_sparse_tensor_invariants.enable()      checks from now on; disable(), is_enabled()

    A maker's own check_invariants= comes first.
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether makers check."""
        return _State.enabled

    @staticmethod
    def enable() -> None:
        """Check from now on."""
        _State.enabled = True

    @staticmethod
    def disable() -> None:
        """Do not check from now on."""
        _State.enabled = False

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context "
                "manager instance for context nesting."
            )
        self.saved_state, _State.enabled = _State.enabled, self.state

    def __exit__(self, *raised: Any) -> None:
        _State.enabled, self.saved_state = bool(self.saved_state), None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, run inside."""

        @wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return inside


def wanted(check_invariants: bool | None) -> bool:
    """Whether a maker that was given check_invariants= checks."""
    return _State.enabled if check_invariants is None else check_invariants
