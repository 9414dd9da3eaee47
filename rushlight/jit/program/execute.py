"""A program as Python: text made of what the compiler checked, over Rushlight's ops.

No text of a file gets in here but names of variables, and constants in Python's own spelling.
"""

from __future__ import annotations

import builtins
import functools
import keyword
import math
from collections.abc import Callable, Iterable
from enum import Enum
from operator import is_
from typing import Any

import rushlight as torch
from rushlight._engine.dispatch.dispatcher import lookup
from rushlight._engine.dispatch.generated_code import compile_function
from rushlight._engine.names.alternatives import present
from rushlight.export import overloads, spellings
from rushlight.jit.compiler.interfaces import incompatible
from rushlight.jit.program import runtime
from rushlight.jit.program.failures import PLACES, failed
from rushlight.jit.program.ir import Function, Node, Value
from rushlight.jit.program.schema import REQUIRED, defined
from rushlight.jit.program.types import TAKEN, TENSOR, Type, of_value, qualified
from rushlight.jit.program.writing import Writer
from rushlight.jit.state import STACK
from rushlight.jit.templates import SCOPE, Template, of_tensors, plain


class PythonWriter(Writer):
    """Writes Python; `scope` gets the objects that the text names."""

    reserved = (*keyword.kwlist, *dir(builtins), *SCOPE)

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.names.new(function.name)
        self.scope: dict[str, Any] = dict(SCOPE)
        self.bound: dict[int, str] = {}

    def bind(self, found: Any, hint: str) -> str:
        """The name of an object in the text."""
        if id(found) not in self.bound:
            self.bound[id(found)] = name = self.names.new(hint)
            self.scope[name] = found
        return self.bound[id(found)]

    def constant(self, node: Node) -> str:
        """A constant's text, or the name of one that is bound in `scope`."""
        value = node.attrs["value"]
        if isinstance(value, Function):
            return self.bind(runner(value), value.name)
        if isinstance(value, Enum):
            return self.bind(value, type(value).__name__)
        if isinstance(value, (int, str, bool, type(None))) or (
            isinstance(value, float) and math.isfinite(value)
        ):
            return f"({value!r})" if isinstance(value, (int, float)) and value < 0 else repr(value)
        return self.bind(value, "constant")

    def attribute(self, value: Value, name: str) -> str:
        """`base.name`; parameters, buffers and modules by their dicts, which is quicker."""
        owner, base = value.type.cls, self.ref(value)
        table = {"parameter": "_parameters", "buffer": "_buffers", "module": "_modules"}.get(
            owner.kinds.get(name, "")
        )
        if owner.is_module and table is None and (name in TAKEN or runtime.mutable(owner.fields[name])):
            table = "__dict__"  # programs get it as it is, Python a copy, or the method of that name
        return f"{base}.{table}[{name!r}]" if table else f"{base}.{name}"

    def do_Print(self, node: Node) -> None:
        """`rt.show(...)`: print, of values as PyTorch's programs show them."""
        self.line(f"rt.show({', '.join(map(self.ref, node.inputs))})")

    def do_SetAttr(self, node: Node) -> None:
        """`object.name = value`."""
        place = self.attribute(node.inputs[0], node.attrs["name"])
        self.line(f"{place} = {self.ref(node.inputs[1])}")

    def at_CallFunction(self, node: Node) -> str:
        """A call of the compiled function."""
        function = node.attrs["function"]
        return f"{self.bind(runner(function), function.name)}({', '.join(map(self.ref, node.inputs))})"

    at_fork = at_CallFunction

    def at_CallMethod(self, node: Node) -> str:
        """A method: of an object of which only an interface is known, its own."""
        owner = node.inputs[0].type.cls
        if owner is None or not owner.is_interface:
            return self.at_CallFunction(node)
        called = f"{self.bind(method_of, 'method_of')}({self.ref(node.inputs[0])}, {node.attrs['name']!r})"
        return f"{called}({', '.join(map(self.ref, node.inputs))})"

    def at_ModuleContainerIndex(self, node: Node) -> str:
        """A module of a container, by a key that is known when it runs."""
        container, index = map(self.ref, node.inputs)
        return f"rt.child({container}, {index})"

    def at_awaitable(self, node: Node) -> str:
        """A call that is put off."""
        function = node.attrs["function"]
        parts = [self.bind(runner(function), function.name), *map(self.ref, node.inputs)]
        return f"rt._awaitable({', '.join(parts)})"

    def at_PythonOp(self, node: Node) -> str:
        """A call of the Python function that torch.jit.ignore left; its result is of its type."""
        call = f"{self.bind(node.attrs['python'], 'ignored')}({', '.join(map(self.ref, node.inputs))})"
        if len(node.outputs) != 1 or node.output.type.kind in ("Any", "Class"):
            return call
        check = functools.partial(_of_type, t=node.output.type)
        return f"{self.bind(check, 'of_type')}({call})"

    def manager(self, node: Node) -> str:
        """The context manager of a with statement: Python's own, or rt.within around a compiled one."""
        known, inputs = node.attrs.get("manager"), ", ".join(map(self.ref, node.inputs))
        if known is not None:
            return f"{self.bind(known, 'manager')}({inputs})"
        enter, leave = (self.bind(runner(node.attrs[name]), name) for name in ("entering", "leaving"))
        return f"rt.within({enter}, {leave}, {inputs})"

    def at_CreateObject(self, node: Node) -> str:
        """`Class.__new__(Class)`."""
        owner = node.output.type.cls
        name = self.bind(owner.python, owner.qualname.rpartition(".")[2])
        return f"{name}.__new__({name})"

    def at_TupleConstruct(self, node: Node) -> str:
        """`(a, b)`, or a named tuple's constructor."""
        owner = node.output.type.cls
        return (
            f"{self.bind(owner, owner.__name__)}({', '.join(map(self.ref, node.inputs))})"
            if owner
            else super().at_TupleConstruct(node)
        )

    def at_unchecked_cast(self, node: Node) -> str:
        """The value itself."""
        return self.ref(node.inputs[0])

    def at_tolist(self, node: Node) -> str:
        """`rt.listed(tensor, type)`, which checks the type."""
        return f"rt.listed({self.ref(node.inputs[0])}, {str(node.output.type)!r})"

    def at_Uninitialized(self, node: Node) -> str:
        """`None`: nobody reads it."""
        return "None"

    def at_isinstance(self, node: Node) -> str:
        """A call of a test of the types."""
        test = self.bind(
            lambda value, types=node.attrs["types"]: any(accepts(value, t) for t in types), "matches"
        )
        return f"{test}({self.ref(node.inputs[0])})"

    def at_MMBatchSide(self, node: Node) -> str:
        """Products of one matrix with several."""
        side = node.attrs["given"]["side"][1]
        return f"rt.products({side}, {', '.join(map(self.ref, node.inputs))})"

    def at_RaiseException(self, node: Node) -> str:
        """`rt.fail(name, message)`."""
        shown = node.attrs.get("shown", "")
        return f"rt.fail({shown!r}, {', '.join(map(self.ref, node.inputs))})"

    def op(self, node: Node) -> str:
        """A call of an op: its template's text, or of the bound function."""
        schema = node.schema
        shown = [
            self.argument(v, schema.parameters[i].raw if schema and i < len(schema.parameters) else "")
            for i, v in enumerate(node.inputs)
        ]
        if node.kind in ("aten::tensor", "aten::as_tensor") and _perhaps_empty(node.inputs[0]):
            shown[0] = f"rt.elements({shown[0]}, {_element(node.inputs[0].type).kind!r})"
        form = self.form(node)
        if isinstance(form, Template):
            return form.write(shown, self.bind)
        if isinstance(form, str):
            return form
        # Defaults at the end, and by keyword, are left to the op; losses have other arguments in between.
        parts, rest = [], False
        loss = any(p.name == "reduction" for p in schema.parameters)
        for i, (text, value, p) in reversed(
            list(enumerate(zip(shown, node.inputs, schema.parameters, strict=True)))
        ):
            by_name = p.keyword_only or p.name == "alpha" or (loss and i > 1)
            if by_name or not rest:
                if _says(value, p.default):
                    continue
                rest = rest or not by_name
            text = f"rt.REDUCTIONS[{text}]" if p.name == "reduction" else text
            parts.append(f"{p.name}={text}" if by_name else text)
        return f"{self.bind(form, node.kind.split('::')[1])}({', '.join(reversed(parts))})"

    def argument(self, value: Value, raw: str) -> str:
        """An argument of an op; dtypes and their like are objects there."""
        text, kind = self.ref(value), raw.removesuffix("?")
        if kind not in ("ScalarType", "Layout", "MemoryFormat"):
            return text
        known = value.node.attrs.get("value") if value.node and value.node.kind == "prim::Constant" else None
        if known is not None:
            return self.bind(runtime.decode(kind, known), "constant")
        return text if text == "None" else f"rt.decode({kind!r}, {text})"

    def form(self, node: Node) -> Template | Callable[..., Any] | str:
        """How an op is spelled: a template, the function to call, or what says that there is none."""
        if node.schema is None:
            return plain.templates[node.kind]
        name = node.kind.split("::")[1]
        kinds = {value.type.args[0] if value.type.kind == "Optional" else value.type for value in node.inputs}
        if name in _IDENTITIES and len(kinds) == 1 and all(map(_is_number, kinds)):
            return plain.templates[_IDENTITIES[name]]
        keys = (f"{node.kind}.{node.schema.overload}", node.kind)
        formal = [p.type for p in node.schema.parameters]
        takes_tensors = TENSOR in formal
        if formal and formal[0].kind in ("List", "Dict") and TENSOR in formal[1:]:
            takes_tensors = plain.get(*keys) is None  # [tensor].index(tensor) is of lists
        template = of_tensors.get(*keys) if takes_tensors else plain.get(*keys) or of_tensors.get(*keys)
        if template is None:
            wanted = node.schema.overload or "default"
            own = (op for op in defined(node.kind) if op._overloadname == wanted)
            function = next(own, None) or _function(name, node.schema.overload)
            template = plain.get(*keys) if function is None else None
            return function or template or f"rt.absent({node.kind!r})"
        return template


# Numbers are the same where they are equal.
_IDENTITIES = {"__is__": "aten::eq", "__isnot__": "aten::ne"}


def _is_number(t: Type) -> bool:
    return t.kind in ("int", "float", "bool", "complex", "Device")


def _function(name: str, overload: str) -> Callable[..., Any] | None:
    """The op of this name and overload that a program calls; None where there is none."""
    spaces = ("Tensor", "torch") if name.endswith("_") else ("torch", "nn.functional", "aten", "Tensor")
    found = next((f for f in (lookup(space, name) for space in spaces) if f is not None), None)
    if found is None:  # no op of the table, but a public function or method
        found = present(torch, name) or present(torch.Tensor, name)
    if found is None and name.endswith("_"):
        found = _in_place(lookup("nn.functional", name[:-1]))
    if found is None or spellings.meaning(name) is not None:
        found = _overload(name, overload) or found
    return found


def _in_place(function: Callable[..., Any] | None) -> Callable[..., Any] | None:
    return None if function is None else functools.partial(function, inplace=True)


def _overload(name: str, overload: str) -> Callable[..., Any] | None:
    """PyTorch's op under its own signature; None where torch.export has no such op."""
    return overloads.overloads(name).get(overload or "default")


def _says(value: Value, default: Any) -> bool:
    """Whether an argument is a constant equal to the default."""
    node = value.node
    if default is REQUIRED or node is None or node.kind != "prim::Constant":
        return False
    return type(node.attrs["value"]) is type(default) and bool(node.attrs["value"] == default)


def runner(function: Function) -> Callable[..., Any]:
    """The Python function of a program, which trusts its arguments."""
    if function.run is None:
        function.run = compiled(function, PythonWriter(function))
    return function.run


def compiled(function: Function, writer: PythonWriter) -> Callable[..., Any]:
    """The Python function that a writer writes of a program."""
    body = writer.write()
    names = ", ".join(writer.spelled[v] for v in function.block.params)
    text = f"def {function.name}({names}):\n{body}"
    made = compile_function(text, function.name, writer.scope, function.qualname)
    PLACES[made.__code__.co_filename] = writer.places
    return made


def _of_type(value: Any, t: Type) -> Any:
    """What a function gave that stays Python, as a program takes it; RuntimeError for something else."""
    if value is None and t == TENSOR:
        return None  # nobody said that it gives a tensor, and nobody reads it
    fitting = _sequenced(value, t)
    if not castable(fitting, t):
        raise RuntimeError(
            f" expected value of type {t.short()} for return value but instead got value of type "
            f"{type(value).__name__}.\nValue: {value}"
        )
    return runtime.handed(fitting, t)


def _perhaps_empty(value: Value) -> bool:
    """Whether it is a list that may have no elements, which then do not say what a tensor of them holds."""
    made = value.node is not None and value.node.kind == "prim::ListConstruct" and value.node.inputs
    return value.type.kind == "List" and (not made or value.type.args[0].kind in ("List", "Tensor"))


def _element(t: Type) -> Type:
    """What the lists of lists of a type hold."""
    return _element(t.args[0]) if t.kind == "List" else t


def method_of(found: Any, name: str) -> Callable[..., Any]:
    """The method of an object of which only an interface is known."""
    return runner(found._type.method(name))


# --- calls from outside -------------------------------------------------------------------------

_EXACT = {"Tensor": "torch.Tensor", "int": "int", "float": "float", "bool": "bool", "str": "str"}


def entry(function: Function, declared: str) -> Callable[..., Any]:
    """The function as Python calls it: arguments by keyword, defaults, and a look at their types."""
    own = function.owner is not None
    formal = function.arguments[own:]
    scope: dict[str, Any] = {
        **SCOPE,
        "__run": runner(function),
        "__failed": failed,
        "__stack": STACK,
        "__function": function,
        "__returns": function.returns,
        "__slow": lambda *found: _check(function, declared, *found),
    }
    given = "".join(f"{name}, " for name, _, _ in formal)
    tests = [f"{name}.__class__ is {_EXACT[t.kind]}" for name, t, _ in formal if t.kind in _EXACT]
    places = given.replace(",", "=rt.MISSING,")
    if function.named_only:  # all that follows *__extra is given by name
        parts = places.split(", ")[:-1]
        parts.insert(len(parts) - function.named_only, "*__extra")
        heading = ", ".join([*parts, "**__more"])
    else:
        heading = f"{places}*__extra, **__more"
    lines = [f"def {function.name}({'self, ' * own}{heading}):"]
    exact = f"if not ({' and '.join([*tests, 'not __extra', 'not __more'])}): "
    checked = f"{f'{given.strip()} = ' if given else ''}__slow(__extra, __more, {given})"
    lines.append(f"    {exact if len(tests) == len(formal) else ''}{checked}")
    everything = f"({'self, ' * own}{given})"
    lines.append("    if __stack and __stack[-1] is not None:")
    lines.append(f"        return __stack[-1].scripted(__function, {everything})")
    lines.append("    rt.LAST[0] = __function")
    mutable = function.returns is not None and runtime.mutable(function.returns)
    result = f"__run({'self, ' * own}{given})"
    lines.append(f"    try:\n        return {f'rt.given_back({result}, __returns)' if mutable else result}")
    lines.append("    except Exception as __error:\n        raise __failed(__error) from None")
    return compile_function("\n".join(lines) + "\n", function.name, scope, f"{function.qualname} from Python")


def _check(function: Function, declared: str, extra: Any, more: Any, *given: Any) -> tuple[Any, ...]:
    """The arguments of a call, converted; RuntimeError, as PyTorch words it, where they do not fit."""
    formal = function.arguments[function.owner is not None :]
    if extra and function.named_only:
        count = len(formal) - function.named_only
        raise RuntimeError(
            f"{function.name}() takes {count + (function.owner is not None)} positional argument(s) but "
            f"{count + len(extra) + (function.owner is not None)} was/were given.  Declaration: {declared}"
        )
    count = sum(value is not runtime.MISSING for value in given) + len(extra) + len(more)
    if count > len(formal):
        more_by = int(function.owner is not None)  # PyTorch counts self
        raise RuntimeError(
            f"{function.name}() expected at most {len(formal) + more_by} argument(s) but received "
            f"{count + more_by} argument(s). Declaration: {declared}"
        )
    for (name, _, default), value in zip(formal, given, strict=True):
        if value is runtime.MISSING and default is REQUIRED:
            raise RuntimeError(
                f"{function.name}() is missing value for argument '{name}'. Declaration: {declared}"
            )
    if more:
        raise RuntimeError(
            f"Unknown keyword argument '{next(iter(more))}' for operator '{function.name}'. Schema: "
            f"{declared}"
        )
    taken = []
    for place, ((name, t, default), value) in enumerate(zip(formal, given, strict=True)):
        if value is runtime.MISSING:
            value = list(default) if isinstance(default, list) else default
        if name in function.repeated and isinstance(value, (int, float)):
            value = [value] * function.repeated[name]
        fitting = _sequenced(value, t)
        nothing = value is None and t == TENSOR  # a tensor that no op reads
        if not nothing and not castable(fitting, t):
            shown = type(value).__name__
            if isinstance(value, tuple) and hasattr(value, "_fields"):
                shown += f" (aka NamedTuple({', '.join(value._fields)}))"
            own: Any = getattr(value, "_type", None)
            interface = own is not None and t.kind == "Class" and t.cls.is_interface
            missing = incompatible(own, t.cls) if interface else lacking(value, t)
            if missing:
                raise RuntimeError(
                    f"{function.name}(): {missing}.\nPosition: {place}\nDeclaration: {declared}"
                )
            inferred = name in function.inferred
            message = (
                f"\nInferred '{name}' to be of type 'Tensor' because it was not annotated with an explicit "
            )
            message = f"{message}type."
            raise RuntimeError(
                f"{function.name}() Expected a value of type '{t}{' (inferred)' * inferred}' for argument "
                f"'{name}' but instead found type '{shown}'.{message * inferred}\nPosition: {place}\n"
                f"Value: {value!r}\nDeclaration: {declared}\nCast error details: {_no_cast(value, t)}"
            )
        taken.append(runtime.handed(fitting, t))
    return tuple(taken)


def _no_cast(value: Any, t: Type) -> str:
    """Why a value cannot be handed to a program."""
    if t.kind != "Union":
        return f"Unable to cast {value} to {t}"
    try:
        found = str(of_value(value))
    except TypeError:
        found = type(value).__name__
    return f"Expected a member of {t} but instead found type {found}"


def lacking(value: Any, t: Type) -> str:
    """What an object lacks that is to be one of a compiled class; empty where that is not what is wrong."""
    if t.kind != "Class" or t.cls.is_module or t.cls.is_interface:
        return ""
    for name, wanted in t.cls.fields.items():
        if not hasattr(value, name):
            return (
                f"Tried to cast object to type {t} but object was missing attribute {name}; it is a "
                f"{type(value).__name__}"
            )
        found = getattr(value, name)
        if not accepts(found, wanted):
            return (
                f"Could not cast attribute '{name}' to type {wanted}: it is a {type(found).__name__} in an "
                f"object of {t}"
            )
    return ""


def _sequenced(value: Any, t: Type) -> Any:
    """A value with tuples in place of all that can be gone through where its type says so, as PyTorch takes
    lists, tensors, iterators; a range may be a list of numbers.
    """
    if not t.args:
        return value
    kind = t.kind
    if kind == "Optional" and value is not None:
        return _sequenced(value, t.args[0])
    if kind == "Tuple":
        if not isinstance(value, Iterable):
            return value
        parts = value if isinstance(value, tuple) else tuple(value)
        if len(parts) != len(t.args):
            return value
        taken = tuple(map(_sequenced, parts, t.args))
        return value if isinstance(value, tuple) and all(map(is_, taken, parts)) else taken
    if kind == "List" and t.args[0].kind in ("int", "float", "bool") and isinstance(value, range):
        return list(value)
    if kind == "List" and t.args[0].kind in ("Tuple", "List") and type(value) in (list, tuple):
        return [_sequenced(v, t.args[0]) for v in value]
    if kind == "Dict" and t.args[1].kind == "Tuple" and type(value) is dict:
        return {k: _sequenced(v, t.args[1]) for k, v in value.items()}
    return value


def castable(value: Any, t: Type) -> bool:
    """Whether a Python value may be given where a type is expected: as a number also a bool, or a tensor of
    one element, as a bool any number.
    """
    kind = t.kind
    if kind == "bool":
        return isinstance(value, (bool, int, float))
    if kind in ("int", "float") and isinstance(value, torch.Tensor):
        whole = not (value.is_floating_point() or value.is_complex())
        return value.numel() == 1 and not value.requires_grad and (whole or kind == "float")
    if kind in ("int", "float") and isinstance(value, bool):
        return True
    if kind == "Optional":
        return value is None or castable(value, t.args[0])
    if kind == "Enum" and isinstance(value, Enum) and not isinstance(value, t.cls):  # of a file's class
        return qualified(type(value)) == qualified(t.cls) and value.name in t.cls.__members__
    if kind == "List" and t.args and isinstance(value, (list, tuple)):
        return all(castable(v, t.args[0]) for v in value)
    if kind == "Tuple" and t.args and isinstance(value, tuple) and tuple.__len__(value) == len(t.args):
        return all(map(castable, tuple.__iter__(value), t.args))
    return accepts(value, t)


def accepts(value: Any, t: Type) -> bool:
    """Whether a Python value is of a type."""
    kind = t.kind
    if kind in ("Optional", "Union"):
        return (kind == "Optional" and value is None) or any(accepts(value, a) for a in t.args)
    if kind in ("List", "Tuple"):
        if not isinstance(value, (list, tuple) if kind == "List" else tuple):
            return False
        if kind == "Tuple" and t.args and isinstance(value, tuple):
            fits = tuple.__len__(value) == len(t.args)
            return fits and all(map(accepts, tuple.__iter__(value), t.args))
        return not t.args or all(accepts(v, t.args[0]) for v in value)
    if kind == "Dict":
        return isinstance(value, dict) and (
            not t.args or all(accepts(k, t.args[0]) and accepts(v, t.args[1]) for k, v in value.items())
        )
    if kind == "Enum":
        return isinstance(value, t.cls)
    if kind == "Class" and t.cls.is_interface:
        own = getattr(value, "_type", None)
        return own is not None and not incompatible(own, t.cls)
    if kind == "Class":
        if getattr(value, "_type", None) is t.cls or isinstance(value, t.cls.python or ()):
            return t.cls.is_module or not lacking(value, t)
        return False
    plain: dict[str, Any] = {
        "Tensor": torch.Tensor,
        "int": (int, torch.dtype),
        "float": (float, int),
        "bool": bool,
        "str": str,
        "NoneType": type(None),
        "number": (int, float, complex),
        "complex": (complex, float, int),
        "Device": (torch.device, str),
        "Any": object,
        "Generator": object,
        "Future": object,
        "Await": runtime._Await,
    }
    return isinstance(value, plain[kind]) and not (kind in ("int", "float") and isinstance(value, bool))
