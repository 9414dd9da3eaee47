"""rearrange: dims of a tensor taken apart, moved and put together, by a pattern of einops."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from rushlight import Tensor, stack

_ELLIPSIS = "…"
_TOKEN = re.compile(r"\(|\)|[^\W]+|…|\S")


class _Side(NamedTuple):
    """One side of a pattern: a group of names for each dim. A 1 is an empty group."""

    groups: tuple[tuple[str, ...], ...]

    @property
    def names(self) -> list[str]:
        """All names, in order, the ellipsis among them."""
        return [name for group in self.groups for name in group]


def _one_ellipsis(text: str) -> str:
    """The text with its three dots, which stand together and once, as one character."""
    if "." in text and "..." not in text:
        raise ValueError("Expression may contain dots only inside ellipsis (...)")
    if text.count(".") not in (0, 3):
        raise ValueError(
            "Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor "
        )
    return text.replace("...", _ELLIPSIS)


def _side(text: str) -> _Side:
    """A side of a pattern, or ValueError where it is none."""
    text = _one_ellipsis(text)
    groups: list[tuple[str, ...]] = []
    inside: list[str] | None = None
    seen: set[str] = set()
    for token in _TOKEN.findall(text):
        if token == "(":
            if inside is not None:
                raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
            inside = []
        elif token == ")":
            if inside is None:
                raise ValueError("Brackets are not balanced")
            groups.append(tuple(inside))
            inside = None
        elif token == "1":
            if inside is None:
                groups.append(())
        else:
            _check_name(token, seen)
            if inside is None:
                groups.append((token,))
            else:
                inside.append(token)
    if inside is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{text}'")
    return _Side(tuple(groups))


def _check_name(token: str, seen: set[str]) -> None:
    if not (token == _ELLIPSIS or token.replace("_", "a").isalnum()):
        raise ValueError(f"Unknown character '{token}'")
    if token in seen:
        raise ValueError(f"Indexing expression contains duplicate dimension '{token}'")
    seen.add(token)
    if token.isdecimal():
        raise ValueError("rearrange only supports unnamed axes of size 1")
    if token != _ELLIPSIS and (not token.isidentifier() or token.startswith("_") or token.endswith("_")):
        raise ValueError(
            f"Invalid axis identifier: {token}\nexpected an identifier that neither begins nor ends with _"
        )


@lru_cache(maxsize=256)
def _parsed(pattern: str, given: frozenset[str]) -> tuple[_Side, _Side]:
    """Both sides of a pattern whose names are checked against each other and against the lengths given."""
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = map(_side, sides)
    if _ELLIPSIS in right.names and _ELLIPSIS not in left.names:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if _ELLIPSIS in left.names and (_ELLIPSIS,) not in left.groups:
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    different = set(left.names) ^ set(right.names)
    if different:
        raise ValueError(
            f"Identifiers only on one side of rearrange expression (should be on both): {different}"
        )
    unmatched = given - set(left.names)
    if unmatched:
        raise ValueError(f"Identifiers not found in rearrange expression: {set(unmatched)}")
    return left, right


def _split(name_group: Sequence[str], size: int, lengths: dict[str, int], dim: int) -> list[int]:
    """The lengths of the names that one dim of `size` is made of; at most one of them is not given."""
    unknown = [name for name in name_group if name not in lengths]
    known = math.prod(lengths[name] for name in name_group if name in lengths)
    if len(unknown) > 1:
        raise ValueError(
            f"rearrange cannot infer the lengths of {unknown} of dim {dim}: give all of them but one"
        )
    if unknown:
        if known == 0 or size % known:
            raise ValueError(f"dim {dim} of size {size} cannot be divided by the lengths given, {known}")
        lengths[unknown[0]] = size // known
    elif known != size:
        raise ValueError(f"the lengths of dim {dim} make {known}, but its size is {size}")
    return [lengths[name] for name in name_group]


def _check_dims(left: _Side, ndim: int) -> int:
    """How many dims an ellipsis stands for; ValueError where the left side does not fit the tensor's dims."""
    ellipsis = (_ELLIPSIS,) in left.groups
    named = len(left.groups) - ellipsis
    bound = "less than or equal to" if ellipsis else "equal to"
    if named > ndim if ellipsis else named != ndim:
        raise ValueError(
            f"Number of dimensions in pattern ({named}) must be {bound} "
            f"the number of dimensions in the tensor ({ndim})"
        )
    return ndim - named


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """The tensor with its dims in another order, some of them split or joined, as `pattern` says.

    "b (h p) c -> b p (h c)" names each dim on the left (names in brackets make up one dim, "..." is any
    number of dims, 1 one of size 1) and says on the right what the result's dims are.

    Args:
        tensor: a tensor of any dtype and shape; tensors of one shape in a sequence are stacked along dim 0.
        pattern: both sides, with "->" between them; each name stands on both.
        axes_lengths: lengths of names that cannot be inferred from the tensor's sizes.

    Returns:
        A view where the strides allow one, else a copy.

    Raises:
        ValueError: for a pattern that is none, or does not fit the tensor's dims.
        TypeError: for a length that is no int.

    >>> import rushlight as torch
    >>> images = torch.zeros(32, 30, 40, 3)
    >>> torch.func.rearrange(images, "b (h1 h) (w1 w) c -> (b h1 w1) h w c", h1=2, w1=2).shape
    torch.Size([128, 15, 20, 3])
    """
    whole = tensor if isinstance(tensor, Tensor) else stack(list(tensor))
    for length in axes_lengths.values():
        if type(length) is not int:
            raise TypeError(f"rearrange axis lengths must be integers, got: {type(length)}")
    left, right = _parsed(pattern, frozenset(axes_lengths))
    rest = tuple(f"{_ELLIPSIS}{number}" for number in range(_check_dims(left, whole.ndim)))
    lengths: dict[str, int] = dict(axes_lengths)
    apart: list[int] = []
    places: dict[str, int] = {}
    dim = 0
    for group in left.groups:
        for names in [(name,) for name in rest] if group == (_ELLIPSIS,) else [group]:
            sizes = _split(names, whole.shape[dim], lengths, dim)
            for name, size in zip(names, sizes, strict=True):
                places[name] = len(apart)
                apart.append(size)
            dim += 1
    order: list[int] = []
    joined: list[int] = []
    for group in right.groups:
        expanded = [name for part in group for name in (rest if part == _ELLIPSIS else (part,))]
        order += [places[name] for name in expanded]
        sizes = [apart[places[name]] for name in expanded]
        joined += sizes if group == (_ELLIPSIS,) else [math.prod(sizes)]
    return whole.reshape(apart).permute(order).reshape(joined)
