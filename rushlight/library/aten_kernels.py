"""Functions that programs give for PyTorch's own ops: Library("aten", "IMPL").impl.

While there are any, a mode stands under all others of a thread, and answers for these ops: below autograd
those of a backend's key ("CPU", "CUDA", "Meta"), above it those of "Autograd" ("AutogradCPU"). What is given
for other keys is never called.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import rushlight as torch
from rushlight._engine.dispatch import interpreters
from rushlight._engine.dispatch.interpreters import BASE, BASES, MODES, STACKS
from rushlight._torch_dispatch import methods
from rushlight.export.overloads import anyone, recorded
from rushlight.library import fallthrough_kernel
from rushlight.library.below import LEVEL
from rushlight.library.key_sets import backend, with_keys
from rushlight.library.registration import there_already
from rushlight.utils._python_dispatch import TorchDispatchMode

Kernel = Callable[..., Any]

# By op ("sum", "add.Tensor") and key: the functions that were given, the last of which is called.
KERNELS: dict[str, dict[str, list[Kernel]]] = {}


class _Passed(threading.local):
    """The ops that run as PyTorch's own in this thread."""

    def __init__(self) -> None:
        self.ops: list[str] = []


_PASSED = _Passed()


class AtenKernels(TorchDispatchMode):
    """The mode that calls them."""

    def above(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a function above autograd gives for an op; NotImplemented where there is none."""
        keys = _kernels(op)
        if not keys:
            return NotImplemented
        given = None if LEVEL.depth else keys.get(f"Autograd{backend(args, kwargs)}") or keys.get("Autograd")
        return self._called(given[-1], op, args, kwargs) if given else NotImplemented

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if types:  # a class that hears ops is asked first
            return NotImplemented
        keys = _kernels(func)
        given = keys.get(backend(args, kwargs)) if keys else None
        return self._called(given[-1], func, args, kwargs) if given else func(*args, **kwargs)

    def _called(self, kernel: Kernel, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = interpreters.within(self, kernel, args, kwargs)
        if op._schema.text.endswith("-> Tensor") and not isinstance(found, torch.Tensor):
            raise RuntimeError(f"Unable to cast {found!r} to Tensor")
        return found


BASES.add(AtenKernels)


def _kernels(op: Any) -> dict[str, list[Kernel]] | None:
    name = op.name().partition("::")[2] if op.namespace == "aten" else ""
    return None if name in _PASSED.ops else KERNELS.get(name)


def register(name: str, key: str, fn: Kernel, with_keyset: bool, allow_override: bool) -> Callable[[], None]:
    """fn answers for an op of PyTorch's; what is to be called when it does so no longer.

    Errors: RuntimeError where another does, and allow_override is False; NotImplementedError for ops that are
    made of others, or write to `out`.
    """
    name = name.removesuffix(".default")
    own, _, overload = name.partition(".")
    op = recorded(own).get(overload or "default")
    if op is not None and (op.is_composite or "out" in [p.name for p in op._schema.arguments]):
        raise NotImplementedError(
            f"Library('aten', 'IMPL').impl: functions for aten::{name} would never be called here: it is "
            "run as other ops, which functions can be given for; torch.overrides.TorchFunctionMode sees "
            "each call"
        )
    if not allow_override and KERNELS.get(name, {}).get(key):
        raise RuntimeError(there_already(name, key, "aten"))
    if fn is fallthrough_kernel:
        return _nothing
    kernel = with_keys(fn, key) if with_keyset else fn
    KERNELS.setdefault(name, {}).setdefault(key, []).append(kernel)
    if not BASE:
        _begin()
    return partial(_forget, name, key, kernel)


def _nothing() -> None:
    pass


def _begin() -> None:
    mode = AtenKernels()
    BASE.append(mode)
    MODES.append(mode)
    methods.enter()
    for modes in _stacks():
        modes.insert(0, mode)


def _end() -> None:
    """The mode goes from all threads; one that runs an op at this moment drops it then."""
    mode = BASE.pop()
    for modes in _stacks():
        while mode in modes:
            modes.remove(mode)
    MODES.remove(mode)
    methods.leave()


def _stacks() -> list[list[Any]]:
    """The interpreters of each thread."""
    return [modes for found in [*STACKS] if (modes := found()) is not None]


def _forget(name: str, key: str, kernel: Kernel) -> None:
    keys = KERNELS.get(name, {})
    several = keys.get(key, [])
    if kernel not in several:
        return
    several.remove(kernel)
    if not several:
        del keys[key]
    if not keys:
        del KERNELS[name]
    if not KERNELS:
        _end()


def current(name: str, key: str) -> Kernel:
    """What computes an op ("sum", "add.Tensor") for a key at this moment: PyTorch's own function, if nothing
    else is given.
    """
    name = name.removesuffix(".default")
    given = KERNELS.get(name, {}).get(key)
    if given:
        return given[-1]
    op = anyone(name if "." in name else f"{name}.default")

    def run(*args: Any, **kwargs: Any) -> Any:
        _PASSED.ops.append(name)
        try:
            return op(*args, **kwargs)
        finally:
            _PASSED.ops.pop()

    return run
