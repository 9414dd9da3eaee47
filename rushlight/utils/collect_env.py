"""torch.utils.collect_env: what a report of a fault should say of the machine and the packages."""

from __future__ import annotations

import importlib.metadata
import locale
import os
import platform
import re
import subprocess
import sys
from collections import namedtuple
from typing import Any

import rushlight as torch

TORCH_AVAILABLE = True
SystemEnv = namedtuple(
    "SystemEnv",
    [
        "torch_version",
        "is_debug_build",
        "cuda_compiled_version",
        "gcc_version",
        "clang_version",
        "cmake_version",
        "os",
        "libc_version",
        "python_version",
        "python_platform",
        "is_cuda_available",
        "cuda_runtime_version",
        "cuda_module_loading",
        "nvidia_driver_version",
        "nvidia_gpu_models",
        "cudnn_version",
        "is_xpu_available",
        "pip_version",
        "pip_packages",
        "conda_packages",
        "hip_compiled_version",
        "hip_runtime_version",
        "miopen_runtime_version",
        "caching_allocator_config",
        "is_xnnpack_available",
        "cpu_info",
    ],
)
COMMON_PATTERNS = ["torch", "numpy", "triton", "optree"]
NVIDIA_PATTERNS = [
    "cuda-cudart",
    "cuda-cupti",
    "cuda-libraries",
    "cuda-opencl",
    "cuda-nvrtc",
    "cuda-runtime",
    "cublas",
    "cudnn",
    "cufft",
    "curand",
    "cusolver",
    "cusparse",
    "nccl",
    "nvjitlink",
    "nvtx",
]
CONDA_PATTERNS = ["cudatoolkit", "soumith", "mkl", "magma"]
PIP_PATTERNS = ["mypy", "flake8", "onnx", "llvmlite", "ml_dtypes", "rushlight"]
_TITLES = (
    ("torch_version", "PyTorch version"),
    ("is_debug_build", "Is debug build"),
    ("cuda_compiled_version", "CUDA used to build PyTorch"),
    ("hip_compiled_version", "ROCM used to build PyTorch"),
    "",
    ("os", "OS"),
    ("gcc_version", "GCC version"),
    ("clang_version", "Clang version"),
    ("cmake_version", "CMake version"),
    ("libc_version", "Libc version"),
    "",
    ("python_version", "Python version"),
    ("python_platform", "Python platform"),
    ("is_cuda_available", "Is CUDA available"),
    ("cuda_runtime_version", "CUDA runtime version"),
    ("cuda_module_loading", "CUDA_MODULE_LOADING set to"),
    ("nvidia_gpu_models", "GPU models and configuration"),
    ("nvidia_driver_version", "Nvidia driver version"),
    ("cudnn_version", "cuDNN version"),
    ("is_xpu_available", "Is XPU available"),
    ("hip_runtime_version", "HIP runtime version"),
    ("miopen_runtime_version", "MIOpen runtime version"),
    ("is_xnnpack_available", "Is XNNPACK available"),
    ("caching_allocator_config", "Caching allocator config"),
    "",
)


def run(command: Any) -> tuple[int, str, str]:
    """Run a command, a list or a line for the shell: its exit status, output and errors, without end of
    line.
    """
    try:
        done = subprocess.run(command, shell=isinstance(command, str), capture_output=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        return 127, "", str(error)
    coding = locale.getpreferredencoding()
    return (
        done.returncode,
        done.stdout.decode(coding, "replace").strip(),
        done.stderr.decode(coding, "replace").strip(),
    )


def run_and_read_all(run_lambda: Any, command: Any) -> str | None:
    """A command's output, None where it fails."""
    status, out, _ = run_lambda(command)
    return out if status == 0 else None


def run_and_parse_first_match(run_lambda: Any, command: Any, regex: str) -> str | None:
    """What the first group of an expression finds in a command's output, or None."""
    out = run_and_read_all(run_lambda, command)
    found = None if out is None else re.search(regex, out)
    return None if found is None else found.group(1)


def run_and_return_first_line(run_lambda: Any, command: Any) -> str | None:
    """The first line of a command's output, None where it fails."""
    out = run_and_read_all(run_lambda, command)
    return None if out is None else out.split("\n")[0]


def get_gcc_version(run_lambda: Any) -> str | None:
    """The version of gcc."""
    return run_and_parse_first_match(run_lambda, "gcc --version", r"gcc (.*)")


def get_clang_version(run_lambda: Any) -> str | None:
    """The version of clang."""
    return run_and_parse_first_match(run_lambda, "clang --version", r"clang version (.*)")


def get_cmake_version(run_lambda: Any) -> str | None:
    """The version of cmake."""
    return run_and_parse_first_match(run_lambda, "cmake --version", r"cmake (.*)")


def get_platform() -> str:
    """linux, darwin, win32 or cygwin."""
    return "linux" if sys.platform.startswith("linux") else sys.platform


def get_os(run_lambda: Any = run) -> str:
    """The system's name and version."""
    try:
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']} ({platform.machine()})"
    except (OSError, KeyError):
        return platform.platform()


def get_python_platform() -> str:
    """platform.platform()."""
    return platform.platform()


def get_libc_version() -> str:
    """The C library's version, N/A where there is none of the kind."""
    return "-".join(platform.libc_ver()) if get_platform() == "linux" else "N/A"


def get_cpu_info(run_lambda: Any = run) -> str:
    """What the system says of the processor."""
    command = {"linux": "lscpu", "darwin": "sysctl -n machdep.cpu.brand_string"}.get(get_platform())
    return (command and run_and_read_all(run_lambda, command)) or platform.processor()


def get_pip_packages(run_lambda: Any = run, patterns: Any = None) -> tuple[str, str]:
    """pip's name, and the installed packages whose names have one of the patterns, as `name==version` by
    line.
    """
    patterns = [*PIP_PATTERNS, *COMMON_PATTERNS, *NVIDIA_PATTERNS] if patterns is None else patterns
    found = {
        f"{d.metadata['Name']}=={d.version}" for d in importlib.metadata.distributions() if d.metadata["Name"]
    }
    return "pip3", "\n".join(sorted(line for line in found if any(p in line for p in patterns)))


def get_conda_packages(run_lambda: Any = run, patterns: Any = None) -> str | None:
    """Conda's list of such packages, None without conda."""
    patterns = [*CONDA_PATTERNS, *COMMON_PATTERNS, *NVIDIA_PATTERNS] if patterns is None else patterns
    out = run_and_read_all(run_lambda, [os.environ.get("CONDA_EXE", "conda"), "list"])
    if out is None:
        return None
    return "\n".join(
        line for line in out.splitlines() if not line.startswith("#") and any(p in line for p in patterns)
    )


def is_xnnpack_available() -> str:
    """False."""
    return "False"


def get_env_info() -> Any:
    """All of it: a SystemEnv."""
    pip, packages = get_pip_packages()
    known = {
        "torch_version": torch.__version__,
        "is_debug_build": "False",
        "gcc_version": get_gcc_version(run),
        "clang_version": get_clang_version(run),
        "cmake_version": get_cmake_version(run),
        "os": get_os(),
        "libc_version": get_libc_version(),
        "python_version": f"{' '.join(sys.version.split())} ({sys.maxsize.bit_length() + 1}-bit runtime)",
        "python_platform": get_python_platform(),
        "is_cuda_available": str(torch.cuda.is_available()),
        "is_xpu_available": str(torch.xpu.is_available()),
        "pip_version": pip,
        "pip_packages": packages,
        "conda_packages": get_conda_packages(),
        "cpu_info": get_cpu_info(),
        "is_xnnpack_available": "False",
    }
    absent = dict.fromkeys(
        (
            "cuda_compiled_version",
            "cuda_runtime_version",
            "nvidia_gpu_models",
            "cudnn_version",
            "nvidia_driver_version",
        ),
        "None",
    )
    return SystemEnv(**{name: known.get(name, absent.get(name, "N/A")) for name in SystemEnv._fields})


def pretty_str(envinfo: Any) -> str:
    """A SystemEnv as the text that a report holds."""
    lines = [f"{line[1]}: {_shown(getattr(envinfo, line[0]))}" if line else "" for line in _TITLES]
    lines += ["CPU:", str(envinfo.cpu_info), "", "Versions of relevant libraries:"]
    for kind, packages in ((envinfo.pip_version, envinfo.pip_packages), ("conda", envinfo.conda_packages)):
        found = str(packages).splitlines() if packages else ["Could not collect"]
        lines += [f"[{kind}] {line}" for line in found]
    return "\n".join(lines)


def _shown(value: Any) -> str:
    return "Could not collect" if value is None else str(value)


def get_pretty_env_info() -> str:
    """That text for this machine."""
    return pretty_str(get_env_info())


def main() -> None:
    """python -m torch.utils.collect_env."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
