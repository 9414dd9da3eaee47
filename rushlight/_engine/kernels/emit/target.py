"""The machine: LLVM for the host processor, from text to object code to addresses.

llvmlite is imported at first need; `available()` says whether it is there. Where our own loader
does not serve, one engine of LLVM's holds all loaded code for the life of the process.
"""

from __future__ import annotations

import platform
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from rushlight._engine.core.dtype import BY_NAME
from rushlight._engine.kernels.runtime import loader

_lock = threading.RLock()
# Our own loader puts an object's sections side by side; LLVM's may put them more than 2 GiB apart,
# where only the large model's addresses reach.
_ADDRESSES = (
    {"reloc": "pic", "codemodel": "small"}
    if loader.supported()
    else {"reloc": "static", "codemodel": "large"}
)


@lru_cache(maxsize=None)
def available() -> bool:
    """Whether llvmlite is installed."""
    return find_spec("llvmlite") is not None


@lru_cache(maxsize=None)
def _llvm() -> Any:
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


@lru_cache(maxsize=None)
def identity() -> str:
    """A text that differs between processors and LLVM versions, found without loading LLVM."""
    import llvmlite

    return "\n".join([llvmlite.__version__, platform.machine(), _processor() or str(host())])


@lru_cache(maxsize=None)
def _processor() -> str:
    """What the system says of the processor, save for the clock's present rate and the core's number."""
    try:
        with open("/proc/cpuinfo") as file:
            first = file.read(8192).split("\n\n")[0]
    except OSError:
        return ""
    return "\n".join([line for line in first.splitlines() if not line.startswith(_VARYING)])


@lru_cache(maxsize=None)
def lanes(dtype: str) -> int:
    """How many numbers a vector register holds, found without loading LLVM."""
    words = _words()
    width = 512 if "avx512f" in words else 256 if "avx2" in words else 128
    return width // (8 * BY_NAME[dtype].itemsize)


@lru_cache(maxsize=None)
def pairs() -> bool:
    """Whether an instruction multiplies pairs of bfloat16, in vectors of 512 bits, and LLVM knows it so."""
    import llvmlite

    version = [int(part) for part in llvmlite.__version__.split(".")[:2]]
    return version >= [0, 45] and bool({"avx512_bf16", "avx512bf16"} & _words())


@lru_cache(maxsize=None)
def _words() -> set[str]:
    """What the system or LLVM says of the processor, word by word."""
    return set(re.findall(r"\w+", _processor() or available() and str(host()) or ""))


_VARYING = (
    "processor",
    "cpu MHz",
    "bogomips",
    "core id",
    "apicid",
    "initial apicid",
    "microcode",
    "physical id",
    "siblings",
    "cpu cores",
    "BogoMIPS",
)


@dataclass(frozen=True)
class Host:
    """What code is generated for."""

    triple: str
    cpu: str
    features: str

    @property
    def fma(self) -> bool:
        """Whether a product and sum can be rounded once."""
        return "+fma" in self.features.split(",") or not self.triple.startswith("x86_64")

    @property
    def arm(self) -> bool:
        """Whether this is a 64-bit ARM."""
        return self.triple.startswith(("aarch64", "arm64"))

    @property
    def half(self) -> bool:
        """Whether the processor converts float16."""
        return "+f16c" in self.features.split(",") or self.arm


@lru_cache(maxsize=None)
def host() -> Host:
    """The processor that this process runs on."""
    with _lock:
        llvm = _llvm()
        return Host(
            llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
        )


def _machine() -> Any:
    found = host()
    return (
        _llvm()
        .Target.from_triple(found.triple)
        .create_target_machine(cpu=found.cpu, features=found.features, opt=2, jit=True, **_ADDRESSES)
    )


_compiler = lru_cache(maxsize=None)(_machine)


@lru_cache(maxsize=None)
def _engine() -> Any:
    # The engine owns its machine, so it has one of its own.
    return _llvm().create_mcjit_compiler(_llvm().parse_assembly(""), _machine())


def assemble(text: str, tidy: bool = False) -> bytes:
    """LLVM IR compiled to an object file; `tidy` runs the passes that scalar code wants.

    RuntimeError with LLVM's message if the text is not valid.
    """
    with _lock:
        module = _llvm().parse_assembly(text)
        # LLVM's code generator ends the process when it is given invalid code.
        module.verify()
        if tidy:
            _tidy(module)
        found: bytes = _compiler().emit_object(module)
        return found


def _tidy(module: Any) -> None:
    llvm = _llvm()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(_compiler(), options)
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)


def load(code: bytes, symbols: tuple[str, ...], externals: Mapping[str, int]) -> list[int]:
    """Put object code into memory; the addresses of `symbols`. Names must be new."""
    if loader.supported():
        return loader.load(code, symbols, externals)
    with _lock:
        llvm, engine = _llvm(), _engine()
        for name, address in externals.items():
            llvm.add_symbol(name, address)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return [engine.get_function_address(s) for s in symbols]
