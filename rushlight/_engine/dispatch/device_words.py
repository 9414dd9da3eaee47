"""PyTorch's words for operands on two devices: its kernels' names and theirs for arguments
(cuda_kernels.tsv).

A line: the row; PyTorch's kernel; arguments that it calls otherwise; the arguments in the order it looks at
them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from rushlight._engine.ops.table import Row
from rushlight._engine.tensors.tensor import Tensor


def _read() -> dict[str, tuple[str, dict[str, str], list[str]]]:
    found = {}
    path = os.path.join(os.path.dirname(__file__), "cuda_kernels.tsv")
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            row, kernel, renamed, order = line.rstrip("\n").split("\t")
            pairs = [pair.split("=") for pair in renamed.split()]
            found[row] = kernel, {a: b for a, b in pairs}, order.split()
    return found


_KERNELS = _read()


def two_devices(row: Row, values: Sequence[Any], devices: tuple[Any, Any]) -> str:
    """What PyTorch says of a row's operands, which lie on two devices."""
    one, two = devices
    if row.name.startswith(("conv", "_conv")):
        found = _of_convolution(values)
        if found:
            return found
    kernel, renamed, order = _KERNELS.get(row.name, ("", {}, []))
    given = dict(zip([p.name for p in row.params], values, strict=False))
    placed = [(name, t) for name in order for t in _tensors(given.get(name))]
    for name, t in placed:
        if t.device != placed[0][1].device:
            return (
                f"Expected all tensors to be on the same device, but got {renamed.get(name, name)} is on "
                f"{t.device}, different from other tensors on {placed[0][1].device} (when checking argument "
                f"in method wrapper_CUDA_{kernel})"
            )
    return f"Expected all tensors to be on the same device, but found at least two devices, {one} and {two}!"


def _tensors(value: Any) -> Iterator[Tensor]:
    for v in value if isinstance(value, (list, tuple)) else (value,):
        if isinstance(v, Tensor):
            yield v


def _of_convolution(values: Sequence[Any]) -> str:
    """The words of convolutions, which look at types; empty where input and weight agree."""
    tensors = [t for v in values for t in _tensors(v)]
    if len(tensors) < 2 or tensors[0].device == tensors[1].device:
        return ""
    given, weight = (t.type() for t in tensors[:2])
    message = f"Input type ({given}) and weight type ({weight}) should be the same"
    return (
        message
        if tensors[0].is_cuda
        else f"{message} or input should be a MKLDNN tensor and weight is a dense tensor"
    )
