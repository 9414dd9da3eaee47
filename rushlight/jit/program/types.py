"""TorchScript's types: what they are called, which one may stand for which, and how annotations are read."""

from __future__ import annotations

import ast
import collections
import re
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Any

from rushlight._engine.lazy import is_ours
from rushlight.jit.compiler.qualnames import claim


@dataclass(frozen=True)
class Type:
    """A type: an atom ("int"), a container with `args` ("List", "Dict", "Tuple", "Optional", "Union",
    "Future"), or a class ("Class"), which is `cls`; of a named tuple or an "Enum" `cls` is Python's class.
    """

    kind: str
    args: tuple[Type, ...] = ()
    cls: Any = None

    def __str__(self) -> str:
        """As in code: List[int], Optional[Tensor]."""
        if self.kind == "var":
            return str(self.cls.__qualname__)
        if self.cls is not None:
            return self.cls.qualname if self.kind == "Class" else qualified(self.cls)
        if self.kind == "Tuple" and not self.args:
            return "Tuple[()]"
        if self.kind == "Optional" and self.args[0].kind == "Union":
            return str(Type("Union", _in_order((*self.args[0].args, Type("NoneType")))))
        return f"{self.kind}[{', '.join(map(str, self.args))}]" if self.args else self.kind

    def short(self) -> str:
        """As in graphs: int[], Tensor?."""
        if self.kind == "var":
            return str(self.cls.__qualname__)
        parts = [part.short() for part in self.args]
        if self.kind == "Optional" and self.args[0].kind == "Union":
            return Type("Union", _in_order((*self.args[0].args, Type("NoneType")))).short()
        if self.kind == "Union":
            return f"Union({', '.join(parts)})"
        if self.kind in ("List", "Optional"):
            return parts[0] + ("[]" if self.kind == "List" else "?")
        if self.kind in ("Dict", "Future", "Await"):
            return f"{self.kind}({', '.join(parts)})"
        if self.kind == "Enum":
            return f"Enum<{qualified(self.cls)}>"
        if self.kind == "Tuple" and self.cls is None:
            return f"({', '.join(parts)})"
        return {"number": "Scalar"}.get(self.kind, str(self))


# The order in which PyTorch names the types of a union.
_ORDER = (
    "Any Enum Tensor Tuple List Dict number float complex Future int NoneType str Generator bool Optional"
).split()


def _in_order(types: Iterable[Type]) -> tuple[Type, ...]:
    def place(t: Type) -> tuple[int, str]:
        return (_ORDER.index(t.kind) if t.kind in _ORDER else len(_ORDER)), t.short()

    return tuple(sorted(types, key=place))


TENSOR, INT, FLOAT, BOOL, STR, NONE = map(Type, ("Tensor", "int", "float", "bool", "str", "NoneType"))
NUMBER, COMPLEX, DEVICE, ANY, GENERATOR = map(Type, ("number", "complex", "Device", "Any", "Generator"))
FUNCTION = Type("Function")
ATOMS = {t.kind: t for t in (TENSOR, INT, FLOAT, BOOL, STR, NONE, NUMBER, COMPLEX, DEVICE, ANY, GENERATOR)}
GENERICS = (typing.List, list, typing.Dict, dict, typing.Tuple, tuple, typing.Optional, typing.Union)  # noqa: UP006
CONTAINERS = ("List", "Dict", "Tuple", "Optional", "Union", "Future", "Await")
# What these names mean wherever they stand.
BY_NAME = {"Tensor": TENSOR, "Device": DEVICE, "number": NUMBER, "NoneType": NONE, "Generator": GENERATOR}


def _uncompiled(name: str) -> None:
    """`compile` of a class whose methods are all there."""


TAKEN: set[str] = set()  # names by which Python finds a method or property of all scripted modules


@dataclass(eq=False)
class ClassType:
    """A class or a module's class, specialised: one whose attributes have the same types and constants.

    fields: types of attributes, in order; kinds: "parameter", "buffer", "module" or "attribute".
    methods: compiled ones; compile: makes one by its name when it is first called; trees: what it is made
    of, in a class that was read from a file.
    extras: attributes that are functions; failed: those without a type: what they are in Python,
    and why.
    """

    qualname: str
    is_module: bool = False
    fields: dict[str, Type] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    methods: dict[str, Any] = field(default_factory=dict)
    compile: Callable[[str], Any] = _uncompiled
    trees: dict[str, ast.FunctionDef] = field(default_factory=dict)
    python: Any = None
    is_interface: bool = False
    extras: dict[str, Any] = field(default_factory=dict)
    failed: dict[str, tuple[str, str]] = field(default_factory=dict)
    pre_hooks: tuple[Any, ...] = ()  # Python functions that run before and after forward
    hooks: tuple[Any, ...] = ()
    overloads: dict[str, tuple[str, ...]] = field(default_factory=dict)  # methods of several signatures
    form: type[Any] | None = None  # the Python class of scripted modules of this type

    def method(self, name: str) -> Any:
        """The method of a name, or None."""
        return self.methods.get(name) or self.compile(name)

    def declared(self) -> list[str]:
        """The methods that stand for one signature each of a method that has several."""
        return [name for names in self.overloads.values() for name in names]


def qualified(cls: Any) -> str:
    """The name of a Python class in code."""
    module = cls.__module__.replace("rushlight", "torch", 1)
    name: str = cls.__name__
    return "__torch__." + ("" if module == "__main__" else f"{unmarked(module)}.") + name


def unmarked(module: str) -> str:
    """A module's name as code can have it: that of a package's module begins with a mark in brackets."""
    return re.sub(r"^<(torch_package_\d+)>", r"_\1_", module)


# What says why objects of a type do not have an interface: compiler/interfaces.py.
conforming: list[Callable[[ClassType, ClassType], str]] = []


def union(types: Iterable[Type]) -> Type:
    """Union[types]: unions in it are opened, each type is named once; what may be None is Optional."""
    found = dict.fromkeys(part for t in types for part in _opened(t))
    if {INT, FLOAT, COMPLEX} <= set(found):
        found = dict.fromkeys([NUMBER, *(t for t in found if t not in (INT, FLOAT, COMPLEX))])
    known = [t for t in found if not any(t != other and subtype(t, other) for other in found if other != ANY)]
    rest = _in_order(t for t in known if t != NONE)
    whole = NONE if not rest else rest[0] if len(rest) == 1 else Type("Union", rest)
    return optional(whole) if NONE in found else whole


def _opened(t: Type) -> tuple[Type, ...]:
    """The types that a union or optional stands for."""
    if t.kind == "Union":
        return tuple(part for inner in t.args for part in _opened(inner))
    return (*_opened(t.args[0]), NONE) if t.kind == "Optional" else (t,)


def list_of(t: Type) -> Type:
    """List[t]."""
    return Type("List", (t,))


def optional(t: Type) -> Type:
    """Optional[t]; itself where it has None already."""
    return t if t.kind in ("Optional", "NoneType", "Any") else Type("Optional", (t,))


def subtype(a: Type, b: Type) -> bool:
    """Whether a value of type a may stand where b is expected."""
    if a == b or b == ANY:
        return True
    if b.kind == "Optional":
        return a == NONE or subtype(a.args[0] if a.kind == "Optional" else a, b.args[0])
    if a.kind == "Union":
        return all(subtype(part, b) for part in a.args)
    if b.kind == "Union":
        return any(subtype(a, one) for one in b.args)
    if b == NUMBER:
        return a in (INT, FLOAT, COMPLEX)
    if a.kind == b.kind and b.kind in ("Future", "Await"):
        return not b.args or all(map(subtype, a.args, b.args))
    if b.kind == "Tuple" and a.kind == "Tuple":
        return len(a.args) == len(b.args) and all(map(subtype, a.args, b.args)) and b.cls in (None, a.cls)
    if b.kind == "Class" and a.kind == "Class" and b.cls.is_interface:
        return not any(missing(a.cls, b.cls) for missing in conforming)
    return False


def unify(a: Type, b: Type) -> Type | None:
    """The type that both may stand for, or None."""
    if subtype(a, b):
        return b
    if subtype(b, a):
        return a
    if NONE in (a, b):
        return optional(b if a == NONE else a)
    if "Optional" in (a.kind, b.kind):
        inner = unify(*(t.args[0] if t.kind == "Optional" else t for t in (a, b)))
        return optional(inner) if inner else None
    if a.kind == b.kind == "Tuple" and len(a.args) == len(b.args):
        parts = [unify(x, y) for x, y in zip(a.args, b.args, strict=True)]
        return Type("Tuple", tuple(p for p in parts if p)) if all(parts) else None
    return None


@cache
def _enumeration(found: type[Enum]) -> Type:
    """The type of an Enum's members, whose values are all integers, all numbers or all strings."""
    kinds = list(dict.fromkeys(type(member.value) for member in found))
    wrong = next((kind.__name__ for kind in kinds if kind not in (int, float, str)), None)
    if wrong is not None:
        raise TypeError(f"Cannot create Enum with value type '{wrong}'; int, float and str are supported")
    if len(kinds) > 1:
        raise TypeError(
            f"Could not unify type list: the values of {found.__name__} are {[k.__name__ for k in kinds]}"
        )
    return Type("Enum", (), found)


def _named(found: Any, name: str) -> Type | None:
    """The type of a named tuple, of an Enum's members, or of a class of torch's; None of others."""
    if issubclass(found, Enum):
        return _enumeration(found)
    if issubclass(found, tuple) and hasattr(found, "_fields"):
        try:
            notes = typing.get_type_hints(found)
        except NameError as error:
            raise TypeError(
                f"Unknown type annotation: 'ForwardRef('{error.name}')' in NamedTuple {found.__name__}. "
                "Likely due to partial support for ForwardRef parameters in NamedTuples, see #95858. "
                "Issue occurred"
            ) from None
        for value in getattr(found, "_field_defaults", {}).values():
            if is_ours(type(value)) and _of_ours(type(value).__name__) == TENSOR:
                raise RuntimeError(
                    "Tensors are not supported as default NamedTuple fields. Their mutability could lead to "
                    "potential memory aliasing problems"
                )
        t = Type("Tuple", tuple(from_python(notes.get(n, TENSOR)) for n in found._fields), found)
        claim(qualified(found), (found._fields, t.args))
        return t
    return _of_ours(name) if is_ours(found) else None


def from_python(found: Any, of_class: Callable[[type], Type] | None = None) -> Type:
    """The type that a Python annotation means; TypeError where there is none. `of_class`: asked for the type
    of instances of a program's own class.
    """
    if isinstance(found, Type):
        return found
    if found is None or found is type(None):
        return NONE
    if found is typing.Any:
        return ANY
    origin, args = typing.get_origin(found), typing.get_args(found)
    if origin in (typing.Union, types.UnionType):
        return union(from_python(a, of_class) for a in args)
    if found in GENERICS and found is not typing.Union:
        what = getattr(found, "_name", None) or found.__name__.capitalize()
        lacking = (
            "contained types. Please add contained type"
            if what == "Dict"
            else ("a contained type. Please add a contained type")
        )
        example = f"{what}[int, int]" if what == "Dict" else f"{what}[int]"
        raise TypeError(f"Attempted to use {what} without {lacking}, e.g. {example}")
    if origin in (list, dict, tuple, collections.OrderedDict):
        parts = () if args == ((),) else tuple(from_python(a, of_class) for a in args)
        return checked(
            Type("Dict" if origin is collections.OrderedDict else origin.__name__.capitalize(), parts)
        )
    name: Any = getattr(origin or found, "__name__", None)
    if name == "Future" and not args:
        raise TypeError(
            "Attempted to use Future without a contained type. Please add a contained type, e.g. Future[int]"
        )
    if name in ("Future", "_Await"):
        return Type(name.lstrip("_"), (from_python(args[0], of_class),) if args else ())
    named = _named(found, name) if isinstance(found, type) else None
    if named is not None:
        return named
    if found in (int, float, bool, str, complex):
        return ATOMS[found.__name__]
    if isinstance(found, type) and of_class is not None:
        return of_class(found)
    raise TypeError(f"Unknown type annotation: '{getattr(found, '__name__', found)}'")


_KEYS = (INT, FLOAT, COMPLEX, TENSOR, DEVICE, STR, BOOL)


def checked(t: Type) -> Type:
    """A type; TypeError for dicts whose keys are of a type that keys may not have."""
    key = t.args[0] if t.kind == "Dict" and t.args else STR
    if key not in _KEYS and key.kind not in ("var", "Enum", "Any"):
        raise TypeError(
            f"Cannot create dict for key type '{key.short()}', only int, float, complex, Tensor, device and "
            "string keys are supported"
        )
    return t


def _of_ours(name: str) -> Type | None:
    """The type of instances of a class of the framework."""
    plain = {
        "Tensor": TENSOR,
        "Parameter": TENSOR,
        "device": DEVICE,
        "dtype": INT,
        "Size": list_of(INT),
        "Generator": GENERATOR,
        "MemoryFormat": INT,
        "StorageLayout": INT,
        "qscheme": INT,
    }
    return plain.get("Tensor" if name.endswith("Tensor") else name)


def from_ast(node: ast.AST, name: Callable[[ast.AST], Any]) -> Type:
    """The type that an annotation's text means; `name` gives the Type, or Python object, of a dotted name."""
    if isinstance(node, ast.Constant) and node.value is None:
        return NONE
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return from_ast(ast.parse(node.value, mode="eval").body, name)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        a, b = from_ast(node.left, name), from_ast(node.right, name)
        return union((a, b))
    if isinstance(node, ast.Tuple):
        return Type("Tuple", tuple(from_ast(e, name) for e in node.elts))
    if isinstance(node, ast.Subscript):
        text = _constructor(node.value, name)
        text = "Await" if text == "_await" else text
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        args = tuple(from_ast(e, name) for e in inner)
        if text in ("Final", "Optional"):
            return args[0] if text == "Final" else optional(args[0])
        if text.startswith("Broadcastinglist"):  # inside another type one number may not stand for it
            return list_of(args[0])
        if text not in CONTAINERS:
            raise TypeError(f"Unknown type constructor {text}")
        return union(args) if text == "Union" else checked(Type(text, args))
    return from_python(name(node))


def _constructor(node: ast.AST, name: Callable[[ast.AST], Any]) -> str:
    """What a generic type is called: `List` for `List`, `typing.List`, `list` and what a program calls it."""
    text = ast.unparse(node).split(".")[-1].capitalize()
    if text in (*CONTAINERS, "Final", "Optional", "Tensor"):
        return text
    try:
        found = name(node)
    except TypeError:
        return text
    return str(getattr(found, "_name", None) or getattr(found, "__name__", text)).capitalize()


def of_value(value: Any, of_class: Callable[[type], Type] | None = None) -> Type:
    """The type of a Python value; TypeError where TorchScript has none for it. `of_class`: asked for the
    type of instances of other classes.
    """
    import rushlight as torch

    own = getattr(value, "_type", None) if not isinstance(value, dict) else None
    if isinstance(own, ClassType):
        return Type("Class", cls=own)
    if isinstance(value, (list, dict)) or (isinstance(value, tuple) and not hasattr(value, "_fields")):
        if isinstance(value, tuple):
            return Type("Tuple", tuple(of_value(v, of_class) for v in tuple.__iter__(value)))
        return _container(value, of_class)
    if value is None:
        return NONE
    if isinstance(value, torch.Tensor):
        return TENSOR
    if isinstance(value, float):
        return FLOAT  # also a NumPy number
    if isinstance(value, Enum) and isinstance(value, (int, str)):
        return STR if isinstance(value, str) else INT  # only a constant of a program's text stays a member
    return from_python(type(value), of_class)


def _container(value: Any, of_class: Callable[[type], Type] | None = None) -> Type:
    columns = [list(value), list(value.values())] if isinstance(value, dict) else [value]
    found = []
    for column in columns:
        kinds = list(dict.fromkeys(of_value(v, of_class) for v in column)) or [TENSOR]
        whole: Type | None = kinds[0]
        if kinds[0].kind == "Class" and kinds[0].cls.is_module:
            raise TypeError("Could not infer type of list element: Cannot infer type of ScriptModule")
        for kind in kinds[1:]:
            whole = whole and unify(whole, kind)
        if whole is None:
            raise TypeError(f"Could not infer type of list element: Cannot infer concrete type of {value!r}")
        found.append(whole)
    return Type("Dict" if isinstance(value, dict) else "List", tuple(found))
