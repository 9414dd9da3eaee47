"""What names mean in Python code that is compiled: variables of the module around, torch's ops, modules'
attributes.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import re
import sys
import types
import typing
from collections.abc import Callable
from dataclasses import is_dataclass
from enum import Enum, EnumType
from functools import cache
from typing import Any

import rushlight as torch
from rushlight._engine.core.dtype import dtype
from rushlight._engine.dispatch.spellings import row_of
from rushlight._engine.lazy import is_ours, our_module
from rushlight.jit.compiler import callstack, interfaces, natives
from rushlight.jit.compiler.ignoring import LEFT, dropped, ignored, stays
from rushlight.jit.compiler.listings import LISTINGS, Listing, is_of
from rushlight.jit.compiler.qualnames import unique as unique
from rushlight.jit.compiler.scopes import NOTHING, annotated, scope_of
from rushlight.jit.compiler.signatures import (
    MUTABLE,
    NO_GETSTATE,
    check_default,
    check_type,
    comment,
    defaults_of,
    is_any,
    is_mutable,
    no_type,
    numbers,
)
from rushlight.jit.compiler.statements import Compiler
from rushlight.jit.compiler.values import Builtin, Known, Overloaded
from rushlight.jit.declarations import (
    check_implemented,
    declarations_of,
    methods_declarations,
    take_signature,
)
from rushlight.jit.frontend import (
    FrontendError,
    Source,
    UnsupportedNodeError,
    check_parameters,
    dataclass_method,
    generated,
    parsed,
)
from rushlight.jit.library import library
from rushlight.jit.program import runtime, schema as schemas
from rushlight.jit.program.ir import Function, Value
from rushlight.jit.program.types import (
    BY_NAME,
    DEVICE,
    GENERICS,
    INT,
    TENSOR,
    ClassType,
    Type,
    from_ast,
    from_python,
    of_value,
    optional,
    qualified,
    unmarked,
)
from rushlight.nn.utils.rnn import PackedSequence

_SPECIAL_NAMES = (
    "annotate unchecked_cast uninitialized is_scripting is_tracing is_compiling is_exporting isinstance fork "
    "wait _fork _wait _awaitable _awaitable_wait _awaitable_nowait has_torch_function "
    "has_torch_function_unary has_torch_function_variadic _get_tracing_state"
).split()
_SPECIAL_BUILTINS = (print, getattr, isinstance, hasattr, range, enumerate, zip)


class Names:
    """How a compiler asks for what is no variable. look(name): the Python object of a name, or None."""

    def __init__(self, look: Callable[[str], Any]) -> None:
        self.look = look

    def lookup(self, name: str, node: Any, compiler: Any) -> Any:
        """What a name stands for; None where there is none."""
        found = self.look(name)
        return None if found is NOTHING else Known(found)

    def member(self, base: Any, name: str, node: Any, compiler: Any) -> Any:
        """What base.name stands for, where base is a Python object."""
        namespace = base.object
        own = (
            self.functional(name)
            if namespace is torch.nn.functional
            else (python_function(name) if namespace is torch else None)
        )
        if own is not None:
            return own
        try:
            found = getattr(namespace, name)
        except AttributeError:
            if namespace is torch and schemas.named(f"aten::{name}"):
                return Builtin(f"aten::{name}")
            if isinstance(namespace, EnumType):
                raise compiler.error(
                    node, f"type object '{namespace.__name__}' has no attribute '{name}'"
                ) from None
            raise compiler.error(node, f"object has no attribute {name}") from None
        if namespace is torch and schemas.named(f"aten::{name}") and not isinstance(found, type):
            return Builtin(f"aten::{name}")
        return Known(found)

    def functional(self, name: str) -> Any:
        """A function of torch.nn.functional: from the library, or the op of that name."""
        found = library_function(name) if name in library() else overloaded("nn_functional", name)
        if found is not None:
            return found
        return Builtin(f"aten::{name}") if schemas.named(f"aten::{name}") else None

    def special(self, found: Any) -> str | None:
        """The name of a form that the compiler knows: annotate, isinstance, range, ..."""
        name = getattr(found, "__name__", "")
        known = found in _SPECIAL_BUILTINS if isinstance(found, (types.BuiltinFunctionType, type)) else False
        known = known or (name in _SPECIAL_NAMES and is_ours(found))
        return name.removeprefix("_") if known else None

    def plain(self, value: Any) -> tuple[Any, Type]:
        """A Python value as a constant and its type; TypeError where there is none."""
        if isinstance(value, Enum):
            return value, from_python(type(value))
        # qscheme by its name: few programs need the module of the class.
        if isinstance(value, (dtype, torch.layout, torch.memory_format)) or type(value).__name__ == "qscheme":
            return runtime.code(value), INT
        if isinstance(value, torch.device):
            return value, DEVICE
        if isinstance(value, (int, float, bool, str, complex, type(None), list, tuple, dict)):
            return value, of_value(value)
        if isinstance(value, torch.Tensor):
            return value, TENSOR  # an argument's default
        raise TypeError(f"{type(value).__name__} is no constant")

    def constant(self, value: Any, node: Any, compiler: Any) -> Any:
        """A constant of a module."""
        return compiler.constant(node, *self.plain(value))

    def annotation(self, node: Any, compiler: Any) -> Type:
        """The type that an annotation means."""
        callstack.calls(compiler.source, node)
        if compiler.source.file == "<string>":
            check_type(node, compiler)

        def find(part: Any) -> Any:
            if isinstance(part, ast.Name) and part.id in BY_NAME:
                return BY_NAME[part.id]
            if isinstance(part, ast.Name) and self.lookup(part.id, part, compiler) is None:
                raise TypeError(f"Unknown type name '{part.id}'")
            found = compiler.sugar(part)
            if isinstance(found, Known) and any(found.object is g for g in GENERICS):
                return found.object
            return self.type_of(found.object, node, compiler) if isinstance(found, Known) else None

        try:
            return from_ast(node, find)
        except TypeError as error:
            raise no_type(str(error), node, compiler) from None

    def type_of(self, found: Any, node: Any, compiler: Any) -> Type:
        """The type that a Python class or annotation means."""
        if isinstance(found, ClassType):
            return Type("Class", cls=found)
        try:
            return from_python(found, _class_type)
        except TypeError as error:
            raise no_type(str(error), node, compiler) from None

    def compiled(self, found: Any, node: Any, compiler: Any) -> Any:
        """What a Python function is when compiled code calls it."""
        if isinstance(found, torch.jit.ScriptModule):
            raise compiler.error(node, "Cannot call a ScriptModule that is not a submodule of the caller")
        inner = getattr(found, "_function", None)
        if isinstance(inner, Function):
            return inner
        builtin = named_builtin(found)
        if builtin is not None:
            return builtin
        kind = getattr(found, "_qualified_op_name", "")  # torch.ops.aten.add
        if kind and schemas.named(kind):
            return Builtin(kind)
        if hasattr(found, "__compile_call__"):
            return found
        if isinstance(found, types.FunctionType):
            if getattr(found, "_torchscript_modifier", "") in LEFT:
                return ignored(found, None, _class_type)
            found = found.__prepare_scriptable__() if hasattr(found, "__prepare_scriptable__") else found
            return script_overloads(getattr(found, "__original_fn", found))
        kept = stays(found)
        if kept is not None:
            return kept
        name = getattr(found, "__name__", type(found).__name__)
        raise compiler.error(
            node,
            f"Python builtin {found!r} is currently not supported in Torchscript"
            if callable(found)
            else f"'{name}' object is not callable",
        )

    default = staticmethod(ast.literal_eval)  # what an argument's default is that stands in the code

    def children(self, value: Value, node: Any, compiler: Any) -> list[Any]:
        """The modules in a container, in order; of a container of parameters, these."""
        return list(self.entries(value, node, compiler).values())

    def entries(self, value: Value, node: Any, compiler: Any) -> dict[str, Any]:
        """The same, by their names."""
        owner = value.type.cls
        kind = "parameter" if is_of(owner, (torch.nn.ParameterList, torch.nn.ParameterDict)) else "module"
        return {
            name: compiler.member(value, owner, name, node)
            for name, found in owner.kinds.items()
            if found == kind
        }

    def by_name(self, owner: ClassType) -> bool:
        """Whether it is a module whose children are found by their names."""
        return owner.is_module and is_of(owner, (torch.nn.ModuleDict, torch.nn.ParameterDict))

    def outside(self, value: Value, owner: ClassType, name: str, node: Any, compiler: Any) -> Any:
        """An attribute of a module or class that is none of its fields, constants and methods."""
        found = inspect.getattr_static(owner.python, name, None)
        if isinstance(found, property) and found.fget is not None:
            getter = accessor(owner, name, "getter", found.fget)
            return compiler.call_method(_Bound(value, owner, getter), [], {}, node)
        if isinstance(found, staticmethod):
            return Known(found.__func__)
        if name in owner.extras:
            self.check_compiles(owner, name, node, compiler)
            return Known(owner.extras[name])
        if (name in ("items", "keys", "values") or name in LISTINGS) and owner.is_module:
            return Known(Listing(name, value))
        if name in getattr(owner.python, "__jit_ignored_attributes__", ()):
            shown = owner.qualname.rpartition(".")[2]
            raise compiler.error(
                node, f"Module '{shown}' has no attribute '{name}' attribute was ignored during compilation"
            )
        if name in owner.failed:
            what, why = owner.failed[name]
            raise compiler.error(
                node,
                f"Module '{owner.qualname.rpartition('.')[2]}' has no attribute '{name}' (This attribute "
                f"exists on the Python module, but we failed to convert Python type: '{what}' to a "
                f"TorchScript type.{why} Its type was inferred; try adding a type annotation for the "
                "attribute.)",
            )
        if owner.is_module and not owner.is_interface:
            raise compiler.error(
                node, f"Module '{owner.qualname.rpartition('.')[2]}' has no attribute '{name}'"
            )
        unresolved = found is not None and not isinstance(found, (types.FunctionType, staticmethod))
        raise compiler.error(
            node,
            f"'{owner.qualname}' object has no attribute or method '{name}'."
            + f" '{name}' is defined as a class attribute which currently is not supported. Consider "
            "converting this to an instance attribute." * unresolved,
        )

    def set_outside(
        self, value: Value, owner: ClassType, name: str, stored: Value, node: Any, compiler: Any
    ) -> bool:
        """Set a property that has a setter; whether there is one."""
        found = inspect.getattr_static(owner.python, name, None) if owner.python is not None else None
        if not isinstance(found, property) or found.fset is None:
            return False
        setter = accessor(owner, name, "setter", found.fset)
        compiler.call_method(_Bound(value, owner, setter), [stored], {}, node)
        return True

    def check_compiles(self, owner: ClassType, name: str, node: Any, compiler: Any) -> None:
        """Raise where a function that a module holds is no TorchScript."""
        error = self.uncompilable(owner, name)
        if error is not None:
            raise compiler.error(
                node,
                f"Module '{owner.qualname.rpartition('.')[2]}' has no attribute '{name}' (This function "
                "exists as an attribute on the Python module, but we failed to compile it to a TorchScript "
                f"function. \nThe error stack is reproduced here:\n\n{error})",
            )

    def uncompilable(self, owner: ClassType, name: str) -> Exception | None:
        """Why a function that a module holds is no TorchScript; None where it is."""
        function = owner.extras[name]
        if not isinstance(function, types.FunctionType) or hasattr(function, "_torchscript_modifier"):
            return None
        if is_ours(function) or hasattr(function, "__script_if_tracing_wrapper"):
            return None
        try:
            script_function(getattr(function, "__original_fn", function))
        except (RuntimeError, FrontendError) as error:
            return error
        return None


class _Bound:
    """A property's function with its object."""

    def __init__(self, value: Value, owner: ClassType, name: str) -> None:
        self.value, self.owner, self.name = value, owner, name


_OPERATORS = re.compile(r"rushlight$|rushlight\.nn\.functional$")
# Namespaces whose functions are ops under a longer name: torch.linalg.inv is aten::linalg_inv.
_PREFIXED = ("linalg", "fft", "special")


def named_builtin(found: Any) -> Any:
    """The op or function of the library that a Python function is; None where it is neither."""
    space, module, name = natives.place(found)
    if space in _PREFIXED and schemas.named(full := f"aten::{space}_{name.removeprefix(f'{space}_')}"):
        return Builtin(full)
    if python_function(name) is not None and getattr(torch, name, None) is found:
        return python_function(name)
    if _OPERATORS.match(module) or module.startswith("rushlight._engine.ops"):
        known, row = Names(lambda name: None).functional, row_of(found)
        return known(name) or (known(row.display_name) if row is not None and row.name[0] != "_" else None)
    native = natives.op_of(found, module, name)
    if native:
        return Builtin(native)
    if module == "rushlight.nn.utils.rnn":
        return overloaded("rnn_utils", name)
    if natives.helper_of(found):
        return overloaded("helpers", natives.helper_of(found))
    if module == "rushlight._ops.aten" or "." in name:  # an overload of an op; a method that is a function
        name = name.partition(".")[0] if module == "rushlight._ops.aten" else found.__name__
    public = module.startswith("rushlight.") and getattr(torch, name, None) is found
    if (public or module.startswith("rushlight._engine.")) and schemas.named(f"aten::{name}"):
        return Builtin(f"aten::{name}")
    return None


# --- functions ----------------------------------------------------------------------------------

_LIBRARY_SCOPE = {
    "torch": torch,
    "F": torch.nn.functional,
    "math": math,
    "inf": math.inf,
    "Optional": typing.Optional,
    "List": list,
    "Tuple": tuple,
    "Tensor": torch.Tensor,
    "PackedSequence": PackedSequence,
}


class _LibraryNames(Names):
    """Names in the library: its own functions first."""

    def lookup(self, name: str, node: Any, compiler: Any) -> Any:
        return library_function(name) if name in library() else super().lookup(name, node, compiler)


def _library_look(name: str) -> Any:
    if name == "annotate":
        return torch.jit.annotate
    return _LIBRARY_SCOPE.get(name, getattr(builtins, name, NOTHING))


@cache
def python_function(name: str) -> Function | Overloaded | None:
    """A function of torch.functional, which PyTorch has in Python; None where there is none."""
    return overloaded("functional", name)


@cache
def overloaded(space: str, name: str) -> Function | Overloaded | None:
    """The function of a class of the library, or the functions: those of one name are tried in order."""
    keys = [key for key in library() if re.fullmatch(rf"{space}\.{re.escape(name)}(\.\d+)?", key)]
    found = [library_function(key) for key in keys]
    return found[0] if len(found) == 1 else Overloaded(found) if found else None


@cache
def library_function(name: str) -> Function:
    """A function of the library."""
    tree, source = library()[name]
    prefix = "" if name.startswith("functional.") else "nn.functional."
    spelled = name.removeprefix("nn_functional.")
    path = re.sub(r"\.(\d+)$", r"__\1", f"__torch__.torch.{prefix}{spelled}")
    return build(tree, source, _LibraryNames(_library_look), path, None, {})


_compiled: dict[Any, Function | None] = {}  # None: being compiled


def script_overloads(function: Any) -> Function | Overloaded:
    """The program of a Python function; where signatures were declared for it, one for each."""
    declared = declarations_of(function)
    if not declared:
        return script_function(function)
    return Overloaded([script_function(function, d) for d in declared])


def script_function(function: Any, declaration: Any = None) -> Function:
    """The program of a Python function, with the signature of a declaration where one is given."""
    key = function if declaration is None else (function, declaration)
    found = _compiled.get(key)
    if found is None:
        tree, source = parsed(function)
        check_implemented(function, source, "function")
        if declaration is not None:
            take_signature(tree, declaration)
        module = function.__module__.replace("rushlight", "torch", 1)
        path = "__torch__." + ("" if module == "__main__" else f"{unmarked(module)}.") + function.__name__
        found = _compiled[key] = build(
            tree,
            source,
            Names(scope_of(function, annotated(declaration or function, tree))),
            unique(path),
            None,
            defaults_of(function),
            lambda f: _compiled.__setitem__(key, f),
            declaration is not None,
        )
    return found


def build(
    tree: ast.FunctionDef,
    source: Source,
    names: Names,
    qualname: str,
    owner: ClassType | None,
    defaults: dict[str, Any],
    known: Callable[[Function | None], Any] = lambda f: None,
    overload: bool = False,
) -> Function:
    """Compile a function: `defaults` of its arguments, beside those that the tree spells as constants;
    overload: those that are not of their argument's type are none.
    """
    shown = tree.name if owner is None else f"{owner.qualname.rpartition('.')[2]}.{tree.name}"
    with callstack.compiling(shown):
        function = declared(tree, source, names, qualname, owner, defaults, overload)
        known(function)
        try:
            _check_statements(tree.body, source)
            Compiler(function, names, source).run(tree)
        except BaseException:
            known(None)
            raise
    return function


def declared(
    tree: ast.FunctionDef,
    source: Source,
    names: Names,
    qualname: str,
    owner: ClassType | None,
    defaults: dict[str, Any],
    overload: bool = False,
) -> Function:
    """A function with its arguments and, where it is said, its result's type."""
    function = Function(qualname, [], None, owner=owner)
    compiler = Compiler(function, names, source)
    check_parameters(tree, source)
    formal = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
    function.named_only = len(tree.args.kwonlyargs)
    if owner is not None and not formal:
        raise compiler.error(tree, "methods must have a self argument")
    notes, result = comment(tree, source, len(formal) - (owner is not None))
    spelled = dict(zip([a.arg for a in reversed(formal)], reversed(tree.args.defaults), strict=False))
    for i, a in enumerate(formal):
        note = a.annotation or (
            notes[i - (owner is not None)] if notes and i >= (owner is not None) else None
        )
        if i == 0 and owner is not None:
            t = Type("Class", cls=owner)
        elif note is None or is_any(note, source):
            t = TENSOR
            function.inferred.add(a.arg)
        else:
            note, count = numbers(note)
            function.repeated.update({a.arg: count} if count else {})
            t = names.annotation(note, compiler)
        if i == 1 and owner is not None and tree.name == "__setstate__":
            saved = owner.method("__getstate__")  # what it gives is what comes back
            if saved is None:
                raise compiler.error(tree, NO_GETSTATE)
            t = t if note is not None or saved.returns is None else saved.returns
        default = defaults.get(a.arg, schemas.REQUIRED)
        if is_mutable(default) and a.arg in defaults and not source.ours:
            raise compiler.error(tree, MUTABLE.format(type(default), a.arg))
        if default is not schemas.REQUIRED and a.arg not in function.repeated:
            default = check_default(tree, compiler, a.arg, default, t, overload)
        if default is schemas.REQUIRED and a.arg in spelled:
            default = names.default(spelled[a.arg])
        if default is None and note is not None and is_any(note, source):
            t = optional(TENSOR)
        function.arguments.append((a.arg, t, default))
    result = tree.returns or result
    function.returns = (
        None if result is None or is_any(result, source) else names.annotation(result, compiler)
    )
    return function


def _check_statements(body: list[ast.stmt], source: Source) -> None:
    """Raise for a statement that TorchScript does not have, also where it is never come to."""
    if source.ours:
        return
    for node in body:
        if not isinstance(node, (ast.Return, ast.Break, ast.Continue)) and not hasattr(
            Compiler, f"do_{type(node).__name__}"
        ):
            raise UnsupportedNodeError(source, node)
        _check_statements([*getattr(node, "body", []), *getattr(node, "orelse", [])], source)


# --- classes ------------------------------------------------------------------------------------


def method_of(
    function: Any,
    owner: ClassType,
    around: Callable[[str], Any] | None = None,
    name: str = "",
    declaration: Any = None,
) -> Function:
    """The program of a method, with the signature of a declaration where one is given.

    around(name): what names stand for that are nothing where it is defined.
    """
    if getattr(function, "_torchscript_modifier", "") in LEFT:
        return ignored(function, owner, _class_type, declaration)
    tree, source = parsed(function)
    check_implemented(function, source, "method")
    if declaration is not None:
        take_signature(tree, declaration)
        around = annotated(declaration, tree)
    return build(
        tree,
        source,
        Names(scope_of(function, around)),
        f"{owner.qualname}.{name or tree.name}",
        owner,
        defaults_of(declaration or function),
        lambda f: owner.methods.update({name or tree.name: f}),
        declaration is not None,
    )


def accessor(owner: ClassType, name: str, kind: str, function: Any) -> str:
    """The method that a property's getter or setter (the `kind`) is, compiled once."""
    path = f"__{name}_{kind}"
    owner.methods[path] = owner.methods.get(path) or method_of(function, owner, name=path)
    return path


def _of_dataclass(
    function: Any, owner: ClassType, around: Callable[[str], Any] | None, name: str
) -> Function | None:
    """The program of a method that a dataclass has made; None for what TorchScript has not."""
    made = dataclass_method(owner.python, name)
    if made is None:
        return None
    tree, source, notes = made

    def look(name: str) -> Any:
        note = notes.get(name, NOTHING)
        if isinstance(note, str):
            return eval(note, function.__globals__)
        return note if note is not NOTHING or around is None else around(name)

    found = Names(scope_of(function, look))
    return build(
        tree,
        source,
        found,
        f"{owner.qualname}.{name}",
        owner,
        defaults_of(function),
        lambda f: owner.methods.update({name: f}),
    )


def _overload_of(owner: ClassType, name: str) -> Function:
    """The method of a module for one of the signatures declared for it: forward__0 for the first."""
    plain, _, number = name.rpartition("__")
    function = getattr(owner.python, plain)
    declaration = methods_declarations(function, owner.python)[int(number)]
    made = method_of(function, owner, None, name, declaration)
    made.qualname, owner.methods[name] = f"{owner.qualname}.{name}", made
    return made


def compile_method(
    owner: ClassType, name: str, around: Callable[[str], Any] | None = None
) -> Function | None:
    """The method of a Python class, compiled when it is first asked for; None where there is none."""
    trees = library()
    if name in owner.overloads:
        return None  # only its declarations are compiled
    if name in owner.declared():
        return _overload_of(owner, name)
    for base in owner.python.__mro__ if owner.is_module else (owner.python,):
        if base in (torch.nn.Module, object, torch.jit.ScriptModule):
            return None
        key = f"{base.__name__}.{name}"
        if key in trees and our_module(base).startswith("rushlight.nn"):
            path = f"{owner.qualname}.{name}"
            return build(
                *trees[key],
                _LibraryNames(_library_look),
                path,
                owner,
                {},
                lambda f: owner.methods.update({name: f}),
            )
        if our_module(base) == "rushlight.nn.modules.container":
            continue  # what these are is known to the compiler
        found = vars(base).get(name)
        if found is not None and not isinstance(found, property):
            if isinstance(found, staticmethod):
                return None  # a function, which has no self
            found = getattr(base, name)
            if isinstance(found, types.FunctionType):
                if is_dataclass(base) and generated(found):
                    return _of_dataclass(found, owner, around, name)
                made = method_of(found, owner, around)
                owner.methods[name] = made
                return made
            return None
    return None


_classes: dict[type, ClassType] = {}


def _declared_method(function: Any, owner: ClassType) -> Function:
    """A method of an interface: its arguments and result."""
    tree, source = parsed(function)
    names = Names(scope_of(function, annotated(function, tree)))
    return declared(tree, source, names, f"{owner.qualname}.{tree.name}", owner, defaults_of(function))


def _class_type(cls: type) -> Type:
    if is_ours(cls):
        raise TypeError(f"Unknown type annotation: '{cls.__name__}'")
    return Type("Class", cls=class_type(cls))


def class_type(cls: type, around: Callable[[str], Any] | None = None) -> ClassType:
    """The type of a Python class that TorchScript compiles. around(name): what else names in it stand for."""
    if cls not in _classes:
        made = _classes[cls] = ClassType(unique(qualified(cls)), python=cls)

        def look(name: str) -> Any:
            return cls if name == cls.__name__ else NOTHING if around is None else around(name)

        made.compile = lambda name: compile_method(made, name, look)
        setattr(cls, "_type", made)
        made.is_module = interfaces.is_interface(cls) and issubclass(cls, torch.nn.Module)
        try:
            with callstack.compiling(made.qualname):
                if interfaces.is_interface(cls):
                    interfaces.fill(made, cls, _declared_method)
                else:
                    _fill(made, cls)
        except BaseException:
            _classes.pop(cls, None)
            if "_type" in vars(cls):
                delattr(cls, "_type")
            raise
    return _classes[cls]


def _fill(made: ClassType, cls: Any) -> None:
    """Give a class's type its fields and compile its methods, __init__ first."""
    for name, note in inspect.get_annotations(cls).items():
        if name in vars(cls) and not is_dataclass(cls):
            continue  # a value of the class, which objects of TorchScript do not see
        known = eval(note, vars(sys.modules[cls.__module__])) if isinstance(note, str) else note
        made.fields[name], made.kinds[name] = from_python(known, _class_type), "attribute"
    made.method("__init__")
    for name, found in vars(cls).items():
        if isinstance(found, types.FunctionType) and not dropped(found):
            made.method(name)
