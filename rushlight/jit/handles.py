"""What programs reach through `_c` and methods of compiled modules: graph, code, schema, attributes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from rushlight._engine.core.recording import TAPE
from rushlight.jit.compiler.calls import declaration
from rushlight.jit.compiler.function_schema import FunctionSchema
from rushlight.jit.program import execute
from rushlight.jit.program.codetext import function_text
from rushlight.jit.program.containers import ScriptDict, ScriptList
from rushlight.jit.program.graphs import Graph, graph_of, typed
from rushlight.jit.program.ir import Function
from rushlight.jit.program.runtime import given_back, handed
from rushlight.jit.program.tidy import tidy
from rushlight.jit.program.types import TAKEN, ClassType, Type


def method(function: Function, original: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A compiled method as Python calls it, which also tells its graph, code and schema.

    original: what it was compiled of, which an exported program is made of.
    """
    entry = found = execute.entry(function, declaration(function))
    if original is not None:

        @functools.wraps(entry)
        def found(*args: Any, **kwargs: Any) -> Any:
            if TAPE and hasattr(TAPE[-1], "exports"):
                return original(*args, **kwargs)
            return entry(*args, **kwargs)

    vars(found).update(
        graph=graph_of(function), code=function_text(function), schema=FunctionSchema(function)
    )
    return found


def copied(name: str, t: Type) -> property:
    """An attribute that is, or holds, a list or dict: Python gets and gives copies."""
    return _attribute(name, lambda self: given_back(self.__dict__[name], t))


def hidden(name: str, found: Any) -> property:
    """An attribute that programs have under the name of a method of the class, which is what Python gets."""
    return _attribute(name, lambda self: found.__get__(self, type(self)))


def _attribute(name: str, get: Callable[[Any], Any]) -> property:
    """An attribute that Python sets as programs do, and gets by a function of the module."""

    def put(self: Any, value: Any) -> None:
        self.__dict__[name] = value

    return property(get, put)


def taken_over(value: Any, t: Type) -> Any:
    """An attribute's value as a scripted module has it: lists and dicts are its own, dtypes are numbers,
    members of an Enum that are texts or numbers these.
    """
    if isinstance(value, (ScriptList, ScriptDict)) or value is None:
        return value
    if t.kind in ("int", "float", "str"):
        return handed(value, t)
    if t.kind == "Optional":
        return taken_over(value, t.args[0])
    if t.kind == "List" and t.args:
        return [taken_over(v, t.args[0]) for v in value]
    if t.kind == "Dict" and t.args:
        return {taken_over(k, t.args[0]): taken_over(v, t.args[1]) for k, v in value.items()}
    if t.kind == "Tuple" and t.cls is None and len(t.args) == tuple.__len__(value):
        parts = tuple.__iter__(value)  # whatever a class made of tuple answers
        return tuple(taken_over(v, part) for v, part in zip(parts, t.args, strict=True))
    return value


def python_object(value: Any) -> Any:
    """A Python object as compiled code hands it on: the object."""
    return value


class ConstMap:
    """The constants of a program's code: CONSTANTS.c0 is .c0."""

    def __init__(self, values: list[Any]) -> None:
        self.const_mapping = {f"c{i}": value for i, value in enumerate(values)}

    def __getattr__(self, name: str) -> Any:
        if name == "const_mapping" or name not in self.const_mapping:
            raise AttributeError(name)
        return self.const_mapping[name]


def code_with_constants(function: Function) -> tuple[str, ConstMap]:
    """A program as TorchScript code, and the constants in it that have no spelling."""
    found: list[Any] = []

    def tensor(value: Any) -> str:
        if not any(known is value for known in found):
            found.append(value)
        return f"CONSTANTS.c{next(i for i, known in enumerate(found) if known is value)}"

    return function_text(function, tensor), ConstMap(found)


def run_graph(function: Function) -> Graph:
    """The graph that a call runs: what it calls is in it, and equal constants are one."""
    found = Graph(function, True)
    tidy(found._function.block)
    return found


class Listings:
    """What a compiled function, `_function`, looks like."""

    _function: Function

    @property
    def code(self) -> str:
        """The program as TorchScript code."""
        return function_text(self._function)

    @property
    def code_with_constants(self) -> tuple[str, ConstMap]:
        """The code, and the constants in it that have no spelling: c0, c1, ..."""
        return code_with_constants(self._function)

    @property
    def graph(self) -> Graph:
        """The program as a graph."""
        return graph_of(self._function)

    @property
    def inlined_graph(self) -> Graph:
        """The graph with the functions that it calls in it."""
        return Graph(self._function, True)


class MethodHandle(Listings):
    """A compiled method of a module."""

    def __init__(self, module: Any, function: Function) -> None:
        self._module, self._function = module, function
        self.name, self.qualified_name = function.name, function.qualname
        self.schema = FunctionSchema(function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method."""
        return getattr(self._module, self.name)(*args, **kwargs)

    @property
    def owner(self) -> ModuleHandle:
        """The module."""
        return ModuleHandle(self._module)


class ModuleHandle:
    """A compiled module, as PyTorch's C++ class shows it."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __repr__(self) -> str:
        return f"ScriptObject <{self.qualified_name}>"

    @property
    def _own(self) -> ClassType:
        found: ClassType = self._module._type
        return found

    @property
    def qualified_name(self) -> str:
        """The name of its class in code."""
        return self._own.qualname

    @property
    def name(self) -> str:
        """The last part of the name of its class."""
        return self._own.qualname.rpartition(".")[2]

    @property
    def code(self) -> str:
        """forward as TorchScript code."""
        return self._get_method("forward").code

    def _type(self) -> Any:
        return typed(Type("Class", cls=self._own))

    def hasattr(self, name: str) -> bool:
        """Whether it has an attribute, parameter, buffer or module of this name."""
        return name in self._own.fields

    def getattr(self, name: str) -> Any:
        """An attribute, parameter, buffer or module."""
        if name not in self._own.fields:
            raise RuntimeError(
                f"Module '{self._own.qualname.rpartition('.')[2]}' has no attribute '{name}'; it has "
                f"{', '.join(self._own.fields)}"
            )
        found = self._module.__dict__[name] if name in TAKEN else getattr(self._module, name)
        return found._c if self._own.kinds[name] == "module" else found

    def setattr(self, name: str, value: Any) -> None:
        """Change an attribute, parameter or buffer."""
        setattr(self._module, name, value)

    def _has_method(self, name: str) -> bool:
        return self._own.methods.get(name) is not None

    def _method_names(self) -> list[str]:
        return [name for name, found in self._own.methods.items() if found is not None]

    def _get_methods(self) -> list[MethodHandle]:
        return [self._get_method(name) for name in self._method_names()]

    def _get_method(self, name: str) -> MethodHandle:
        found = self._own.methods.get(name)
        if found is None:
            raise RuntimeError(f"Method '{name}' is not defined.")
        return MethodHandle(self._module, found)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__["_module"]._type
        if own.methods.get(name) is not None:
            return self._get_method(name)
        if name in own.fields:
            return self.getattr(name)
        raise AttributeError(
            f"'torch._C.ScriptModule' object has no attribute '{name}': {self.name} (of Python compilation "
            f"unit) does not have a field with name '{name}'"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleHandle) and other._module is self._module

    def __hash__(self) -> int:
        return id(self._module)
