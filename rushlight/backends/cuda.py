"""torch.backends.cuda: there is no CUDA; its switches are kept."""

from __future__ import annotations

from collections.abc import Callable

from rushlight._engine.core import accelerator
from rushlight._engine.names.absent_devices import functions

matmul = accelerator.PRODUCTS
_kept = {"reduced": False}
globals().update(functions("backends.cuda"))
if accelerator.platform() is not None:

    def is_built() -> bool:
        """True: there is a device, if only a simulated one."""
        return True


def switch(name: str) -> tuple[Callable[[], bool], Callable[[bool], None]]:
    """The functions that ask for a switch, on at first, and set it."""
    return lambda: _kept.get(name, True), lambda enabled: _kept.update({name: bool(enabled)})


flash_sdp_enabled, enable_flash_sdp = switch("flash")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = switch("mem_efficient")
math_sdp_enabled, enable_math_sdp = switch("math")
cudnn_sdp_enabled, enable_cudnn_sdp = switch("cudnn")
fp16_bf16_reduction_math_sdp_allowed, allow_fp16_bf16_reduction_math_sdp = switch("reduced")
