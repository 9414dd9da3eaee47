"""What the files of layers share: sizes as tuples, registering parameters, parts of reprs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight.nn import init
from rushlight.nn.parameter import Parameter


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function from a number to an n-tuple of it, and from a sequence to a tuple."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _list_with_default(out_size: list[int], defaults: list[int]) -> list[int]:
    """The sizes that are given, defaults where they are None; ValueError unless there are more of these."""
    if isinstance(out_size, (int, torch.SymInt)):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    last = defaults[-len(out_size) :]
    return [size if size is not None else known for size, known in zip(out_size, last, strict=True)]


def _reverse_repeat_tuple(t: tuple[int, ...], n: int) -> tuple[int, ...]:
    """(2, 3) as F.pad wants it: (3, 3, 2, 2) with n = 2."""
    return tuple(x for x in reversed(t) for _ in range(n))


def size_beyond(
    input: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[Any],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
) -> list[int]:
    """By how much a transposed convolution's result is to be larger than the least one, to have this size.
    ValueError unless the stride leaves that open.
    """
    dims = len(dilation)
    leading = 2 if input.dim() == dims + 2 else 1
    sizes = size[leading:] if len(size) == leading + dims else size
    if len(sizes) != dims:
        raise ValueError(
            f"ConvTranspose{dims}D: for {input.dim()}D input, output_size must "
            f"have {dims} or {leading + dims} elements (got {len(size)})"
        )
    least = [
        (input.size(leading + d) - 1) * stride[d] - 2 * padding[d] + dilation[d] * (kernel_size[d] - 1) + 1
        for d in range(dims)
    ]
    most = [low + step - 1 for low, step in zip(least, stride)]
    if any(not low <= n <= high for low, n, high in zip(least, sizes, most)):
        raise ValueError(
            f"requested an output size of {sizes}, but valid sizes range "
            f"from {least} to {most} (for an input of {input.size()[2:]})"
        )
    return [n - low for n, low in zip(sizes, least)]


def each_once(change: Callable[[Any], Any], query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
    """All three changed; equal inputs stay one object, so that they are projected together."""
    q = change(query)
    k = q if key is query else change(key)
    return q, k, (k if value is key else change(value))


def register_empty(module: Any, device: Any, dtype: Any, **shapes: Any) -> None:
    """Register a Parameter of each shape, its values not set yet; None reserves the name."""
    for name, shape in shapes.items():
        module.register_parameter(
            name, None if shape is None else Parameter(torch.empty(shape, device=device, dtype=dtype))
        )


def fill_affine(module: Any) -> None:
    """A normalisation's weight becomes 1, its bias 0, where there is one."""
    if module.weight is not None:
        init.ones_(module.weight)
    if module.bias is not None:
        init.zeros_(module.bias)


def changed(module: Any, **defaults: Any) -> str:
    """The end of an extra_repr: ", name=value" of each attribute that is not at its default."""
    shown = [(name, getattr(module, name), default) for name, default in defaults.items()]
    return "".join(f", {name}={value}" for name, value, default in shown if value != default)


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Strip a prefix from all keys, in place: "module.weight" becomes "weight"."""
    for key in [k for k in state_dict if k.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    for key in list(metadata):
        # "module" for the prefix "module." is the metadata of the wrapped module itself.
        if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
            metadata[key[len(prefix) :]] = metadata.pop(key)
