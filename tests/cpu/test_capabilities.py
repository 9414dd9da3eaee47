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


def test_questions_of_seeds_and_kernels() -> None:
    """What libraries ask before they seed a device, or choose a kernel."""
    known = torch.cpu.get_capabilities()
    assert torch.cpu._is_avx2_supported() == bool(known.get("avx2"))
    assert torch.cpu._is_avx512_supported() <= bool(known.get("avx512_f"))
    assert torch.cpu._is_avx512_bf16_supported() == bool(known.get("avx512_bf16"))
    assert torch.cpu._is_amx_fp16_supported() <= torch.cpu._is_amx_tile_supported()
    for module in (torch.cuda, torch.xpu, torch.mps, torch.mtia):
        assert vars(module)["_is_in_bad_fork"]() is False
    assert not any(vars(module)["_is_compiled"]() for module in (torch.cuda, torch.xpu, torch.mtia))
