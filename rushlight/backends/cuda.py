"""torch.backends.cuda: there is no CUDA; its switches are kept."""

from __future__ import annotations

from collections.abc import Callable

from rushlight._engine.core import accelerator

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
