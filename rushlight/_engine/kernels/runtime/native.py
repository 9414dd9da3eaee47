"""From a kernel's meaning to the address of its machine code: cache, assembler, engine.

What writes code is loaded when something is written: with a full cache no emitter is.
"""

from __future__ import annotations

import atexit
import functools
import os
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from rushlight._engine.core import settings
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.runtime import cache, packed
from rushlight._engine.kernels.runtime.abi import STAGES

if TYPE_CHECKING:  # the writers of code load when there is something to compile
    # the writers of code load when there is something to compile
    from rushlight._engine.kernels.emit.llvm_ir import Module

# The runtime, loops that kernels share: the modules that write it, and its functions. What few programs need
# is apart.
_COLUMNS = ("loops.column_loops",), ("rl_columns", "rl_add_rows")
_USUAL = (
    ("runtime.shared_loops", "loops.row_loops", "runtime.team_code", "products.blas_code"),
    (
        "rl_strip",
        "rl_pointwise",
        "rl_pack",
        "rl_multi",
        "rl_rows",
        "rl_team_serve",
        "rl_team_run",
        "rl_sgemm",
        "rl_dgemm",
        *STAGES,
    ),
)

_lock = threading.RLock()
_addresses: dict[tuple[str, str], int] = {}

if hasattr(os, "register_at_fork"):
    # Nobody is inside LLVM while the process is copied.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
# Nor while it ends, which takes LLVM down: what is being compiled is finished, and then no thread comes in.
atexit.register(_lock.acquire)


def _module() -> Module:
    # the writers of code load when there is something to compile
    from rushlight._engine.kernels.emit.llvm_ir import Module

    host = target.host()
    return Module(host.fma, host.arm)


@functools.cache
def _runtime(columns: bool = False) -> dict[str, int]:
    """The addresses of the usual functions, and of those for columns."""
    parts, symbols = _COLUMNS if columns else _USUAL
    known = _runtime() if columns else {}

    def make() -> bytes:
        module = _module()
        for part in parts:
            import_module(f"rushlight._engine.kernels.{part}").write(module)
        return target.assemble(module.text(), tidy=True)

    code = _code("runtime", symbols[0], make)
    found = known | dict(zip(symbols, target.load(code, symbols, known), strict=True))
    for listener in () if columns else settings.on_change:  # there are new ways now
        listener()
    return found


def loaded() -> bool:
    """Whether the runtime is there, so that asking for its functions takes no time."""
    return _runtime.cache_info().currsize > 0


def address(
    kind: str, text: str, write: Callable[[Module, str], None], externals: Mapping[str, int] | None = None
) -> int:
    """The address of the kernel with a canonical `text`.

    Unless it is in memory or on disk, `write(module, symbol)` writes its IR, `symbol` being the
    name of its entry; what that raises (Unsupported) is passed on. externals: addresses of what it
    calls beside the runtime.
    """
    with _lock:
        found = _addresses.get((kind, text))
        if found is None:
            symbol = f"rl_{cache.key(kind, text)}"

            def make() -> bytes:
                module = _module()
                write(module, symbol)
                return target.assemble(module.text())

            code = _code(kind, text, make)
            known = {**_runtime(kind == "columns"), **(externals or {})}
            found = _addresses[kind, text] = target.load(code, (symbol,), known)[0]
        return found


# What is kept of a kernel that no emitter knows, or each process would load them to find that out.
_UNKNOWN = b"no machine code"


def _code(kind: str, text: str, make: Callable[[], bytes]) -> bytes:
    """Machine code: the disk's, the package's, or made now."""
    name = cache.key(kind, text, target.identity())
    code = cache.find(name) or packed.find(kind, text)
    if code == _UNKNOWN:
        raise target.Unsupported(f"{kind}: {text}")
    if code is None:
        try:
            code = make()
        except target.Unsupported:
            cache.keep(name, _UNKNOWN)
            raise
        cache.keep(name, code)
    return code


def kept(kind: str, text: str) -> bool:
    """Whether `address` has nothing to write for these."""
    return target.available() and (
        packed.has(kind, text) or cache.has(cache.key(kind, text, target.identity()))
    )


def ir(write: Callable[[Module, str], None]) -> str:
    """The LLVM IR of a kernel, for reading."""
    module = _module()
    write(module, "kernel")
    return module.text()


@functools.cache
def loop(write: Callable[..., None], dtype: str, *more: str) -> int:
    """The address of a loop that is written by hand for an element type and as many lanes as a vector has.

    write: a function of the module, a name, the type, the lanes, and of `more`.
    """
    from rushlight._engine.kernels.emit.atom_code import LLVM  # `write` is a function beside emitters

    kind, lanes = LLVM[dtype], target.lanes(dtype)
    return address(
        write.__name__, f"{kind} {lanes} {more}", lambda module, name: write(module, name, kind, lanes, *more)
    )


def runtime_address(symbol: str) -> int:
    """Where a function of the shared loops is."""
    with _lock:
        return _runtime(symbol in _COLUMNS[1])[symbol]
