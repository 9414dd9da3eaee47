"""torch.__config__: what computes."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from importlib.util import find_spec

import rushlight as torch
from rushlight._engine.core.settings import settings


def show() -> str:
    """The interpreter, NumPy, the compiler and the processor's widest vectors, a line each."""
    llvmlite = version("llvmlite") if find_spec("llvmlite") else "absent: NumPy computes"
    rows = {
        "Python": sys.version.split()[0],
        "NumPy": version("numpy"),
        "llvmlite": llvmlite,
        "CPU capability usage": torch.backends.cpu.get_cpu_capability(),
        "Kernels": settings.kernels,
        "Build settings": f"TORCH_VERSION={torch.version.__version__}, USE_CUDA=OFF",
    }
    return "\n".join(["Rushlight runs on:", *[f"  - {name}: {value}" for name, value in rows.items()], ""])


def _cxx_flags() -> str:
    """The flags of a C++ compiler, which none of this was built by: none."""
    return ""


def parallel_info() -> str:
    """How many threads there are, and the variables of the environment that said so."""
    return "\n".join(
        [
            "ATen/Parallel:",
            f"\tat::get_num_threads() : {torch.get_num_threads()}",
            f"\tat::get_num_interop_threads() : {torch.get_num_interop_threads()}",
            f"std::thread::hardware_concurrency() : {os.cpu_count()}",
            "Environment variables:",
            *[
                f"\t{name} : {os.environ.get(name, '[not set]')}"
                for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RUSHLIGHT_NUM_THREADS")
            ],
            "ATen parallel backend: native threads",
            "",
        ]
    )
