"""The device that tensors are made on where a program names none: `torch.device(...)` as a context, by the
names that libraries ask for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import rushlight as torch
from rushlight.utils._contextlib import context_decorator


@cache
def _device_constructors() -> set[Callable[..., Any]]:
    """The functions that make tensors on the default device."""
    names = (
        "empty empty_permuted empty_strided empty_quantized ones zeros full eye arange range linspace "
        "logspace bartlett_window blackman_window hamming_window hann_window kaiser_window fft.fftfreq "
        "fft.rfftfreq rand randn randint randperm tril_indices triu_indices nested.nested_tensor asarray "
        "as_tensor tensor scalar_tensor sparse_coo_tensor sparse_compressed_tensor sparse_csr_tensor "
        "sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor"
    )
    found = set()
    for name in names.split():
        *space, own = name.split(".")
        held = getattr(torch, space[0]) if space else torch
        if hasattr(held, own):
            found.add(getattr(held, own))
    return found


class DeviceContext:
    """`with DeviceContext("meta"):`, which is `with torch.device("meta"):`."""

    def __init__(self, device: Any) -> None:
        self.device = torch.device(device)

    def __enter__(self) -> None:
        self.device.__enter__()

    def __exit__(self, *raised: object) -> None:
        self.device.__exit__(*raised)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function, with this device where it makes a tensor and names none."""
        kwargs = kwargs or {}
        if func in _device_constructors() and kwargs.get("device") is None:
            kwargs["device"] = self.device
        return func(*args, **kwargs)


def device_decorator(device: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes its tensors on `device`, a torch.device or another context."""
    return context_decorator(lambda: device, func)


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function makes its tensors on `device`."""
    return lambda func: device_decorator(torch.device(device), func)
