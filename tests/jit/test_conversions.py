"""TorchScript: methods that convert to a dtype, and sizes of no dims."""

from __future__ import annotations

import rushlight as torch


@torch.jit.script
def converted(x: torch.Tensor):
    return x.float(), x.double(), x.half(), x.int(), x.long(), x.short(), x.char(), x.byte()


@torch.jit.script
def of_no_dims(x: torch.Tensor):
    return torch.zeros((), dtype=x.dtype) + torch.full((), 2.0) + x.new_ones(()) + x.view(())


def test_conversions() -> None:
    t = torch
    found = converted(torch.full((1,), 3.5, dtype=torch.float64))
    assert [y.dtype for y in found] == [
        t.float32,
        t.float64,
        t.float16,
        t.int32,
        t.int64,
        t.int16,
        t.int8,
        t.uint8,
    ]
    assert found[3].tolist() == [3]


def test_sizes_of_no_dims() -> None:
    assert of_no_dims(torch.ones(1)).item() == 4
