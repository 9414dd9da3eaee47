"""torch.backends.cuda: switches of attention and of libraries, which are kept for programs that ask for them.

On the CPU a kernel of ours computes attention; a device uses cuBLAS and cuSOLVER where they are found.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from rushlight._engine.core import accelerator
from rushlight._engine.tensors.tensor import Tensor

matmul = accelerator.PRODUCTS
_kept = {"reduced": False}


def is_built() -> bool:
    """Whether there is a CUDA device, if only a simulated one."""
    return accelerator.platform() is not None


def switch(name: str) -> tuple[Callable[[], bool], Callable[[bool], None]]:
    """The functions that ask for a switch, on at first, and set it."""
    return lambda: _kept.get(name, True), lambda enabled: _kept.update({name: bool(enabled)})


flash_sdp_enabled, enable_flash_sdp = switch("flash")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = switch("mem_efficient")
math_sdp_enabled, enable_math_sdp = switch("math")
cudnn_sdp_enabled, enable_cudnn_sdp = switch("cudnn")
fp16_bf16_reduction_math_sdp_allowed, allow_fp16_bf16_reduction_math_sdp = switch("reduced")


@contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[None]:
    """The switches of attention for a `with`'s length; torch.nn.attention.sdpa_kernel is its successor."""
    before = dict(_kept)
    enable_flash_sdp(enable_flash)
    enable_math_sdp(enable_math)
    enable_mem_efficient_sdp(enable_mem_efficient)
    enable_cudnn_sdp(enable_cudnn)
    try:
        yield
    finally:
        _kept.clear()
        _kept.update(before)


# --- attention by kernels of PyTorch's, which are not here ----------------------------------------------


@dataclass
class SDPAParams:
    """What a call of scaled_dot_product_attention is about."""

    query: Tensor
    key: Tensor
    value: Tensor
    attn_mask: Tensor | None
    dropout: float
    is_causal: bool
    enable_gqa: bool


def is_flash_attention_available() -> bool:
    """False: FlashAttention's own kernels are not part of Rushlight."""
    return False


def is_ck_sdpa_available() -> bool:
    """False: of AMD's devices alone."""
    return False


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether FlashAttention's kernels would compute this: never."""
    return False


def can_use_efficient_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether the memory-efficient kernels of PyTorch would compute this: never."""
    return False


def can_use_cudnn_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether cuDNN would compute this: never."""
    return False


# --- libraries of devices ---------------------------------------------------------------------------------

_Chosen = TypeVar("_Chosen", bound=enum.Enum)


class _LinalgBackend(enum.IntEnum):
    Default = 0
    Cusolver = 1
    Magma = 2


class _BlasBackend(enum.IntEnum):
    Default = 0
    Cublas = 1
    Cublaslt = 2
    Ck = 3


class _ROCmFABackend(enum.IntEnum):
    Default = 0
    AOTriton = 1
    Ck = 2


_LINALG = {
    "default": _LinalgBackend.Default,
    "cusolver": _LinalgBackend.Cusolver,
    "magma": _LinalgBackend.Magma,
}
_BLAS = {
    "default": _BlasBackend.Cublas,
    "cublas": _BlasBackend.Cublas,
    "hipblas": _BlasBackend.Cublas,
    "cublaslt": _BlasBackend.Cublaslt,
    "hipblaslt": _BlasBackend.Cublaslt,
    "ck": _BlasBackend.Ck,
}
_ROCM = {
    "default": _ROCmFABackend.Default,
    "aotriton": _ROCmFABackend.AOTriton,
    "ck": _ROCmFABackend.Ck,
}
_preferred: dict[type, Any] = {
    _LinalgBackend: _LinalgBackend.Default,
    _BlasBackend: _BlasBackend.Cublas,
    _ROCmFABackend: _ROCmFABackend.Default,
}


def _prefer(kind: type[_Chosen], names: dict[str, _Chosen], backend: str | _Chosen | None) -> _Chosen:
    """Keep what is asked for, if anything, and tell what holds."""
    if isinstance(backend, str):
        if backend not in names:
            raise RuntimeError(f"Unknown input value. Choose from: {', '.join(names)}.")
        _preferred[kind] = names[backend]
    elif isinstance(backend, kind):
        _preferred[kind] = backend
    elif backend is not None:
        raise RuntimeError("Unknown input value type.")
    found: _Chosen = _preferred[kind]
    return found


def preferred_linalg_library(backend: str | _LinalgBackend | None = None) -> _LinalgBackend:
    """Which library torch.linalg would prefer on a device: "default", "cusolver" or "magma"; kept and told.

    cuSOLVER is what is used. RuntimeError for another name.
    """
    return _prefer(_LinalgBackend, _LINALG, backend)


def preferred_blas_library(backend: str | _BlasBackend | None = None) -> _BlasBackend:
    """Which library products would prefer on a device: "default", "cublas", "cublaslt" ...; kept and told.

    cuBLASLt is what is used. RuntimeError for another name.
    """
    return _prefer(_BlasBackend, _BLAS, backend)


def preferred_rocm_fa_library(backend: str | _ROCmFABackend | None = None) -> _ROCmFABackend:
    """Which library attention would prefer on AMD's devices; kept. RuntimeError for another name."""
    return _prefer(_ROCmFABackend, _ROCM, backend)


class cuFFTPlanCache:
    """The plans that cuFFT keeps for a device. There are none: it is not used."""

    size = 0
    max_size = 0

    def clear(self) -> None:
        """Nothing to forget."""


class cuFFTPlanCacheManager(cuFFTPlanCache):
    """torch.backends.cuda.cufft_plan_cache: the current device's, and others' by their numbers."""

    def __getitem__(self, device: Any) -> cuFFTPlanCache:
        """The plans of a device. RuntimeError for a number that no device has."""
        count = 0
        platform = accelerator.platform()
        if platform is not None:
            from rushlight.cuda import device_count  # it loads the device

            count = device_count()
        index = getattr(device, "index", device) or 0
        if not 0 <= index < count:
            raise RuntimeError(
                f"cufft_plan_cache: expected 0 <= device index < {count}, but got device with index {index}"
            )
        return self


cufft_plan_cache = cuFFTPlanCacheManager()
