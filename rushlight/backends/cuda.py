"""torch.backends.cuda: there is no CUDA; its switches are kept."""
from __future__ import annotations

from types import SimpleNamespace

matmul = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True,
                         allow_bf16_reduced_precision_reduction=True)


def is_built() -> bool:
    """False: kernels run on the CPU."""
    return False
