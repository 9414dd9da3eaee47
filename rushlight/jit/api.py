"""torch.jit.script and what prepares a scripted module for use."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from typing import Any

import rushlight as torch
from rushlight._engine.lazy import is_ours
from rushlight.jit._state import _enabled
from rushlight.jit.compiler.names import Names, class_type, script_function
from rushlight.jit.declarations import check_alone
from rushlight.jit.handles import run_graph
from rushlight.jit.modules import ScriptFunction, ScriptModule, script_module
from rushlight.jit.program.containers import ScriptDict, ScriptList
from rushlight.jit.program.graphs import SHOWN, Graph
from rushlight.jit.program.ir import Function, inlined, walk
from rushlight.jit.program.runtime import LAST, SCRIPTED
from rushlight.jit.state import tracing
from rushlight.jit.units import scope_of_frame
from rushlight.nn.modules.module import Module


def script(
    obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None
) -> Any:
    """Compile a function, a module or a class to TorchScript.

    A function gives a ScriptFunction, a module a ScriptModule that shares its parameters, a class itself.
    Raises RuntimeError, torch.jit.frontend.NotSupportedError and TypeError where it is no TorchScript.
    """
    if not _enabled or isinstance(obj, (ScriptFunction, ScriptModule)):
        return obj
    obj = prepared(obj, {})
    if isinstance(obj, Module):
        return script_module(obj)
    if isinstance(obj, type):
        if issubclass(obj, Module):
            raise RuntimeError(
                f"Type '{obj}' cannot be compiled since it inherits from nn.Module, consider passing an "
                "instance instead"
            )
        if not hasattr(obj, "__torch_script_interface__") and not issubclass(obj, (tuple, Enum)):
            if len(obj.__mro__) > 2:
                raise RuntimeError(
                    "TorchScript classes does not support inheritance yet. Please directly inherit from "
                    f"'object', which {obj.__name__} does not."
                )
            class_type(obj, scope_of_frame(sys._getframe(1 + _frames_up)))
        return obj
    if isinstance(obj, (dict, list)):
        return ScriptList(obj) if isinstance(obj, list) else ScriptDict(obj)
    if not inspect.isfunction(obj) and not inspect.ismethod(obj):
        obj = obj.__original_fn if hasattr(obj, "__script_if_tracing_wrapper") else obj
    if not callable(obj) and not is_ours(type(obj)) and type(obj).__module__ != "builtins":
        return _shared(obj)
    if not inspect.isfunction(obj) and "__call__" in vars(type(obj)):
        return _shared(obj)
    if not inspect.isfunction(obj):
        raise TypeError(
            "module, class, method, function, traceback, frame, or code object was expected, got "
            f"{type(obj).__name__}"
        )
    check_alone(obj)
    return ScriptFunction(_functional(obj) or script_function(obj), obj)


def _shared(obj: Any) -> Any:
    """An object of a class that is compiled: what programs do to it is seen from Python."""
    class_type(type(obj))
    with suppress(TypeError):  # its class has slots
        SCRIPTED[id(obj)] = obj
    return obj


def _functional(function: Any) -> Function | None:
    """The program of a function of torch.nn.functional that PyTorch has in Python; None of others."""
    name = getattr(function, "__name__", "")
    if getattr(torch.nn.functional, name, None) is not function:
        return None
    found = Names(lambda name: None).functional(name)
    return found if isinstance(found, Function) else None


@contextmanager
def _hide_source_ranges() -> Iterator[None]:
    """Inside, printed graphs do not say which lines nodes come from."""
    before, SHOWN.ranges = SHOWN.ranges, False
    try:
        yield
    finally:
        SHOWN.ranges = before


def prepared(obj: Any, known: dict[int, Any]) -> Any:
    """What an object, and each module in it, asks to be compiled in its place (__prepare_scriptable__)."""
    if isinstance(obj, (type, ScriptModule)):
        return obj
    if id(obj) not in known:
        replaced = obj.__prepare_scriptable__() if hasattr(obj, "__prepare_scriptable__") else obj
        known[id(obj)] = replaced
        if isinstance(replaced, Module):
            for name, child in replaced.__dict__.get("_modules", {}).items():
                replaced._modules[name] = prepared(child, known)
    return known[id(obj)]


def script_method(fn: Any) -> Any:
    """The decorator of those methods of a ScriptModule's subclass that are compiled when it is made."""
    if _enabled:
        fn._torchscript_modifier = "export"
    return fn


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Compile the function when a trace calls it; else it is Python."""
    compiled: list[Any] = []

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not tracing():
            return fn(*args, **kwargs)
        if not compiled:
            compiled.append(script(fn))
        return compiled[0](*args, **kwargs)

    setattr(wrapper, "__original_fn", fn)
    setattr(wrapper, "__script_if_tracing_wrapper", True)
    return wrapper


def freeze(mod: Any, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> Any:
    """A copy of a scripted module whose parameters, buffers and attributes have become constants of its code.

    preserved_attrs: attributes and methods that stay, beside forward. optimize_numerics: whether layers are
    merged where that may round differently (run_frozen_optimizations). RuntimeError for what is no
    ScriptModule, and for a module in training mode.
    """
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "Freezing expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to "
            "script your 'nn.Module'."
        )
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your "
            "module before freezing."
        )
    from rushlight.jit.freezing.module import frozen  # what it needs, jit, imports this file

    made = frozen(mod, preserved_attrs or [])
    methods = [name for name in preserved_attrs or [] if made._c._has_method(name)]
    run_frozen_optimizations(made, optimize_numerics, methods)
    return made


def run_frozen_optimizations(
    mod: Any, optimize_numerics: bool = True, preserved_methods: list[str] | None = None
) -> None:
    """Merge layers of a frozen module whose weights are constants, in forward and the methods named.

    Batch norms and arithmetic with constants go into the convolutions and linear layers before them, unless
    `optimize_numerics` is False: results then stay the same to the last bit. Dropout is taken out.
    """
    from rushlight.jit.freezing.optimizations import optimize  # what it needs, jit, imports this file

    for name in ("forward", *(preserved_methods or ())):
        if mod._c._has_method(name):
            graph = mod._c._get_method(name).graph
            optimize(graph._function.block, optimize_numerics)
            graph.changed(graph._function)


def optimize_for_inference(mod: Any, other_methods: list[str] | None = None) -> Any:
    """The module in evaluation mode, frozen unless it is, with layers merged (freeze).

    other_methods: what to keep beside forward. ValueError for what is no ScriptModule.
    """
    if not isinstance(mod, ScriptModule):
        raise ValueError(
            "optimize_for_inference expects a ScriptModule as input. Please use torch.jit.script or "
            "torch.jit.trace to script your 'nn.Module'."
        )
    return freeze(mod.eval(), other_methods) if hasattr(mod, "training") else mod


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Nothing: there is one way to run a program."""
    yield


@contextmanager
def fuser(name: str) -> Iterator[None]:
    """Nothing: torch.compile fuses kernels here."""
    yield


def last_executed_optimized_graph() -> Graph:
    """The graph that the last call of a compiled function or method ran."""
    function = LAST[0]
    if function is None:
        raise RuntimeError("no compiled function has run yet")
    return run_graph(function)


def set_fusion_strategy(strategy: Any) -> Any:
    """Nothing changes; the strategy is returned."""
    return strategy


def export_opnames(m: Any) -> list[str]:
    """The names of all ops that a compiled module's methods call, such as "aten::add.Tensor", in order.

    What is known before they run is computed; what PyTorch's interpreter does without an op is not listed.
    """
    from rushlight.jit.freezing.module import simplify  # what it needs, jit, imports this file

    found: set[str] = set()
    for function in m._type.methods.values():
        if function is None:
            continue
        block = inlined(function).block
        simplify(block)
        for node in walk(block):
            if node.kind in _OPS or (node.kind.startswith("aten::") and node.kind not in _INSTRUCTIONS):
                overload = getattr(node.schema, "overload", "")
                found.add(node.kind + (f".{overload}" if overload else ""))
    return sorted(found)


_OPS = ("prim::TupleUnpack", "prim::unchecked_cast")
_INSTRUCTIONS = ("aten::__is__", "aten::__isnot__", "aten::__not__", "aten::dim", "aten::format")


def _unique_state_dict(module: Module, keep_vars: bool = False) -> dict[str, Any]:
    """The state of a module, in which what is shared stands once only, by its first name."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for name, value in module.state_dict(keep_vars=True).items():
        if id(value) not in seen:
            seen.add(id(value))
            found[name] = value if keep_vars or not isinstance(value, torch.Tensor) else value.detach()
    return found


def enable_onednn_fusion(enabled: bool) -> None:
    """Nothing: there is no oneDNN."""


def onednn_fusion_enabled() -> bool:
    """False."""
    return False


__all__ = ["torch"]
