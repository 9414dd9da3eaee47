"""torch.backends.cudnn: there is no cuDNN; its switches are kept."""

from __future__ import annotations

from rushlight._engine.names.absent_devices import functions
from rushlight.backends.switches import switches

__path__: list[str] = []  # modules below it: names/placeholders.tsv

enabled, benchmark, deterministic, allow_tf32 = True, False, False, True
benchmark_limit = 10
fp32_precision, depthwise_kernel = "none", "auto"

globals().update(functions("backends.cudnn"))

set_flags, flags = switches(
    globals(),
    {
        "enabled": False,
        "benchmark": False,
        "benchmark_limit": 10,
        "deterministic": False,
        "allow_tf32": True,
        "fp32_precision": "none",
        "depthwise_kernel": "auto",
    },
)
