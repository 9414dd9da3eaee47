# Written by `python tools/stubs.py`.
"""What the files of layers share: sizes as tuples, registering parameters, parts of reprs."""
from builtins import int as _int
from collections.abc import Callable, Sequence
from rushlight import Tensor
from rushlight._engine.core.device import device as _device
from rushlight._engine.core.dtype import dtype as _dtype
from typing import Any

def _list_with_default(out_size: list[_int], defaults: list[_int]) -> list[_int]:
    """The sizes that are given, defaults where they are None; ValueError unless there are more of these."""
def _ntuple(n: _int, name: str = 'parse') -> Callable[[Any], tuple[Any, ...]]:
    """A function from a number to an n-tuple of it, and from a sequence to a tuple."""
def _pair(x: Tensor) -> tuple[Any, ...]: ...
def _quadruple(x: Tensor) -> tuple[Any, ...]: ...
def _reverse_repeat_tuple(t: tuple[_int, ...], n: _int) -> tuple[_int, ...]:
    """(2, 3) as F.pad wants it: (3, 3, 2, 2) with n = 2."""
def _single(x: Tensor) -> tuple[Any, ...]: ...
def _triple(x: Tensor) -> tuple[Any, ...]: ...
def changed(module: Any, **defaults: Any) -> str:
    """The end of an extra_repr: ", name=value" of each attribute that is not at its default."""
def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Strip a prefix from all keys, in place: "module.weight" becomes "weight"."""
def each_once(change: Callable[[Any], Any], query: Tensor, key: Tensor, value: Any) -> tuple[Any, Any, Any]:
    """All three changed; equal inputs stay one object, so that they are projected together."""
def fill_affine(module: Any) -> None:
    """A normalisation's weight becomes 1, its bias 0, where there is one."""
def register_empty(module: Any, device: str | _int | _device, dtype: _dtype, **shapes: Any) -> None:
    """Register a Parameter of each shape, its values not set yet; None reserves the name."""
def size_beyond(input: Tensor, size: Sequence[_int], stride: Sequence[_int], padding: Sequence[Any], kernel_size: Sequence[_int], dilation: Sequence[_int]) -> list[_int]:
    """By how much a transposed convolution's result is to be larger than the least one, to have this size.
    ValueError unless the stride leaves that open.
    """
