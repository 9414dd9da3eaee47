"""What programs and indices are written with: Python's numbers, and indices of known numbers of dims."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.dispatch.arguments import plain_number


def plain_numbers(found: Any) -> Any:
    """An argument with Python's numbers for NumPy's, also in lists, tuples and dicts; others as they are."""
    if type(found) in (list, tuple):
        return type(found)(map(plain_numbers, found))
    return {k: plain_numbers(v) for k, v in found.items()} if type(found) is dict else plain_number(found)


def without_dots(base: Any, index: tuple[Any, ...]) -> tuple[Any, ...]:
    """The index with slices for ..., where a tensor or list behind it gathers: its dim is counted.

    Scripts refuse such an index, as they do not know how many dims there are; a trace does.
    """
    place = next((i for i, part in enumerate(index) if part is Ellipsis), len(index))
    if not any(isinstance(part, (torch.Tensor, list)) and _takes(part) for part in index[place + 1 :]):
        return index
    taken = sum(_takes(part) for part in index if part is not Ellipsis)
    return (*index[:place], *[slice(None)] * (base.dim() - taken), *index[place + 1 :])


def _takes(part: Any) -> int:
    """How many dims a part of an index takes."""
    if part is None or isinstance(part, bool):
        return 0
    return part.dim() if isinstance(part, torch.Tensor) and part.dtype in (torch.bool, torch.uint8) else 1
