"""torch.backends.cpu: the host's vector instructions."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """ "AVX512", "AVX2", "NEON" or "DEFAULT": what generated kernels use."""
    # it loads llvmlite
    from rushlight._engine.kernels.emit import target

    if not target.available():
        return "DEFAULT"
    if target.host().arm:
        return "NEON"
    return {16: "AVX512", 8: "AVX2"}.get(target.lanes("float32"), "DEFAULT")
