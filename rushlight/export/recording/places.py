"""Where a program is while it is recorded: its modules, its lines, and what modules are called with."""

from __future__ import annotations

import linecache
import os
import sys
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

import rushlight as torch
from rushlight._engine.core.pytree import Tree, flatten
from rushlight._engine.dispatch.runners.indexing import getitem, setitem
from rushlight._engine.dispatch.spellings import METHODS_IN_PYTHON, public, spelling
from rushlight.fx.names import typename
from rushlight.fx.traceback import get_current_meta, has_preserved_node_meta

PACKAGE = torch.__file__.rpartition("__init__")[0]
_INNER = tuple(f"{PACKAGE}{folder}" for folder in ("_engine", "export", "fx"))
# What a node that is recorded again takes over.
_NOTED = ("nn_module_stack", "stack_trace", "custom", "torch_fn", "from_node")
_LAYERS = f"{PACKAGE}nn{os.sep}"
_CONTAINERS = (torch.nn.Sequential, torch.nn.ModuleList)


class ModuleCall(NamedTuple):
    """What a module was called with and gave: nodes or values, and their structures."""

    inputs: list[Any]
    outputs: list[Any]
    in_spec: Tree
    out_spec: Tree


# By file and qualified name: codes that do the same are equal whatever they are called.
_functions: dict[tuple[str, str], str | None] = {}


def _function(code: CodeType) -> str | None:
    """The kind and the name that PyTorch's function of this code has; None where it is none of PyTorch's."""
    key = code.co_filename, code.co_qualname
    if key not in _functions:
        _functions[key] = _told_as(code)
    return _functions[key]


def _told_as(code: CodeType) -> str | None:
    if code in (getitem.__code__, setitem.__code__):
        return f"wrapper_descriptor.__{code.co_name}__"
    found = spelling(code)
    if found is not None and code.co_filename.startswith("<rushlight"):
        function = found.function
        name = function.__name__
        if not function.__qualname__.startswith("Tensor."):
            return f"{type(public(function)).__name__}.{name}"
        compiled = name not in METHODS_IN_PYTHON and not name.startswith("__")
        return f"{'method_descriptor' if compiled else 'function'}.{name}"
    if code.co_qualname == code.co_name and code.co_filename.startswith(_LAYERS):
        own = getattr(getattr(torch.nn.functional, code.co_name, None), "__code__", None)
        return f"function.{code.co_name}" if own is code else None
    return None


class Places:
    """The part of a Listener that knows where the program is."""

    argument: Callable[[Any], Any]
    frames: list[Any]
    root: Any
    preserved: frozenset[str]
    paths: dict[int, list[str]]
    # The modules that are running, outermost first: their paths, and what they are called in notes.
    running: list[tuple[str, str, Any]]
    counts: Counter[str]
    region: tuple[Any, ...]  # the modes that the program has begun
    switches: int
    _outside: Callable[[], None]
    module_calls: dict[str, ModuleCall]
    # How often which function was called; and the call that is running, with what it is known as.
    calls: Counter[str]
    call: tuple[FrameType | None, tuple[str, str]]

    def _begin(self, module: Any, preserved: Any = ()) -> None:
        self._outside()
        self.root, self.preserved = module, frozenset(preserved)
        self.paths = {}
        for name, m in module.named_modules(remove_duplicate=False):
            self.paths.setdefault(id(m), []).append(name)
        self.running, self.counts, self.module_calls = [], Counter(), {}
        self.calls, self.call = Counter(), (None, ("", ""))

    def _path(self, module: Any) -> str | None:
        """The name of a module: below the one that is running where it has several."""
        names = self.paths.get(id(module))
        if not names or len(names) == 1:
            return names[0] if names else None
        above = self.running[-1][0] if self.running else ""
        below = [n for n in names if n.startswith(f"{above}." if above else "")] or names
        if self.running and isinstance(self.running[-1][2], _CONTAINERS):
            return below[sum(self.counts[n] for n in below) % len(below)]
        return below[0]

    def call_module(self, module: Any, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """A module's call, which nodes are told to be in."""
        path = self._path(module)
        if path is None:
            return run(module, *args, **kwargs)
        number = self.counts[path]
        self.counts[path] += 1
        name = f"{path}@{number}" if number else path
        self.running.append((path, f"L__self__{name}", module))
        kept = path in self.preserved and bool(path) and not self.frames
        try:
            given = flatten((args, kwargs)) if kept else None
            inputs = [] if given is None else [self.argument(v) for v in given[0]]
            result = run(module, *args, **kwargs)
            if given is not None:
                leaves, spec = flatten(result)
                first = self.module_calls.get(path)
                if first is not None and first.in_spec != given[1]:
                    raise AssertionError(f"in_spec mismatch for {path}: {first.in_spec} != {given[1]}")
                self.module_calls[name] = ModuleCall(inputs, [*map(self.argument, leaves)], given[1], spec)
            return result
        finally:
            self.running.pop()

    def _called(self) -> dict[str, Any]:
        """The function that the program has called, as torch_fn tells it: which call of which function."""
        frame: FrameType | None = sys._getframe(2)
        function, outermost = None, frame
        while frame is not None and frame.f_code.co_filename.startswith(("<rushlight", PACKAGE)):
            found = _function(frame.f_code)
            if found is not None:
                function, outermost = found, frame
            frame = frame.f_back
        if function is None:
            return {}
        if self.call[0] is not outermost:
            self.calls[function] += 1
            name = f"{function.partition('.')[2]}_{self.calls[function]}"
            self.call = outermost, (name, function)
        return {"torch_fn": self.call[1]}

    def place(self) -> dict[str, Any]:
        """Where the program is: lines of its forwards, and the modules that these are of."""
        noted = get_current_meta() if has_preserved_node_meta() else {}
        within = {"region": self.region} if self.region else {"switches": self.switches}
        if "from_node" in noted:  # a program is recorded again, node by node
            return {key: noted[key] for key in _NOTED if key in noted} | within
        frame: Any = sys._getframe(1)
        lines = []
        begin = f"{PACKAGE}export{os.sep}tracing"
        while frame is not None and not frame.f_code.co_filename.startswith(begin):
            file, code = frame.f_code.co_filename, frame.f_code
            if code.co_name == "forward" and code.co_argcount and not file.startswith(_INNER):
                text = linecache.getline(file, frame.f_lineno).strip()
                lines.append(f'File "{file}", line {frame.f_lineno}, in forward\n    {text}')
            frame = frame.f_back
        stack = {key: (path, typename(type(m))) for path, key, m in self.running}
        found: dict[str, Any] = {"nn_module_stack": stack or {"L__self__": ("", typename(type(self.root)))}}
        if noted.get("custom"):
            found["custom"] = dict(noted["custom"])
        return (
            found | self._called() | within | ({"stack_trace": "\n".join(reversed(lines))} if lines else {})
        )
