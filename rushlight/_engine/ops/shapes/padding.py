"""torch.nn.functional.pad in its four modes."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core.conversion import fill
from rushlight._engine.ops.creation.copying import assign, duplicate, formatted, tensor_of
from rushlight._engine.ops.resolved import ArrayFunction, looked_up, resolved
from rushlight._engine.ops.table import WIDE, Array, composite, opaque


def _pairs(pad: Any, ndim: int) -> list[tuple[int, int]]:
    """(before, behind) per dim, from PyTorch's order: last dim first."""
    pairs = [(0, 0)] * ndim
    for i in range(len(pad) // 2):
        pairs[ndim - 1 - i] = (pad[2 * i], pad[2 * i + 1])
    return pairs


@opaque(name="constant_pad_nd", where=("torch",))
@resolved
def _pad_constant(input, pad: Ints, value: Number = 0) -> ArrayFunction:
    """Elements of `value` around the dims; negative numbers cut off."""
    if len(pad) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2, but it is {len(pad)}")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            f"Length of pad should be no more than twice the number of dimensions of the "
            f"input. Pad length is {len(pad)} while the input has {input.ndim} dimensions."
        )
    pairs = _pairs(pad, input.ndim)
    sizes = [n + low + high for n, (low, high) in zip(input.shape, pairs, strict=True)]
    for n, (low, high), size in zip(input.shape, pairs, sizes, strict=True):
        if size < 0:
            raise RuntimeError(
                f"The input size {n}, plus negative padding {low} and {high} resulted in "
                "a negative output size, which is invalid."
            )
    to, kept = (_inside(pairs, input.shape, outer=outer) for outer in (True, False))
    if max(pad, default=0) <= 0:
        return lambda a: duplicate(a[kept], "K")

    def way(a: Array) -> Array:
        out = np.empty(sizes, a.dtype)
        fill(out, value)
        assign(out[to], a[kept])
        return out

    return formatted(input, way)


def _inside(pairs: Any, shape: Any, outer: bool) -> tuple[slice, ...]:
    cuts = []
    for (low, high), n in zip(pairs, shape, strict=True):
        first, last = max(-low, 0), n - max(-high, 0)
        cuts.append(slice(first + low, last + low) if outer else slice(first, last))
    return tuple(cuts)


_pad_constant.gradient(lambda s, grad: _pad_constant(grad, tuple(-p for p in s.pad), 0))


def _reflected(n: int, low: int, high: int) -> Array:
    places = np.arange(-low, n + high)
    period = max(2 * (n - 1), 1)
    places = np.abs(places) % period
    return np.where(places >= n, period - places, places)


def _wrapped(n: int, low: int, high: int) -> Array:
    # What is cut off is gone before the rest wraps around.
    kept = np.arange(max(-low, 0), n - max(-high, 0))
    return kept[np.arange(-max(low, 0), len(kept) + max(high, 0)) % len(kept)]


_PLACES = {
    "reflect": _reflected,
    "circular": _wrapped,
    "replicate": lambda n, low, high: np.clip(np.arange(-low, n + high), 0, n - 1),
}


def _check_mode(input: Any, pad: Any, mode: str) -> None:
    count = len(pad) // 2
    if len(pad) % 2 or count not in (1, 2, 3) or input.ndim not in (count + 1, count + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {input.ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    if mode != "circular" and 0 in input.shape[input.ndim - count - 1 :]:
        raise RuntimeError(
            f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size and other "
            f"non-zero dimensions for input, but got: {list(input.shape)}"
        )
    for i in range(count):
        n, low, high = input.shape[-1 - i], pad[2 * i], pad[2 * i + 1]
        if mode == "reflect" and (low >= n or high >= n):
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: "
                f"padding ({low}, {high}) at dimension {input.ndim - 1 - i} of input {list(input.shape)}"
            )
        if mode == "circular" and (low > n or high > n):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if n + low + high < 0 or (not n and mode == "replicate"):
            raise RuntimeError(f"input (size {n}) is too small for padding ({low}, {high})")


@composite(where=("nn.functional",), planned=True)
def pad(input, pad: Ints, mode: str = "constant", value: Number | None = None):
    """input extended at both ends of its last dims: pad = (left, right, top, bottom, ...), the last dim
    first.

    mode: "constant" (`value`, 0 by default; negative sizes cut off), "reflect", "replicate" or "circular",
    which take 1 to 3 dims of (N, C, *) or (C, *). RuntimeError for an odd number of sizes, or more than the
    input has dims.
    """
    if mode == "constant":
        return _pad_constant(input, pad, 0 if value is None else value)
    if mode not in _PLACES:
        raise NotImplementedError(
            f"Unrecognised padding mode {mode}; use constant, reflect, replicate or circular"
        )
    if value is not None and value != 0:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    _check_mode(input, pad, mode)
    if input._kind.dtype.name in ("bool", *WIDE.split()) and mode != "circular":
        kernel = "reflection" if mode == "reflect" else "replication"
        raise NotImplementedError(
            f"\"{kernel}_pad{len(pad) // 2}d\" not implemented for '{input._kind.dtype.legacy}'"
        )
    if min(pad) >= 0:
        return _pad_places(input, pad, mode)
    found = input
    for i in range(len(pad) // 2):
        dim, n = input.ndim - 1 - i, input.shape[-1 - i]
        found = found.index_select(dim, tensor_of(_PLACES[mode](n, *pad[2 * i : 2 * i + 2])))
    return found


def _steps(places: Array) -> slice:
    """Places at equal distances, as a slice; all the same one, as one."""
    first, last = int(places[0]), int(places[-1])
    step = (last - first) // max(len(places) - 1, 1) or 1
    return slice(first, last + step if last + step >= 0 else None, step)


def _moves(shape: Any, pad: Any, mode: str) -> tuple[list[int], Any, list[tuple[Any, Any, int]]]:
    """(sizes with the ends, where `shape` lies in them, which part is a copy of which along which dim)."""
    count, pairs = len(pad) // 2, _pairs(pad, len(shape))
    moves: list[tuple[Any, Any, int]] = []
    core = [slice(low, low + n) for n, (low, _) in zip(shape, pairs, strict=True)][-count:]
    rows = list(core)
    for d in range(-1, -1 - count, -1):
        n, low = shape[d], pairs[d][0]
        places = _PLACES[mode](n, *pairs[d]) + low
        for to in (slice(low), slice(low + n, None)):
            if len(places[to]):
                before, after = rows[:d], rows[count + d + 1 :]
                moves.append(((..., *before, to, *after), (..., *before, _steps(places[to]), *after), d))
        rows[d] = slice(None)
    return [n + low + high for n, (low, high) in zip(shape, pairs, strict=True)], (..., *core), moves


@opaque(name="_pad_places", where=("aten",), quiet=True)
@resolved
def _pad_places(input, pad: Ints, mode: str) -> ArrayFunction:
    """input with both ends of its last dims continued by its own elements."""
    sizes, core, moves = _moves(input.shape, pad, mode)

    def way(a: Array) -> Array:
        out = np.empty(sizes, a.dtype)
        assign(out[core], a)
        for to, source, _ in moves:
            out[to] = out[source]
        return out

    return looked_up(way, input) if mode == "circular" else formatted(input, looked_up(way, input))


@opaque(name="_pad_places_backward", where=("aten",))
@resolved
def _pad_places_backward(grad, pad: Ints, mode: str, shape: Ints) -> ArrayFunction:
    """What is at the ends, added to where it came from."""
    _, core, moves = _moves(shape, pad, mode)

    def way(grad: Array) -> Array:
        found = grad.copy()
        for to, source, d in reversed(moves):
            part, own = found[to], found[source]
            own += part if own.shape == part.shape else part.sum(d, keepdims=True)
        return duplicate(found[core])

    return way if mode == "circular" else formatted(grad, way)


_pad_places.gradient(lambda s, grad: _pad_places_backward(grad, s.pad, s.mode, s.shape("input")))


_pad_places_backward.gradient(lambda s, grad: _pad_places(grad, s.pad, s.mode))


def _primitive(word: str, mode: str, dims: int) -> None:
    """The op of one mode and one number of dims that PyTorch's pad calls."""

    def body(input, padding: Ints):
        if len(padding) != 2 * dims:
            raise RuntimeError(
                f"{word}_pad{dims}d: padding size is expected to be {2 * dims}, but got {len(padding)}"
            )
        return pad(input, padding, mode)

    composite(
        body,
        name=f"{word}_pad{dims}d",
        where=("aten",),
        out=True,
        doc=f"pad of {dims} dims in the mode {mode!r}.",
    )


for _word, _mode in (("reflection", "reflect"), ("replication", "replicate")):
    for _dims in (1, 2, 3):
        _primitive(_word, _mode, _dims)
