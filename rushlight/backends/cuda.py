"""torch.backends.cuda: there is no CUDA; its switches are kept."""
from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

from rushlight.base.absent import functions

matmul = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True,
                         allow_bf16_reduced_precision_reduction=True)
_kept = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True, "reduced": False}
globals().update(functions("backends.cuda"))


def _switch(name: str) -> tuple[Callable[[], bool], Callable[[bool], None]]:
    return lambda: _kept[name], lambda enabled: _kept.update({name: bool(enabled)})


flash_sdp_enabled, enable_flash_sdp = _switch("flash")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _switch("mem_efficient")
math_sdp_enabled, enable_math_sdp = _switch("math")
cudnn_sdp_enabled, enable_cudnn_sdp = _switch("cudnn")
fp16_bf16_reduction_math_sdp_allowed, allow_fp16_bf16_reduction_math_sdp = _switch("reduced")
