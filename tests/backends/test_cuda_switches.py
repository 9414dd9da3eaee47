"""torch.backends.cuda where there is no device; answers are those of PyTorch 2.13 for CPUs."""

import pytest

import rushlight as torch

cuda = torch.backends.cuda


def test_preferred_libraries() -> None:
    for ask, first, names in (
        (cuda.preferred_linalg_library, "Default", "default, cusolver, magma"),
        (cuda.preferred_blas_library, "Cublas", "default, cublas, hipblas, cublaslt, hipblaslt, ck"),
        (cuda.preferred_rocm_fa_library, "Default", "default, aotriton, ck"),
    ):
        assert ask().name == first
        other = ask(names.rpartition(", ")[2])
        assert other.name != first and ask() == other
        with pytest.raises(RuntimeError, match=f"Unknown input value. Choose from: {names}."):
            ask("bogus")
        with pytest.raises(RuntimeError, match="Unknown input value type."):
            ask(3.5)
        assert ask("default").name == first


def test_attention() -> None:
    q = torch.ones(1, 2, 3, 4)
    params = cuda.SDPAParams(q, q, q, None, 0.0, False, False)
    assert params.query is q and not params.enable_gqa
    for can in (cuda.can_use_flash_attention, cuda.can_use_efficient_attention, cuda.can_use_cudnn_attention):
        assert can(params, True) is False
    assert not cuda.is_flash_attention_available() and not cuda.is_ck_sdpa_available()
    with cuda.sdp_kernel(enable_flash=False):
        assert not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled()
    assert cuda.flash_sdp_enabled()
    assert cuda.SDPBackend is torch.nn.attention.SDPBackend


def test_plans() -> None:
    assert cuda.cufft_plan_cache.size == 0
    cuda.cufft_plan_cache.clear()
    with pytest.raises(RuntimeError, match="expected 0 <= device index < "):
        cuda.cufft_plan_cache[64]
