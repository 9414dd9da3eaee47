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
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any

from rushlight._engine.core.callers import warn
from rushlight._engine.core.dtype import BY_NAME
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.runtime import loader

_lock = threading.RLock()
_OLDEST = [0, 45]  # whose LLVM writes pointers as `ptr`
# Our own loader puts an object's sections side by side; LLVM's may put them more than 2 GiB apart,
# where only the large model's addresses reach.
_ADDRESSES = (
    {"reloc": "pic", "codemodel": "small"}
    if loader.supported()
    else {"reloc": "static", "codemodel": "large"}
)


class Unsupported(Exception):
    """There is no machine code for an atom at a dtype."""


@cache
def available() -> bool:
    """Whether an llvmlite is installed that reads our IR; of an older one a warning tells."""
    if find_spec("llvmlite") is None:
        return False
    import llvmlite

    if [int(part) for part in llvmlite.__version__.split(".")[:2]] >= _OLDEST:
        return True
    warn(
        f"llvmlite {llvmlite.__version__} is too old: kernels are not compiled, and NumPy computes. Install "
        f"llvmlite {'.'.join(map(str, _OLDEST))} or later."
    )
    return False


@cache
def _llvm() -> Any:
    if not available():
        raise ImportError("there is no llvmlite that reads our IR")
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()
    return binding


class UnsupportedProcessor(RuntimeError):
    """The setting `cpu` asks for instructions that this processor has not, or by a name that is none."""


# What each instruction set has beyond the one before, in the words that Linux has for it.
_SETS = {
    "x86-64": "",
    "x86-64-v2": "cx16 popcnt sse4_1 sse4_2 ssse3",
    "x86-64-v3": "avx avx2 bmi1 bmi2 f16c fma movbe",
    "x86-64-v4": "avx512f avx512bw avx512cd avx512dq avx512vl",
}


@cache
def identity() -> str:
    """A text that differs between processors (or sets of instructions that were asked for) and LLVM versions,
    found without loading LLVM.
    """
    import llvmlite

    own = (
        (_processor() or str(host()))
        if settings.cpu == "native"
        else " ".join([settings.cpu, *sorted(_words())])
    )
    return "\n".join([llvmlite.__version__, platform.machine(), own])


@cache
def sets() -> list[str]:
    """Named sets of instructions that kernels here may be of, the largest first; one if it was asked for."""
    if settings.cpu != "native":
        return [settings.cpu] if _words() else []
    if platform.machine() not in ("x86_64", "AMD64"):
        return []
    found, fitting = _words(), list[str]()
    for name, words in _SETS.items():
        if not found.issuperset(words.split()):
            break
        fitting.insert(0, name)
    return fitting


def cpuinfo() -> list[dict[str, str]]:
    """What the system says of each logical core, by the names in /proc/cpuinfo; empty where there is none."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            records = file.read().strip().split("\n\n")
    except OSError:
        return []
    pairs = [[line.partition(":") for line in record.splitlines()] for record in records]
    return [{name.strip(): value.strip() for name, _, value in record} for record in pairs]


def processor_name() -> str:
    """The processor's name as the system tells it."""
    named = [core["model name"] for core in cpuinfo() if "model name" in core]
    return named[0] if named else platform.processor() or platform.machine()


@cache
def _processor() -> str:
    """What the system says of the processor, save for the clock's present rate and the core's number."""
    try:
        with open("/proc/cpuinfo") as file:
            first = file.read(8192).split("\n\n")[0]
    except OSError:
        return ""
    return "\n".join([line for line in first.splitlines() if not line.startswith(_VARYING)])


@cache
def lanes(dtype: str) -> int:
    """How many numbers a vector register holds, found without loading LLVM."""
    words = _words()
    width = 512 if "avx512f" in words else 256 if "avx2" in words else 128
    return width // (8 * BY_NAME[dtype].itemsize)


@cache
def pairs() -> bool:
    """Whether an instruction multiplies pairs of bfloat16, in vectors of 512 bits."""
    return bool({"avx512_bf16", "avx512bf16"} & _words())


@cache
def _words() -> set[str]:
    """What the system or LLVM says of the processor, word by word; of the instructions that are used."""
    found = set(re.findall(r"\w+", _processor() or (available() and str(_native())) or ""))
    if settings.cpu == "native":
        return found
    names = [*_SETS]
    if settings.cpu not in names:
        raise UnsupportedProcessor(
            f"RUSHLIGHT_CPU={settings.cpu}: there is no such set of instructions; take one of "
            f"{', '.join(['native', *names])}"
        )
    asked = {w for name in names[: names.index(settings.cpu) + 1] for w in _SETS[name].split()}
    lacking = sorted(asked - found)
    if platform.machine() not in ("x86_64", "AMD64") or (_processor() and lacking):
        raise UnsupportedProcessor(
            f"RUSHLIGHT_CPU={settings.cpu}: this processor ({platform.machine()}) cannot run these "
            "instructions"
            f"{', it has no ' + ', '.join(lacking) if lacking else ''}; leave it native, or take less"
        )
    return asked


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
    """What code is generated for. fma: whether a product and sum can be rounded once.  half: whether the
    processor converts float16.
    """

    triple: str
    cpu: str
    features: str
    fma: bool
    half: bool

    @property
    def arm(self) -> bool:
        """Whether this is a 64-bit ARM."""
        return self.triple.startswith(("aarch64", "arm64"))


@cache
def _native() -> Host:
    """The processor that this process runs on."""
    with _lock:
        llvm = _llvm()
        triple, found = llvm.get_process_triple(), llvm.get_host_cpu_features()
        fma, half = (not triple.startswith("x86_64") or found.get(word, False) for word in ("fma", "f16c"))
        return Host(triple, llvm.get_host_cpu_name(), found.flatten(), fma, half)


def host_features() -> dict[str, bool]:
    """Whether this machine's processor has each of LLVM's features, by its name, whatever settings say."""
    with _lock:
        return dict(_llvm().get_host_cpu_features())


@cache
def host() -> Host:
    """The processor that this process runs on, with those of its instructions that are used."""
    if settings.cpu == "native":
        return _native()
    return Host(_native().triple, settings.cpu, "", "fma" in _words(), "f16c" in _words())


def _machine() -> Any:
    found = host()
    return (
        _llvm()
        .Target.from_triple(found.triple)
        .create_target_machine(cpu=found.cpu, features=found.features, opt=2, jit=True, **_ADDRESSES)
    )


_compiler = lru_cache(maxsize=None)(_machine)


@cache
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
        return bytes(_compiler().emit_object(module))


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
