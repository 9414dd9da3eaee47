"""Settings of PyTorch's compiler, which programs assign to: they are kept, and change nothing here."""

from __future__ import annotations

from typing import Any

from rushlight._engine.names.alternatives import attribute
from rushlight.utils._config_module import patcher

max_autotune = max_autotune_gemm = coordinate_descent_tuning = False
freezing = cpp_wrapper = False
fx_graph_cache = epilogue_fusion = True


class triton:
    """Those of Triton's kernels."""

    cudagraphs = False


def __getattr__(name: str) -> Any:
    """The others have PyTorch's defaults."""
    return attribute("rushlight._inductor.config", name)


patch = patcher(__name__)
