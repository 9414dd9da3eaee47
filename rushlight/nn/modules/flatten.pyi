# Written by `python tools/stubs.py`.
"""Flatten and Unflatten: merge dims into one, and split one dim."""
from builtins import int as _int, type as _type
from rushlight import Tensor
from rushlight.nn.modules.module import Module, _Forward, _P, _R
from typing import Any

class Flatten(Module):
    """Merge the dims from `start_dim` to `end_dim` into one: (N, a, b) -> (N, a * b)."""

    end_dim: _int
    start_dim: _int
    def __init__(self, start_dim: _int = 1, end_dim: _int = -1) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: start_dim, end_dim."""
    def forward(self, input: Any) -> Tensor:
        """The input with fewer dims: a view where its strides allow that, else a copy."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Unflatten(Module):
    """Split the dim `dim` into dims of sizes `unflattened_size`: (N, a * b) -> (N, a, b).

    Of a named dim: its name, and pairs of names and sizes.
    """

    dim: _int | str
    unflattened_size: tuple[_int, ...] | list[_int] | tuple[tuple[str, _int], ...]
    def __init__(self, dim: _int | str, unflattened_size: tuple[_int, ...] | list[_int] | tuple[tuple[str, _int], ...]) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: dim, unflattened_size."""
    def forward(self, input: Any) -> Tensor:
        """A view of the input with more dims; RuntimeError unless the sizes multiply to that of `dim`."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
def _check_elements(size: object, outer: tuple[_type, ...], inner: _type, what: str) -> None:
    """TypeError unless `size` is one of the types `outer`, and holds objects of the type `inner` alone."""
__all__ = ['Flatten', 'Unflatten']
