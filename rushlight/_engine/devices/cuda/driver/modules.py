"""Kernels on a real device: their PTX made machine code by the driver, kept on disk, loaded, launched."""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from rushlight._engine.devices.cuda.device import NotServed
from rushlight._engine.devices.cuda.driver.launcher import launcher
from rushlight._engine.devices.cuda.driver.library import Driver, DriverError
from rushlight._engine.devices.cuda.kernels import ptx
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.emit.target import Unsupported
from rushlight._engine.kernels.runtime import cache

_PTX_INPUT, _LOG, _LOG_SIZE = 1, 5, 6
_LOG_BYTES = 1 << 14
# Architectures that LLVM and the driver know, by capability.
_KNOWN = (75, 80, 86, 87, 89, 90, 100, 103, 120)
# What kernels are made of, by the names that profilers show.
ENTRIES: dict[str, Any] = {}


def architecture(capability: tuple[int, int]) -> str:
    """The name of the newest known architecture that a card runs: sm_90 for (9, 0)."""
    number = capability[0] * 10 + capability[1]
    fitting = [k for k in _KNOWN if k <= number]
    while len(fitting) > 1 and target.available() and not ptx.known(f"sm_{fitting[-1]}"):
        fitting.pop()  # a card newer than this LLVM: the driver takes PTX for older ones
    if not fitting:
        raise RuntimeError(
            f"the card's compute capability is {capability[0]}.{capability[1]}: kernels are made for "
            f"{_KNOWN[0] // 10}.{_KNOWN[0] % 10} and newer"
        )
    return f"sm_{fitting[-1]}"


def quoted(text: str, log: str) -> str:
    """The lines of a PTX text that the assembler's words name, and those with its version and target."""
    lines = text.splitlines()
    named = sorted({int(n) for n in re.findall(r"line (\d+)", log) if 0 < int(n) <= len(lines)})[:8]
    head = [line for line in lines[:20] if line.startswith((".version", ".target"))]
    return "".join([f"\n    {line}" for line in [*head, *[f"{n}: {lines[n - 1].strip()}" for n in named]]])


class Function:
    """A kernel in a device's context. native: what launches it (launcher.py), None for ctypes. name: what it
    is, for errors.
    """

    def __init__(self, driver: Driver, handle: int, count: int, native: Any = None, name: str = "") -> None:
        self.driver, self.handle, self.count, self.native, self.name = driver, handle, count, native, name
        self._launch = driver.raw("cuLaunchKernel")
        self._local = threading.local()

    def launch(self, grid: tuple[int, int], stream: int, arguments: Sequence[int]) -> None:
        """Queue a grid: (blocks, threads of a block); each argument has 64 bits."""
        if self.native is not None:
            code = self.native(self.handle, *grid, stream, *arguments)
        else:
            code = self._by_ctypes(grid, stream, arguments)
        if code:
            self.driver.refuse(code, "cuLaunchKernel", self.told(grid, stream, arguments))

    def told(self, grid: tuple[int, int], stream: int, arguments: Sequence[int]) -> tuple[Any, ...]:
        """A launch as errors show it."""
        return (f"{self.name} {self.handle:#x}", *grid, stream, *arguments)

    def _by_ctypes(self, grid: tuple[int, int], stream: int, arguments: Sequence[int]) -> int:
        arrays = getattr(self._local, "arrays", None)
        if arrays is None:
            values = (ctypes.c_int64 * self.count)()  # of larger numbers the bits count
            first = ctypes.addressof(values)
            places = (ctypes.c_void_p * self.count)(*[first + 8 * k for k in range(self.count)])
            arrays = self._local.arrays = values, places
        values, places = arrays
        values[:] = arguments
        return self._launch(self.handle, grid[0], 1, 1, grid[1], 1, 1, 0, stream, places, None)


class Modules:
    """The kernels that a device has loaded. Its context is current when it is called."""

    def __init__(self, driver: Driver, capability: tuple[int, int]) -> None:
        self.driver, self.architecture = driver, architecture(capability)
        # The driver makes machine code for the card itself, which may be newer than what PTX is written for.
        self.card = f"{capability[0]}.{capability[1]}"
        self.loaded: dict[Any, Function] = {}
        self.native = launcher(driver.raw("cuLaunchKernel"))

    def function(self, source: Any) -> Function:
        """The kernel of a Source. NotServed where there is no code for it."""
        found = self.loaded.get(source)
        if found is None:
            found = self.loaded[source] = self._loaded(source)
        return found

    def _loaded(self, source: Any) -> Function:
        text, _ = source.text("nvptx")
        entry = f"kernel_{sha256(text.encode()).hexdigest()[:16]}"
        ENTRIES[entry] = source
        text = text.replace("@kernel(", f"@{entry}(")
        name = cache.key("cubin", self.architecture, self.card, str(self.driver.version), text)
        code = cache.find(name)
        if code is None:
            try:
                code = self.assembled(ptx.ptx(text, self.architecture))
            except Unsupported as error:
                raise NotServed(str(error)) from None
            cache.keep(name, code)
        module = self.driver.handle("cuModuleLoadData", code)
        handle = self.driver.handle("cuModuleGetFunction", module, entry.encode())
        told = f"{getattr(source.write, '__name__', 'kernel')} {entry}"
        return Function(self.driver, handle, source.pointers + source.numbers, self.native, told)

    def assembled(self, text: str) -> bytes:
        """The machine code of PTX, by the driver. RuntimeError with its words where it refuses."""
        log = ctypes.create_string_buffer(_LOG_BYTES)
        options = (ctypes.c_int * 2)(_LOG, _LOG_SIZE)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), _LOG_BYTES)
        state = ctypes.c_void_p()
        self.driver("cuLinkCreate_v2", 2, options, values, ctypes.byref(state))
        data = text.encode() + b"\0"
        try:
            self.driver("cuLinkAddData_v2", state, _PTX_INPUT, data, len(data), b"kernel", 0, None, None)
            code, size = ctypes.c_void_p(), ctypes.c_size_t()
            self.driver("cuLinkComplete", state, ctypes.byref(code), ctypes.byref(size))
            return ctypes.string_at(code, size.value)
        except DriverError as error:
            log_text = log.value.decode(errors="replace").strip()
            raise RuntimeError(
                f"the driver (CUDA {self.driver.version}) does not take a kernel for {self.architecture}: "
                f"{log_text or error}{quoted(text, log_text)}"
            ) from error
        finally:
            self.driver("cuLinkDestroy", state)
