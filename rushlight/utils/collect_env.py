"""python -m torch.utils.collect_env: what reports of problems with PyTorch begin with, in its form."""
from __future__ import annotations

import locale
import os
import platform
import re
import shutil
import subprocess
import sys
from collections import namedtuple
from importlib.metadata import distributions
from typing import Any

import rushlight as torch

_ABSENT = "Could not collect"
_LIBRARIES = ("torch", "numpy", "mypy", "flake8", "triton", "optree", "onnx", "rushlight", "ml_dtypes",
              "llvmlite")
_FORM = """\
PyTorch version: {torch_version}
Is debug build: {is_debug_build}
CUDA used to build PyTorch: {cuda_compiled_version}
ROCM used to build PyTorch: {hip_compiled_version}

OS: {os}
GCC version: {gcc_version}
Clang version: {clang_version}
CMake version: {cmake_version}
Libc version: {libc_version}

Python version: {python_version}
Python platform: {python_platform}
Is CUDA available: {is_cuda_available}
CUDA runtime version: {cuda_runtime_version}
CUDA_MODULE_LOADING set to: {cuda_module_loading}
GPU models and configuration: {nvidia_gpu_models}
Nvidia driver version: {nvidia_driver_version}
cuDNN version: {cudnn_version}
Is XPU available: {is_xpu_available}
HIP runtime version: {hip_runtime_version}
MIOpen runtime version: {miopen_runtime_version}
Is XNNPACK available: {is_xnnpack_available}
Caching allocator config: {caching_allocator_config}

CPU:
{cpu_info}

Versions of relevant libraries:
{pip_packages}
{conda_packages}
"""
SystemEnv = namedtuple("SystemEnv", """
    torch_version is_debug_build cuda_compiled_version gcc_version clang_version cmake_version os libc_version
    python_version python_platform is_cuda_available cuda_runtime_version cuda_module_loading
    nvidia_driver_version nvidia_gpu_models cudnn_version is_xpu_available pip_version pip_packages
    conda_packages hip_compiled_version hip_runtime_version miopen_runtime_version caching_allocator_config
    is_xnnpack_available cpu_info""")


def run(command: Any) -> tuple[int, str, str]:
    """(status, output, errors) of a command, a list or a text for the shell; 127 where there is none."""
    shell = isinstance(command, str)
    if not shell and shutil.which(command[0]) is None:
        return 127, "", "Command not found"
    done = subprocess.run(command, shell=shell, capture_output=True, check=False)
    coding = locale.getpreferredencoding()
    return done.returncode, done.stdout.decode(coding).strip(), done.stderr.decode(coding).strip()


def _first(command: list[str], form: str) -> str | None:
    status, text, _ = run(command)
    found = re.search(form, text) if status == 0 else None
    return found[1] if found else None


def get_os() -> str:
    """The system's name and version, and its machine."""
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        name = f"{platform.system()} {platform.release()}"
    return f"{name} ({platform.machine()})"


def get_cpu_info() -> str | None:
    """What lscpu tells."""
    status, text, _ = run(["lscpu"])
    return text if status == 0 else None


def get_pip_packages() -> tuple[str, str]:
    """("pip3", the libraries of interest that are installed as `name==version`, a line each)."""
    found = {f"{d.metadata['Name']}=={d.version}" for d in distributions()
             if (d.metadata["Name"] or "").lower().startswith(_LIBRARIES)}
    return "pip3", "\n".join(sorted(found, key=str.lower))


def get_env_info() -> Any:
    """What this machine and its environment are, a SystemEnv."""
    bits = sys.maxsize.bit_length() + 1
    pip, packages = get_pip_packages()
    return SystemEnv(
        torch_version=torch.__version__, is_debug_build=str(torch.version.debug),
        python_version=f"{' '.join(sys.version.split())} ({bits}-bit runtime)",
        python_platform=platform.platform(), is_cuda_available="False", cuda_compiled_version="None",
        cuda_runtime_version=None, cuda_module_loading="N/A", nvidia_gpu_models=None,
        nvidia_driver_version=None, cudnn_version=None, is_xpu_available="False", hip_compiled_version="N/A",
        hip_runtime_version="N/A", miopen_runtime_version="N/A", pip_version=pip, pip_packages=packages,
        conda_packages=_conda(), os=get_os(), libc_version="-".join(platform.libc_ver()),
        gcc_version=_first(["gcc", "--version"], r"gcc (.*)"),
        clang_version=_first(["clang", "--version"], r"clang version (.*)"),
        cmake_version=_first(["cmake", "--version"], r"cmake (.*)"), caching_allocator_config="N/A",
        is_xnnpack_available="False", cpu_info=get_cpu_info())


def _conda() -> str | None:
    conda = os.environ.get("CONDA_EXE", "conda")
    status, text, _ = run([conda, "list"])
    kept = [line for line in text.splitlines() if line.startswith(_LIBRARIES)]
    return "\n".join(kept) if status == 0 else None


def pretty_str(envinfo: Any) -> str:
    """A SystemEnv as PyTorch prints it."""
    told = {name: _ABSENT if value is None else value or "No relevant packages"
            for name, value in envinfo._asdict().items()}
    for name, mark in (("pip_packages", f"[{envinfo.pip_version}] "), ("conda_packages", "[conda] ")):
        told[name] = "\n".join(mark + line for line in told[name].splitlines())
    return _FORM.format(**told)


def get_pretty_env_info() -> str:
    """What `python -m torch.utils.collect_env` prints."""
    return pretty_str(get_env_info())


def main() -> None:
    """The command."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
