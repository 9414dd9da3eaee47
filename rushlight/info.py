"""`python -m rushlight --info`: what a report of a problem needs."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import rushlight
from rushlight._engine.core.settings import PREFIX, SETTINGS, settings
from rushlight._engine.kernels.emit.target import UnsupportedProcessor, processor_name
from rushlight._engine.kernels.runtime import cache
from rushlight.standin import status
from rushlight.version import release

_PACKAGES = (
    "numpy",
    "ml_dtypes",
    "llvmlite",
    "pillow",
    "safetensors",
    "mpi4py",
    "transformers",
    "accelerate",
    "lightning",
    "timm",
)


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _compiler() -> str:
    """Which LLVM makes kernels, and for what processor."""
    if _installed("llvmlite") is None:
        return "llvmlite is not installed: NumPy computes"
    from llvmlite import binding

    return f"LLVM {'.'.join(map(str, binding.llvm_version_info))} for {binding.get_host_cpu_name()}"


def _instructions() -> str:
    """The set of instructions that kernels use; what is wrong with the setting where it names none."""
    try:
        return str(rushlight.backends.cpu.get_cpu_capability())
    except UnsupportedProcessor as error:
        return str(error)


def _kept() -> str:
    """The folder of compiled kernels and functions, and how much is in it."""
    folder = cache.directory()
    try:
        sizes = [entry.stat().st_size for entry in os.scandir(folder) if entry.is_file()]
    except OSError as error:
        return f"{folder} ({error.strerror})"
    return f"{folder}: {len(sizes)} entries, {sum(sizes) / 1e6:.1f} MB"


def report() -> str:
    """The report, a line for each thing."""
    there = {name: found for name in _PACKAGES if (found := _installed(name)) is not None}
    changed = [
        f"{PREFIX}{k.name.upper()}={getattr(settings, k.name)}"
        for k in SETTINGS
        if getattr(settings, k.name) != k.default
    ]
    lines = {
        "Rushlight": f"{release} in {os.path.dirname(os.path.abspath(rushlight.__file__))}",
        "torch.__version__": rushlight.__version__,
        "Python": f"{sys.version.split()[0]} ({sys.executable})",
        "system": platform.platform(),
        "processor": f"{processor_name()}, {os.cpu_count()} of them",
        "instructions": _instructions(),
        "threads": f"{rushlight.get_num_threads()}",
        "compiler": _compiler(),
        "compiled kernels": _kept() if settings.cache else "not kept",
        "packages": ", ".join(f"{name} {found}" for name, found in there.items()),
        "settings": ", ".join(changed) or "all at their defaults",
        "as torch": "; ".join(status()[0]),
    }
    width = max(map(len, lines))
    return "".join(f"{name:{width}}  {value}\n" for name, value in lines.items())
