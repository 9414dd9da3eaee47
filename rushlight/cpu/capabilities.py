"""What this machine's processor can do, under PyTorch's names."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from rushlight._engine.kernels.emit.target import cpuinfo, host_features, processor_name

# PyTorch's names by LLVM's, where they differ by more than a dot or an underscore.
_X86 = {
    "sse": "sse",
    "sse2": "sse2",
    "sse3": "sse3",
    "ssse3": "ssse3",
    "sse4_1": "sse4.1",
    "sse4_2": "sse4.2",
    "sse4a": "sse4a",
    "avx": "avx",
    "avx2": "avx2",
    "avx_vnni": "avxvnni",
    "avx_vnni_int8": "avxvnniint8",
    "avx_vnni_int16": "avxvnniint16",
    "avx_ne_convert": "avxneconvert",
    "avx512_f": "avx512f",
    "avx512_cd": "avx512cd",
    "avx512_dq": "avx512dq",
    "avx512_bw": "avx512bw",
    "avx512_vl": "avx512vl",
    "avx512_ifma": "avx512ifma",
    "avx512_vbmi": "avx512vbmi",
    "avx512_vbmi2": "avx512vbmi2",
    "avx512_bitalg": "avx512bitalg",
    "avx512_vpopcntdq": "avx512vpopcntdq",
    "avx512_vnni": "avx512vnni",
    "avx512_bf16": "avx512bf16",
    "avx512_fp16": "avx512fp16",
    "avx512_vp2intersect": "avx512vp2intersect",
    "avx512_4vnniw": "",
    "avx512_4fmaps": "",
    "avx10_1": "avx10.1-256",
    "avx10_2": "avx10.2-256",
    "amx_bf16": "amx-bf16",
    "amx_tile": "amx-tile",
    "amx_int8": "amx-int8",
    "amx_fp16": "amx-fp16",
    "fma3": "fma",
    "fma4": "fma4",
    "f16c": "f16c",
    "bmi": "bmi",
    "bmi2": "bmi2",
    "popcnt": "popcnt",
    "lzcnt": "lzcnt",
    "aes": "aes",
    "sha": "sha",
    "clflush": "fxsr",  # which LLVM does not name: no processor of 64 bits lacks it
    "clflushopt": "clflushopt",
    "clwb": "clwb",
}
_ARM = {
    "neon": "neon",
    "fp16_arith": "fullfp16",
    "bf16": "bf16",
    "i8mm": "i8mm",
    "dot": "dotprod",
    "sve": "sve",
    "sve2": "sve2",
    "sve_bf16": "sve-bf16",
    "sme": "sme",
    "sme2": "sme2",
    "atomics": "lse",
    "fhm": "fp16fml",
    "rdm": "rdm",
    "crc32": "crc",
    "aes": "aes",
    "sha1": "sha2",
    "sha2": "sha2",
    "pmull": "aes",
}
_CACHES = "/sys/devices/system/cpu/cpu0/cache"


def _cache_size(level: int, kinds: tuple[str, ...]) -> int | None:
    """Bytes of a cache of the first core, or None where the system does not tell."""
    try:
        for index in sorted(os.listdir(_CACHES)):
            folder = f"{_CACHES}/{index}"
            words = {}
            for name in ("level", "type", "size"):
                with open(f"{folder}/{name}", encoding="ascii") as file:
                    words[name] = file.read().strip()
            if words["level"] == str(level) and words["type"] in kinds:
                return int(words["size"].rstrip("K")) * 1024
    except (OSError, KeyError, ValueError):
        pass
    return None


def _counts() -> dict[str, int | str]:
    """The processor's name, and how many sockets, cores and threads the system tells of."""
    logical = os.cpu_count() or 1
    cores = {(core.get("physical id", "0"), core["core id"]) for core in cpuinfo() if "core id" in core}
    found: dict[str, int | str] = {
        "cpu_name": processor_name(),
        "num_logical_cores": logical,
        "num_physical_cores": len(cores) or logical,
        "num_sockets": len({socket for socket, _ in cores}) or 1,
    }
    for key, level, kinds in (
        ("l1d_cache_size", 1, ("Data",)),
        ("l2_cache_size", 2, ("Unified", "Data")),
    ):
        size = _cache_size(level, kinds)
        if size is not None:
            found[key] = size
    return found


@cache
def get_capabilities() -> Mapping[str, bool | int | str]:
    """What the processor can do: by PyTorch's name of an instruction set whether it is there ("avx2",
    "avx512_bf16", "amx_tile"; "neon", "sve"), "architecture", "cpu_name", and counts of cores and sizes of
    caches in bytes where the system tells. It cannot be written to.

    >>> import rushlight as torch
    >>> torch.cpu.get_capabilities()["architecture"] in ("x86_64", "aarch64", "arm64")
    True
    """
    architecture = platform.machine().replace("AMD64", "x86_64")
    there = host_features()
    names = _X86 if architecture == "x86_64" else _ARM
    found: dict[str, bool | int | str] = {name: there.get(word, False) for name, word in names.items()}
    return MappingProxyType({**found, **_counts(), "architecture": architecture})
