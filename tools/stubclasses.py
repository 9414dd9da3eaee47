"""Functions and classes as stubs declare them, read off what is there when the module has been imported."""

from __future__ import annotations
import __future__

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any, Generic, get_overloads

import stubtypes
from stubtypes import Scope

from rushlight._engine.tensors.of_class import OfClass

# What every class has, and what is nobody's business.
# Private names of a Module that subclasses override, as PyTorch's documentation has it.
_OVERRIDDEN = frozenset(("_save_to_state_dict", "_load_from_state_dict"))
_UNTOLD = frozenset(
    (
        "__module__ __qualname__ __doc__ __dict__ __weakref__ __slots__ __annotations__ __parameters__ "
        "__orig_bases__ __abstractmethods__ _abc_impl __firstlineno__ __static_attributes__ "
        "__init_subclass__ __annotate__ __annotate_func__ __annotations_cache__ __reduce__ __reduce_ex__ "
        "__getstate__ __dir__"
    ).split()
)
MODULE = "rushlight.nn.modules.module"
# What a layer's __call__ asks of its class; told in the stub of Module alone.
CALLS = """\
_P = ParamSpec("_P")
_R = TypeVar("_R", covariant=True)
class _Forward(Protocol[_P, _R]):
    def forward(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
"""
_NO_CALL = frozenset(("Module", "Sequential", "ModuleList", "ModuleDict", "Container"))


def file_of(function: Any) -> str:
    """The source file that a function's annotations are read in."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return "" if code is None else code.co_filename


def doc_lines(doc: str | None) -> list[str]:
    """A docstring's lines, as a body."""
    if not doc:
        return ["..."]
    text = inspect.cleandoc(doc).replace("\\", "\\\\").replace('"""', "'''")
    if "\n" not in text:
        return [f'"""{text}{" " if text.endswith(chr(34)) else ""}"""']
    return [f'"""{line}' if i == 0 else line for i, line in enumerate(text.splitlines())] + ['"""']


def block(head: str, body: list[str]) -> list[str]:
    """A def or a class."""
    if body == ["..."]:
        return [f"{head} ..."]
    return [head, *(f"    {line}" if line else "" for line in body)]


def spell(parameters: list[tuple[inspect.Parameter, str]]) -> str:
    """A parameter list out of parameters and their types ("" for none)."""
    parts: list[str] = []
    starred = False
    for i, (p, kind) in enumerate(parameters):
        if p.kind is p.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        starred = starred or p.kind is p.VAR_POSITIONAL
        star = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        text = f"{star}{p.name}" + (f": {kind}" if kind else "")
        if p.default is not p.empty:
            text += (" = " if kind else "=") + stubtypes.default(p.default)
        parts.append(text)
        last = i + 1 == len(parameters) or parameters[i + 1][0].kind is not p.POSITIONAL_ONLY
        if p.kind is p.POSITIONAL_ONLY and last:
            parts.append("/")
    return ", ".join(parts)


def function_lines(
    scope: Scope,
    name: str,
    function: Any,
    *,
    bound: bool = False,
    decorator: str = "",
    doc: str | None = None,
) -> list[str]:
    """A function's or a method's declaration; `bound`: its first parameter is the instance, or the class."""
    real = inspect.unwrap(function)
    module = getattr(real, "__module__", None) or scope.module
    file = file_of(function)
    if not file or file.startswith("<"):
        file = getattr(sys.modules.get(module), "__file__", None) or __file__
        module = module if module in sys.modules else scope.module
    typed = []
    given = list(inspect.signature(function).parameters.values())
    if name == "__repr__":  # checkers take no keywords of such methods to be the same in a subclass
        given = given[:1]
    for i, p in enumerate(given):
        if i == 0 and bound:
            typed.append((p, ""))
            continue
        typed.append((p, stubtypes.parameter(scope, p, file, module, name)))
    kind = stubtypes.result(scope, function, name, file, module)
    lines = [decorator] if decorator else []
    doc = function.__doc__ if doc is None else doc
    return lines + block(f"def {name}({spell(typed)}) -> {kind}:", doc_lines(doc))


def base_names(scope: Scope, cls: Any) -> str:
    """What stands in the brackets after a class's name."""
    bases = getattr(cls, "__orig_bases__", cls.__bases__)
    said = [_base(scope, base) for base in bases if base is not object]
    if (
        type(cls) is not type
        and type(cls).__module__.startswith("rushlight")
        and not any(type(b) is type(cls) for b in cls.__bases__)
    ):
        said.append(f"metaclass={scope.name(type(cls).__module__, type(cls).__name__)}")
    return f"({', '.join(said)})" if said else ""


def _base(scope: Scope, base: Any) -> str:
    origin = getattr(base, "__origin__", None)
    if origin is not None:
        args = ", ".join(_base(scope, a) for a in base.__args__)
        return f"{_base(scope, Generic if origin is Generic else origin)}[{args}]"
    if base is Any:
        return scope.home("Any")
    if base is None or base is type(None):
        return "None"
    if type(base).__name__ == "TypeVar":
        return scope.name(getattr(base, "__module__", scope.module), base.__name__)
    if base.__name__ in ("Tensor", "Parameter"):
        return scope.home(base.__name__)
    if base is ModuleType:
        return scope.name("types", "ModuleType")
    if base.__module__ == "builtins":
        return scope.builtin(base.__name__)
    home = vars(sys.modules.get(base.__module__, inspect))
    if issubclass(base, tuple) and not any(value is base for value in home.values()):
        return f"{scope.builtin('tuple')}[{scope.home('Any')}, ...]"
    known = base.__qualname__ in home or "." in base.__qualname__
    found = base.__qualname__ if known else next((n for n, v in home.items() if v is base), base.__qualname__)
    return scope.name(base.__module__, found)


def class_lines(scope: Scope, name: str, cls: Any) -> list[str]:
    """A class's declaration: attributes, methods, properties, each with its docstring."""
    if cls.__bases__ == (tuple,) and hasattr(cls, "_fields"):
        fields = [f"{field}: {scope.home('Tensor')}" for field in cls._fields]
        return block(f"class {name}({scope.home('NamedTuple')}):", fields)
    body = [] if not cls.__doc__ else [*doc_lines(cls.__doc__), ""]
    body += attribute_lines(scope, cls)
    layer = isinstance(vars(cls).get("forward"), FunctionType) and name not in _NO_CALL
    for member in sorted(vars(cls), key=_first):
        if isinstance(vars(cls)[member], OfClass):
            continue  # to types, Tensor.dim is what Tensor has of that name
        if member in _OVERRIDDEN or (
            member not in _UNTOLD and not (member.startswith("_") and not member.startswith("__"))
        ):
            told = member_lines(scope, cls, member, vars(cls)[member])
            body += forward_lines(scope, told) if layer and member == "forward" else told
    if layer:
        body += call_lines(scope)
    return block(f"class {name}{base_names(scope, cls)}:", body or ["..."])


def _first(name: str) -> tuple[bool, bool, str]:
    """Constructors, then Python's own methods, then the class's."""
    return name not in ("__new__", "__init__"), not name.startswith("__"), name


def call_lines(scope: Scope) -> list[str]:
    """A layer's __call__, with the parameters and the result of its forward, or of a subclass's."""
    forward, parameters, result = (scope.name(MODULE, name) for name in ("_Forward", "_P", "_R"))
    return [
        f"def __call__(self: {forward}[{parameters}, {result}], "
        f"*args: {parameters}.args, **kwargs: {parameters}.kwargs) -> {result}: ..."
    ]


def forward_lines(scope: Scope, lines: list[str]) -> list[str]:
    """A layer's forward, and so its call, takes tensors as PyTorch's call does, from programs without types.

    A strict checker would tell of each `self.layer(x)` in a `forward(self, x)` that it knows nothing of x.
    """
    head, arrow, result = lines[0].rpartition(" -> ")
    tensor, any_ = scope.home("Tensor"), scope.home("Any")
    return [re.sub(rf": {tensor}\b( \| None)?", f": {any_}", head) + arrow + result, *lines[1:]]


def member_lines(scope: Scope, cls: Any, name: str, value: Any) -> list[str]:
    """One member of a class."""
    if name in vars(cls).get("__annotations__", {}):
        return []
    if isinstance(value, property) or type(value).__name__ in ("lazy_property", "cached_property"):
        return property_lines(scope, cls, name, value)
    if isinstance(value, classmethod):
        return function_lines(scope, name, value.__func__, bound=True, decorator="@classmethod")
    if isinstance(value, staticmethod):
        if isinstance(value.__func__, FunctionType):
            return function_lines(scope, name, value.__func__, decorator="@staticmethod")
        return [f"{name}: {scope.home('Any')}"]
    if isinstance(value, FunctionType):
        several = get_overloads(value)
        return [
            line
            for each in several or [value]
            for line in function_lines(
                scope,
                name,
                each,
                bound=True,
                doc=value.__doc__ or "",
                decorator=f"@{scope.home('overload')}" if several else "",
            )
        ]
    if isinstance(value, type):
        return (
            [f"{name} = {scope.name(value.__module__, value.__qualname__)}"]
            if value.__module__ != cls.__module__ and "." not in value.__qualname__
            else [f"{name}: {scope.builtin('type')}[{scope.home('Any')}]"]
        )
    return [f"{name}: {value_type(scope, name, value)}"]


def property_lines(scope: Scope, cls: Any, name: str, value: Any) -> list[str]:
    """A property; what it gives is its getter's result."""
    getter = getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "wrapped", None)
    if isinstance(getter, FunctionType):
        kind = stubtypes.result(scope, getter, name, file_of(getter), getter.__module__)
    else:
        by_name = stubtypes.words()[1].get(name)
        kind = scope.house(by_name) if by_name else scope.home("Any")
    noted = getattr(value, "kind", None)
    kind = scope.house(noted) if noted else kind
    lines = ["@property", *block(f"def {name}(self) -> {kind}:", doc_lines(value.__doc__))]
    if getattr(value, "fset", None):
        lines += [f"@{name}.setter", f"def {name}(self, value: {kind}) -> None: ..."]
    if getattr(value, "fdel", None):
        lines += [f"@{name}.deleter", f"def {name}(self) -> None: ..."]
    return lines


def value_type(scope: Scope, name: str, value: Any) -> str:
    """The type of a constant of a class or module."""
    if type(value) in (bool, int, float, str):
        return scope.builtin(type(value).__name__)
    if type(value) in (list, tuple, set, dict, frozenset):
        inner = {"tuple": "[Any, ...]", "dict": "[Any, Any]"}.get(type(value).__name__, "[Any]")
        return scope.builtin(type(value).__name__) + inner.replace("Any", scope.home("Any"))
    cls = type(value)
    if cls.__name__ in ("dtype", "MemoryFormat", "StorageLayout") and cls.__module__.startswith("rush"):
        return scope.name(cls.__module__, cls.__name__)
    return scope.home("Any")


def attribute_lines(scope: Scope, cls: Any) -> list[str]:
    """What a class annotates, and what its __init__ stores."""
    found: dict[str, str] = {}
    file = getattr(sys.modules.get(cls.__module__), "__file__", "") or ""
    for name, noted in vars(cls).get("__annotations__", {}).items():
        if not name.startswith("_"):
            found[name] = scope.source(str(noted), file, cls.__module__) or scope.home("Any")
    for base in cls.__bases__:
        if (
            issubclass(base, tuple)
            and hasattr(base, "_fields")
            and not any(value is base for value in vars(sys.modules[cls.__module__]).values())
        ):
            found.update(dict.fromkeys(base._fields, scope.home("Any")))
    init = vars(cls).get("__init__")
    if init is not None and (not isinstance(init, FunctionType) or inspect.unwrap(init) is init):
        for name, kind in _stored(scope, cls, cls.__init__, file).items():
            if not name.startswith("_") and name not in vars(cls):
                found.setdefault(name, kind)
    return [f"{name}: {kind}" for name, kind in sorted(found.items())]


def _stored(scope: Scope, cls: Any, init: Any, file: str) -> dict[str, str]:
    """The attributes that an __init__ sets, with their types."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(init)))
    except (OSError, TypeError, SyntaxError):
        return {}
    given = {
        p.name: stubtypes.parameter(scope, p, file, cls.__module__)
        for p in inspect.signature(init).parameters.values()
    }
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        pairs: list[tuple[Any, Any, Any]] = []
        if isinstance(node, ast.AnnAssign):
            pairs = [(node.target, node.value, ast.unparse(node.annotation))]
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs += [(t, v, None) for t, v in zip(target.elts, node.value.elts, strict=False)]
                elif isinstance(target, ast.Tuple):
                    pairs += [(t, None, None) for t in target.elts]
                else:
                    pairs.append((target, node.value, None))
        elif isinstance(node, ast.Call):
            found.update(_registered(scope, node))
        for target, value, noted in pairs:
            if isinstance(target, ast.Attribute) and getattr(target.value, "id", "") == "self":
                kind = scope.source(noted, file, cls.__module__) if noted else None
                kind = kind or _kind(scope, cls, value, given, file)
                found.setdefault(target.attr, kind or scope.home("Any"))
    return found


def _registered(scope: Scope, call: ast.Call) -> dict[str, str]:
    """Parameters and buffers that a call in an __init__ registers."""
    called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if called == "register_empty":
        return {k.arg: scope.home("Parameter") for k in call.keywords if k.arg}
    kind = {"register_parameter": "Parameter", "register_buffer": "Tensor"}.get(called)
    if kind and call.args and isinstance(call.args[0], ast.Constant):
        return {str(call.args[0].value): scope.home(kind)}
    return {}


def _kind(scope: Scope, cls: Any, value: Any, given: dict[str, str], file: str) -> str | None:
    if isinstance(value, ast.Name):
        return given.get(value.id)
    if isinstance(value, ast.Constant) and type(value.value) in (int, float, str, bool):
        return scope.builtin(type(value.value).__name__)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        found = getattr(sys.modules[cls.__module__], value.func.id, None)
        if isinstance(found, type) and not issubclass(found, type) and found.__module__ != "builtins":
            return scope.source(value.func.id, file, cls.__module__)
    return None


def variable_lines(scope: Scope, module: ModuleType, name: str, value: Any) -> list[str]:
    """A constant of a module, by its annotation or its value."""
    noted = getattr(module, "__annotations__", {}).get(name)
    kind = noted and scope.source(str(noted), str(module.__file__), module.__name__)
    return [f"{name}: {kind or value_type(scope, name, value)}"]


def public_members(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """What a module defines itself, with its constants, in the order of names."""
    file = str(module.__file__)
    here, brought = stubtypes.defined(file), stubtypes.imports(file)
    for name in sorted(vars(module)):
        value = vars(module)[name]
        if (
            name.startswith("__")
            or name == "_all"
            or isinstance(value, (ModuleType, __future__._Feature))
            or name in brought
        ):
            continue
        if isinstance(value, (type, FunctionType)):
            made_here = not name.startswith("_") and not isinstance(value, type)
            if value.__module__ == module.__name__ or name in here or made_here:
                yield name, value
        elif not name.startswith("_") or name in getattr(module, "__annotations__", {}):
            yield name, value
