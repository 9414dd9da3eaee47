"""Kernels to PTX by LLVM, and to machine code by NVIDIA's assembler where that is installed (tests only).

At run time the driver compiles PTX itself. Functions of the C library are our own (device_math.py); a kernel
that calls one that is not there is Unsupported.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from rushlight._engine.devices.cuda.kernels import device_math
from rushlight._engine.kernels.emit.target import Unsupported

_TRIPLE = "nvptx64-nvidia-cuda"
_lock = threading.RLock()
# PTX of the oldest architecture that is known has this version; what LLVM does not know gets an older one.
_FIRST = (6, 3)
# The first architecture whose tensor cores take the products that kernels ask for (Thread.mma).
CORES = 80


@cache
def _llvm() -> Any:
    import llvmlite.binding as binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding


@cache
def _machine(architecture: str) -> Any:
    target = _llvm().Target.from_triple(_TRIPLE)
    return target.create_target_machine(cpu=architecture, opt=3)


@cache
def known(architecture: str) -> bool:
    """Whether this LLVM writes PTX for an architecture; for one that it does not know it would end the
    process at the first exchange of a warp.
    """
    with _lock:
        module = _llvm().parse_assembly(f'target triple = "{_TRIPLE}"')
        found = str(_machine(architecture).emit_assembly(module))
    version = re.search(r"^\.version (\d+)\.(\d+)", found, re.MULTILINE)
    return version is not None and (int(version[1]), int(version[2])) >= _FIRST


def ptx(text: str, architecture: str = "sm_80") -> str:
    """The PTX of a module's LLVM IR. Unsupported where it calls a function of the C library."""
    foreign = device_math.foreign(text)
    if foreign - device_math.NAMES:
        raise Unsupported(f"calls of {', '.join(sorted(foreign - device_math.NAMES))}")
    if "@llvm.nvvm.mma." in text and int(architecture.removeprefix("sm_")) < CORES:
        raise Unsupported(f"{architecture} has no such tensor cores")  # LLVM would end the process
    text = device_math.defined(text, foreign)
    with _lock:
        llvm, machine = _llvm(), _machine(architecture)
        module = llvm.parse_assembly(f'target triple = "{_TRIPLE}"\n{text}')
        module.data_layout = str(machine.target_data)
        module.verify()
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
        builder.getModulePassManager().run(module, builder)
        made = str(machine.emit_assembly(module))
    unknown = re.findall(r"^\.extern \.func .*?([\w.]+)\s*$", made, re.MULTILINE)
    if unknown:  # an instruction that this LLVM has no name for
        raise Unsupported(f"LLVM {'.'.join(map(str, llvm.llvm_version_info))} does not know {unknown[0]}")
    return made


class Assembled(NamedTuple):
    """What the assembler says of a kernel."""

    registers: int
    spills: int
    shared: int


@cache
def assembler() -> str | None:
    """The path of NVIDIA's ptxas, of the package nvidia-cuda-nvcc or on the path; None where there is
    none.
    """
    spec = find_spec("nvidia")
    for root in spec.submodule_search_locations or () if spec is not None else ():
        for found in sorted(Path(root).glob("*/bin/ptxas")):
            return str(found)
    return shutil.which("ptxas")


@cache
def version() -> str:
    """The assembler's version; "" where it is not installed."""
    path = assembler()
    if path is None:
        return ""
    shown = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60).stdout
    found = re.search(r"V([\d.]+)", shown)
    return found[1] if found else ""


def assemble(text: str, architecture: str = "sm_80") -> Assembled:
    """PTX assembled; RuntimeError with the assembler's words where it refuses."""
    return assemble_all([text], architecture)[0]


def assemble_all(texts: Sequence[str], architecture: str = "sm_80") -> list[Assembled]:
    """Kernels assembled in one run of the assembler, whose start takes longer than a small kernel."""
    path = assembler()
    if path is None:
        raise RuntimeError("ptxas is not installed: pip install nvidia-cuda-nvcc-cu12")
    with tempfile.TemporaryDirectory() as folder:
        sources = [Path(folder) / f"{number}.ptx" for number in range(len(texts))]
        for number, (source, text) in enumerate(zip(sources, texts, strict=True)):
            source.write_text(_of_its_own(text, number), encoding="utf-8")
        command = [path, f"-arch={architecture}", "-v", *map(str, sources)]
        command += ["-o", str(Path(folder) / "kernels.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60 + len(texts))
    if done.returncode:
        raise RuntimeError(f"ptxas: {done.stderr}{done.stdout}")
    told = re.split(r"Compiling entry function '[^']*__(\d+)'", done.stderr + done.stdout)
    by = {int(number): _assembled(words) for number, words in zip(told[1::2], told[2::2], strict=True)}
    return [by[number] for number in range(len(texts))]


def _of_its_own(text: str, number: int) -> str:
    """PTX whose names no other kernel's has: its functions, its tables and the memory that a block shares."""
    names = re.findall(
        r"^(?:\t// \.globl\t|\t?// -- Begin function |// (?=\S+ has been demoted))(\S+)", text, re.M
    )
    names += re.findall(r"^\.(?:global|const|shared|visible)\b[^=\n]*?([\w$]+)[\[;=(]", text, re.M)
    words = "|".join(sorted(map(re.escape, set(names))))
    return re.sub(rf"(?<![\w$%.])({words})(?![\w$.])", rf"\g<1>__{number}", text)


def _assembled(words: str) -> Assembled:
    shared = re.search(r"(\d+) bytes smem", words)
    used, spilled = (
        re.findall(rf"{text}", words) for text in (r"Used (\d+) registers", r"(\d+) bytes spill stores")
    )
    return Assembled(int(used[0]), int(spilled[0]), int(shared[1]) if shared else 0)
