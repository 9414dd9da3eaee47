"""What torch.cpu tells of the processor, and denormal numbers taken for zero where a program asks."""

from __future__ import annotations

import platform

import pytest

import rushlight as torch


def test_capabilities_are_told_and_cannot_be_changed() -> None:
    found = torch.cpu.get_capabilities()
    assert found["architecture"] == platform.machine().replace("AMD64", "x86_64")
    assert isinstance(found["num_logical_cores"], int)
    assert isinstance(found.get("avx2", found.get("neon")), bool)
    with pytest.raises(TypeError):
        found["avx2"] = True  # type: ignore[index]


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="a register of x86-64")
def test_denormals_are_zero_where_a_program_asks() -> None:
    small = torch.full((100,), 1e-40)
    try:
        assert torch.set_flush_denormal(True)
        assert (small + small).max().item() == 0
    finally:
        assert torch.set_flush_denormal(False)
    assert (small + small).max().item() > 0
