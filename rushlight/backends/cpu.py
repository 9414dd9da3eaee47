"""torch.backends.cpu: the host's vector instructions."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """ "AVX512", "AVX2", "NEON" or "DEFAULT": what generated kernels use."""
    from rushlight._engine.kernels.emit import target

    if not target.available():
        return "DEFAULT"
    host = target.host()
    if host.arm:
        return "NEON"
    return next(
        (name for flag, name in (("+avx512f", "AVX512"), ("+avx2", "AVX2")) if flag in host.features),
        "DEFAULT",
    )
