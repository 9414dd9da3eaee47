"""Modules: what type one has, and the scripted module that stands for it."""

from __future__ import annotations

import ast
import copy
import dataclasses
import functools
import inspect
import sys
import types
import typing
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import rushlight as torch
from rushlight._engine.core.recording import TAPE
from rushlight._engine.lazy import is_ours, our_module
from rushlight.jit.annotations import Attribute
from rushlight.jit.compiler.calls import declaration
from rushlight.jit.compiler.function_schema import FunctionSchema
from rushlight.jit.compiler.ignoring import LEFT
from rushlight.jit.compiler.interfaces import incompatible, is_interface
from rushlight.jit.compiler.names import (
    Names,
    accessor,
    build,
    class_type,
    compile_method,
    method_of,
)
from rushlight.jit.compiler.qualnames import known_types, unique
from rushlight.jit.declarations import overloads_of, valid_constant
from rushlight.jit.frontend import Source
from rushlight.jit.handles import (
    ConstMap,
    Listings,
    ModuleHandle,
    code_with_constants,
    copied,
    hidden,
    method,
    run_graph,
    taken_over,
)
from rushlight.jit.hooks import CALL, compile_call
from rushlight.jit.program import execute, schema as schemas
from rushlight.jit.program.codetext import function_text
from rushlight.jit.program.graphs import Graph, graph_of
from rushlight.jit.program.ir import Function
from rushlight.jit.program.runtime import handed, mutable
from rushlight.jit.program.types import (
    BOOL,
    NONE,
    TAKEN,
    TENSOR,
    ClassType,
    Type,
    from_python,
    of_value,
    qualified,
)
from rushlight.nn.modules.module import Module
from rushlight.nn.parameter import Parameter, is_lazy

_INTERNAL = frozenset((*Module().__dict__, "_texts", "_told"))
_TABLES = ("_parameters", "_buffers", "_modules")
_with_texts: set[str] = set()  # names of types whose methods come from texts


class ScriptFunction(Listings):
    """A compiled function; made by torch.jit.script and torch.jit.trace."""

    def __init__(self, function: Function, original: Any = None) -> None:
        self._function = function
        self._entry = execute.entry(function, declaration(function))
        self.name = function.name
        self.__name__, self.__qualname__ = "ScriptFunction", "torch.jit.ScriptFunction"
        self.__doc__, self.qualified_name = getattr(original, "__doc__", None), function.qualname
        self.__original_fn, self._torchdynamo_inline = original, original

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if TAPE and self._torchdynamo_inline is not None and hasattr(TAPE[-1], "exports"):
            return self._torchdynamo_inline(*args, **kwargs)  # an exported program is Python's
        return self._entry(*args, **kwargs)

    def __reduce__(self) -> Any:
        raise _no_pickle("ScriptFunction")

    @property
    def schema(self) -> FunctionSchema:
        """name(arguments) -> result."""
        return FunctionSchema(self._function)

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """Call the function; the graph that ran: all that it calls is in it."""
        self(*args, **kwargs)
        return run_graph(self._function)

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
        """Write the function to a file for torch.jit.load."""
        from rushlight.jit.archive import save  # it imports this file

        save(self, f, _extra_files)


ScriptFunction.__qualname__ = "torch.jit.ScriptFunction"
ScriptFunction.__module__ = "torch.jit"


def _no_pickle(name: str) -> Exception:
    import pickle

    return pickle.PickleError(f"{name} cannot be pickled")


class ScriptModule(Module):
    """The base of compiled modules."""

    _type: ClassType

    def __init_subclass__(cls, **given: Any) -> None:
        """A program's own subclass: what __init__ leaves is compiled in place."""
        super().__init_subclass__(**given)
        if "_type" in vars(cls) or our_module(cls).startswith("rushlight.jit"):
            return
        initialize = cls.__init__

        @functools.wraps(initialize)
        def initialize_and_compile(self: Any, *args: Any, **kwargs: Any) -> None:
            try:
                initialize(self, *args, **kwargs)
            except AttributeError:
                if "_parameters" in self.__dict__:
                    raise
            if "_parameters" not in self.__dict__:
                name = f"{cls.__module__}.{cls.__qualname__}"
                raise RuntimeError(f"'{name}' has not been initialized, did you forget to call 'super()'?")
            if type(self) is cls:
                compile_in_place(self)

        setattr(cls, "__init__", initialize_and_compile)

    def define(self, src: str) -> None:
        """Add the methods that a text defines; what they name are variables of the caller."""
        from rushlight.jit.units import definitions, scope_of_frame  # it imports this file

        trees, source = definitions(src)
        look = scope_of_frame(sys._getframe(1))
        texts = self.__dict__.setdefault("_texts", {})
        texts.update({tree.name: (tree, source, look) for tree in trees})
        owner = getattr(self, "_type", None)
        if owner is not None:
            defined = {tree.name for tree in trees}
            kept = {name: found for name, found in owner.methods.items() if name not in defined}
            owner = dataclasses.replace(owner, methods=kept, form=None)
            _take_texts(owner, texts)
            for tree in trees:
                owner.method(tree.name)
            self.__class__ = form(owner, type(self).__mro__[1])

    @property
    def _c(self) -> Any:
        """What PyTorch has in C++ of a module."""
        return ModuleHandle(self)

    @_c.setter
    def _c(self, handle: ModuleHandle) -> None:
        """Become another module."""
        self.__class__ = type(handle._module)
        vars(self).clear()
        vars(self).update(vars(handle._module))

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None, **given: Any) -> None:
        """Write the module to a file for torch.jit.load."""
        from rushlight.jit.archive import save  # it imports this file

        save(self, f, _extra_files)

    def save_to_buffer(self, *args: Any, **kwargs: Any) -> bytes:
        """The file's bytes."""
        import io

        buffer = io.BytesIO()
        self.save(buffer, *args, **kwargs)
        return buffer.getvalue()

    def _save_for_lite_interpreter(
        self, f: Any, _extra_files: dict[str, Any] | None = None, _use_flatbuffer: bool = False, **given: Any
    ) -> None:
        """Write the module to a file for torch.jit.mobile._load_for_lite_interpreter."""
        if _use_flatbuffer:
            raise NotImplementedError("Rushlight writes no flatbuffers: leave _use_flatbuffer out")
        self.save(f, _extra_files)

    def _save_to_buffer_for_lite_interpreter(self, *args: Any, **kwargs: Any) -> bytes:
        """The bytes of that file."""
        import io

        buffer = io.BytesIO()
        self._save_for_lite_interpreter(buffer, *args, **kwargs)
        return buffer.getvalue()

    @property
    def original_name(self) -> str:
        """The name of the class that was compiled."""
        return self._type.qualname.rpartition(".")[2]

    @property
    def code(self) -> str:
        """forward as TorchScript code."""
        return function_text(self._method("forward"))

    @property
    def code_with_constants(self) -> tuple[str, ConstMap]:
        """The code, and the constants in it that have no spelling: c0, c1, ..."""
        return code_with_constants(self._method("forward"))

    @property
    def graph(self) -> Graph:
        """forward as a graph."""
        return graph_of(self._method("forward"))

    @property
    def inlined_graph(self) -> Graph:
        """The graph with all that it calls in it."""
        return Graph(self._method("forward"), True)

    forward: Any = property(lambda self: self.__getattr__("forward"))  # it is there where it is compiled

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """Call the module; the graph that ran: all that it calls is in it."""
        self(*args, **kwargs)
        return run_graph(self._method("forward"))

    def _method(self, name: str) -> Function:
        found: Function = self._type.method(name)
        if found is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return found

    def __getattr__(self, name: str) -> Any:
        if "_modules" in self.__dict__ and not name.startswith("__"):
            own = getattr(type(self), "_type", None)
            found = own.methods.get(name) if isinstance(own, ClassType) else None
            if found is not None:
                setattr(type(self), name, method(found))
                return getattr(self, name)
            if isinstance(own, ClassType) and name in own.constants:
                return own.constants[name]
            if isinstance(own, ClassType) and f"__{name}_getter" in own.methods:
                return property(method(own.methods[f"__{name}_getter"]))  # as PyTorch: not what it gives
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_c":
            object.__setattr__(self, name, value)
            return
        own = getattr(type(self), "_type", None)
        if own is not None and name in own.constants:
            raise RuntimeError(f"Can't set constant '{name}' which has value:{own.constants[name]}")
        if isinstance(value, Module) and own is not None and own.kinds.get(name) == "module":
            self._check_replacement(own.fields[name], name, value)
        elif own is not None and own.kinds.get(name) == "attribute":
            t = own.fields[name]
            if not execute.castable(value, t):
                raise RuntimeError(
                    f"Could not cast attribute '{name}' to type {t}: Unable to cast Python instance of type "
                    f"{type(value)}"
                )
            value = handed(value, t)
        elif own is None and isinstance(value, Attribute):  # its type is told to the compiler
            self.__dict__.setdefault("_told", {})[name] = value
            value = value.value
        super().__setattr__(name, value)

    def _check_replacement(self, wanted: Type, name: str, value: Module) -> None:
        """Raise where a module is put in the place of one of another type, whose methods programs call."""
        if not isinstance(value, ScriptModule):
            raise RuntimeError(
                "Cannot re-assign modules in a ScriptModule with non-scripted module, tried to replace "
                f"existing module '{name}': {value}"
            )
        if wanted.cls.is_interface:
            why = incompatible(value._type, wanted.cls)
            if why:
                raise RuntimeError(why)
            return
        if value._type is not wanted.cls:
            raise RuntimeError(
                f"Expected a value of type '{wanted} (of Python compilation unit)' for field '{name}', but "
                f"found '{value._type.qualname} (of Python compilation unit)'; compile the module again with "
                "the other one in it, or annotate the attribute with an interface"
            )

    def __dir__(self) -> list[str]:
        own = getattr(type(self), "_type", None)
        return sorted({*super().__dir__(), *(own.methods if own else ()), *dir(own.python if own else None)})

    def extra_repr(self) -> str:
        return f"original_name={self.original_name}"

    def _get_name(self) -> str:
        return type(self).__name__

    def __reduce_package__(self, exporter: Any) -> Any:
        """How a package of torch.package holds the module."""
        from rushlight.jit.packaging import unpackage_script_module  # archives, which import this file

        number = exporter.get_unique_id()
        exporter.script_module_serializer.serialize(self, int(number))
        return unpackage_script_module, (number,)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise _no_pickle("ScriptModule")

    def __copy__(self) -> Any:
        made = type(self).__new__(type(self))
        made.__dict__.update({k: copy.copy(v) if k in _TABLES else v for k, v in self.__dict__.items()})
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = memo[id(self)] = type(self).__new__(type(self))
        made.__dict__.update({k: copy.deepcopy(v, memo) for k, v in self.__dict__.items()})
        return made

    def _check_container(self, message: str) -> None:
        """Raise where it is no container of modules."""
        own = getattr(type(self), "_type", None)
        python = own.python if isinstance(own, ClassType) else None
        if isinstance(self, TracedModule) or not isinstance(self, RecursiveScriptModule):
            raise TypeError(f"'{type(self).__name__}' object {message}")
        if isinstance(python, type) and not hasattr(python, "__iter__"):
            raise NotImplementedError

    def __len__(self) -> int:
        self._check_container("has no len()")
        return len(self._modules)

    def __iter__(self) -> Any:
        self._check_container("is not iterable")
        return iter(self._modules.values())

    def __getitem__(self, key: Any) -> Any:
        self._check_container("is not subscriptable")
        if isinstance(key, str):
            return self._modules[key]
        return list(self._modules.values())[key]

    def __bool__(self) -> bool:
        return True


class RecursiveScriptModule(ScriptModule):
    """What torch.jit.script makes of a module."""


class TracedModule(ScriptModule):
    """What torch.jit.trace makes of a module within the one that it was given."""

    def _get_name(self) -> str:
        name: str = self.original_name
        return name


class TopLevelTracedModule(TracedModule):
    """What torch.jit.trace makes of a module."""


for _cls in (ScriptModule, RecursiveScriptModule, TracedModule, TopLevelTracedModule):
    _cls.__module__ = "torch.jit._trace" if issubclass(_cls, TracedModule) else "torch.jit._script"
for _name in dir(RecursiveScriptModule):
    if isinstance(inspect.getattr_static(RecursiveScriptModule, _name), (types.FunctionType, property)):
        TAKEN.add(_name)


def form(owner: ClassType, base: type = RecursiveScriptModule) -> type:
    """The Python class of a module's type: its methods are the compiled ones."""
    own = owner.form
    if own is None or own.__base__ is not base:
        own = owner.form = type(base.__name__, (base,), {"_type": owner, "__module__": base.__module__})
    for name, t in owner.fields.items():
        if owner.kinds.get(name) == "attribute":
            if name in TAKEN:
                setattr(own, name, hidden(name, inspect.getattr_static(base, name)))
            elif mutable(t) and not hasattr(own, name):
                setattr(own, name, copied(name, t))
    for name, function in owner.methods.items():
        if name not in vars(own) and function is not None and function.finished:
            made = method(function, getattr(base, name, None) if base is owner.python else None)
            made.__doc__ = getattr(getattr(owner.python, name, None), "__doc__", None)
            setattr(own, "__call__" if name == CALL else name, made)
    return own  # a class


def instance(owner: ClassType, values: dict[str, Any], base: type = RecursiveScriptModule) -> Any:
    """A scripted module of a type with these attributes."""
    python: Any = form(owner, base)
    made = python.__new__(python)
    Module.__init__(made)
    for name, value in values.items():
        kind = owner.kinds.get(name, "attribute")
        if kind == "parameter" and (value is None or isinstance(value, torch.Tensor)):
            made._parameters[name] = value
        elif kind in ("buffer", "module"):
            made.__dict__[f"_{kind}s"][name] = value
        else:
            made.__dict__[name] = value
    return made


# --- from Python --------------------------------------------------------------------------------


def script_module(module: Module) -> Any:
    """The scripted form of a module, sharing its parameters and buffers."""
    if isinstance(module, ScriptModule):
        return module
    if "_parameters" not in vars(module):
        raise RuntimeError(
            f"'{type(module).__name__}' has not been initialized, did you forget to call 'super()'?"
        )
    owner = describe(module)
    compile_all(owner)
    return wrap(module, owner)


def compile_in_place(module: Any) -> None:
    """Make a module of a program's own subclass of ScriptModule, which is initialized, a scripted one."""
    owner = describe(module)
    texts = module.__dict__.get("_texts", {})
    if texts:
        name = unique(owner.qualname) if owner.qualname in _with_texts else owner.qualname
        _with_texts.add(name)
        owner = dataclasses.replace(owner, qualname=name, methods={}, form=None)
        _take_texts(owner, texts)
    for name, t in owner.fields.items():
        if owner.kinds[name] == "module":
            compile_all(t.cls)
            module._modules[name] = _wrapped_child(module._modules[name], t.cls)
    for name in [*texts, *dir(owner.python)]:
        found = inspect.getattr_static(owner.python, name, None)
        if name in texts or getattr(found, "_torchscript_modifier", "") == "export":
            owner.method(name)
    for name, value in vars(module).items():
        if isinstance(value, Attribute):
            module.__dict__[name] = value.value
    module.__class__ = form(owner, type(module))


def _take_texts(owner: ClassType, texts: dict[str, Any]) -> None:
    """Let a type's methods come from texts, where there are such."""

    def compiled(name: str) -> Function | None:
        if name not in texts:
            return compile_method(owner, name)
        tree, source, look = texts[name]

        def known(found: Function | None) -> None:
            owner.methods[name] = found

        return build(tree, source, Names(look), f"{owner.qualname}.{name}", owner, {}, known)

    owner.compile = compiled


def compile_all(owner: ClassType) -> None:
    """Compile forward and what is exported, here and in all modules inside."""
    for name, t in owner.fields.items():
        if owner.kinds[name] == "module":
            compile_all(t.cls)
    if owner.python is None or owner.is_interface:
        return
    for name in owner.declared():
        owner.method(name)
    if getattr(getattr(owner.python, "forward", None), "_torchscript_modifier", "") not in LEFT:
        owner.method("forward")
        if owner.pre_hooks or owner.hooks:
            owner.method(CALL)
    for name in dir(owner.python):
        found = inspect.getattr_static(owner.python, name, None)
        if getattr(found, "_torchscript_modifier", "") == "export":
            owner.method(name)
        if isinstance(found, property) and found.fget is not None and not is_ours(found.fget):
            left = name in getattr(owner.python, "__jit_unused_properties__", ())
            if not left and getattr(found.fget, "_torchscript_modifier", "") not in ("unused", "drop"):
                accessor(owner, name, "getter", found.fget)


def wrap(module: Module, owner: ClassType) -> Any:
    """The scripted module of a described one."""
    if isinstance(module, ScriptModule):
        return module
    values: dict[str, Any] = {}
    for name in owner.fields:
        if owner.kinds[name] == "module":
            values[name] = _wrapped_child(module._modules[name], owner.fields[name].cls)
        else:
            found = getattr(module, name)
            found = found.value if isinstance(found, Attribute) else found
            missing = execute.lacking(found, owner.fields[name])
            if missing:
                raise RuntimeError(f"Attribute '{name}' of {type(module).__name__}: {missing}")
            values[name] = taken_over(found, owner.fields[name])
    made = instance(owner, values)
    made._non_persistent_buffers_set.update(module._non_persistent_buffers_set)
    made.training = module.training
    for name in getattr(module, "__jit_ignored_attributes__", ()):
        found = inspect.getattr_static(type(module), name, None)
        made.__dict__[name] = found if isinstance(found, property) else getattr(module, name)
    for name in dir(type(module)):  # what stays Python, perhaps replaced in this one module
        found = inspect.getattr_static(type(module), name, None)
        if getattr(found, "_torchscript_modifier", "") == "ignore" and isinstance(found, types.FunctionType):
            method_here = getattr(module, name)
            made.__dict__[name] = types.MethodType(getattr(method_here, "__func__", method_here), made)
    return made


def _wrapped_child(module: Module, known: ClassType) -> Any:
    """The scripted form of a submodule; where only an interface is known, its methods are compiled."""
    if not known.is_interface:
        return wrap(module, known)
    own = describe(module)
    for name, t in own.fields.items():
        if own.kinds[name] == "module":
            compile_all(t.cls)
    for name in known.methods:
        own.method(name)
    why = incompatible(own, known)
    if why:
        raise RuntimeError(why)
    return wrap(module, own)


def describe(module: Module) -> ClassType:
    """The type of a module; modules that differ in no type and no constant have the same one."""
    if isinstance(module, ScriptModule) and hasattr(type(module), "_type"):
        return module._type
    cls = type(module)
    for kind, table in (("parameters", module._parameters), ("buffers", module._buffers)):
        for name, value in table.items():
            if is_lazy(value):
                raise RuntimeError(
                    f"'{cls.__name__}' has uninitialized {kind} {name}. Did you forget to run a forward pass?"
                )
    if module._backward_hooks:
        raise RuntimeError(
            f"backward hooks of {cls.__name__} are not compiled; remove them before torch.jit.script"
        )
    owner = ClassType("", True, python=cls, overloads=overloads_of(cls))
    owner.pre_hooks, owner.hooks = (
        tuple(table.values()) for table in (module._forward_pre_hooks, module._forward_hooks)
    )
    notes = annotated(cls)
    for table, kind in ((module._parameters, "parameter"), (module._buffers, "buffer")):
        for name, value in table.items():
            _field(owner, name, TENSOR if value is not None else notes.get(name, NONE), kind)
    for name, child in module._modules.items():
        if child is None:
            _field(owner, name, NONE, "attribute")
        else:
            note = notes.get(name, NONE)
            interface = note.kind == "Class" and note.cls.is_interface
            _field(owner, name, note if interface else Type("Class", cls=describe(child)), "module")
    _field(owner, "training", BOOL, "attribute")
    attributes(module, owner, notes)
    _ignore(owner, getattr(module, "__jit_ignored_attributes__", ()))
    key = (
        cls,
        tuple(owner.fields.items()),
        tuple(owner.kinds.items()),
        repr(owner.constants),
        tuple(map(str, owner.extras.items())),
        tuple(getattr(module, "_flat_weights_names", ())),
        owner.pre_hooks,
        owner.hooks,
        forward := _forward_of(module),
    )
    if key not in known_types:
        known_types[key] = owner
        owner.qualname = unique(qualified(cls))
        _flat_weights(module, owner)
        owner.compile = lambda name: _compile(owner, name, forward)
    found: ClassType = known_types[key]
    return found


def _compile(owner: ClassType, name: str, forward: Any) -> Function | None:
    """A method of a module's type; forward: a function that stands in its place."""
    if name == CALL:
        return compile_call(owner)
    if name == "forward" and forward is not None:
        return method_of(forward, owner, name=name)
    return compile_method(owner, name)


def _forward_of(module: Module) -> Any:
    """The function that stands in the place of forward in this one module; None where there is none."""
    method = vars(module).get("forward")
    if isinstance(method, types.MethodType) and method.__self__ is module:
        return method.__func__
    return None


def _ignore(owner: ClassType, names: Iterable[str]) -> None:
    """Let a type know nothing of these attributes."""
    for name in names:
        for known in (owner.fields, owner.kinds, owner.constants, owner.extras, owner.failed):
            known.pop(name, None)


def _field(owner: ClassType, name: str, t: Type, kind: str) -> None:
    owner.fields[name], owner.kinds[name] = t, kind


def annotated(cls: type) -> dict[str, Type]:
    """The types that a user's class says of its attributes; of Final ones Type("Final")."""
    found: dict[str, Type] = {}
    for base in reversed(cls.__mro__):
        if is_ours(base):
            continue
        for name, note in inspect.get_annotations(base, eval_str=True).items():
            if typing.Final in (note, typing.get_origin(note)):
                found[name] = Type("Final")
            elif is_interface(note):
                found[name] = Type("Class", cls=class_type(note))
            elif note is not typing.Any:
                with suppress(TypeError):  # programs use it only if they read it, which then tells
                    found[name] = from_python(note, _class_of)
    return found


def attributes(module: Module, owner: ClassType, notes: dict[str, Type]) -> None:
    """What else there is: constants, values with a type, functions, and the rest, which programs cannot
    use.
    """
    cls = type(module)
    constants = {*getattr(cls, "__constants__", ()), *(n for n, t in notes.items() if t == Type("Final"))}
    attributes = {n: v for n, v in vars(module).items() if n not in _INTERNAL}
    for name in [*attributes, *(n for n in constants if n not in attributes)]:
        if name in owner.fields or not hasattr(module, name):
            continue
        value = getattr(module, name)
        value = vars(module).get("_told", {}).get(name, value)
        if isinstance(value, Attribute):
            _field(owner, name, from_python(value.type), "attribute")
            continue
        if name in constants and name not in module._modules:
            owner.constants[name] = valid_constant(name, value, cls.__name__)
            continue
        try:
            t = notes.get(name) or of_value(value, _class_of)
            if name in notes or not (isinstance(value, (list, dict)) and not value):
                _field(owner, name, t, "attribute")
        except TypeError as error:
            if callable(value) and not isinstance(value, type):
                owner.extras[name] = value
            else:
                owner.failed[name] = type(value).__name__, _why_no_type(value, error)


def _why_no_type(value: Any, error: TypeError) -> str:
    """Why an attribute has no type."""
    if isinstance(value, (list, tuple)) and any(isinstance(part, Module) for part in value):
        kind = "list" if isinstance(value, list) else "tuple"
        return f" Could not infer type of {kind} element: Cannot infer concrete type of torch.nn.Module."
    return f" {str(error).rstrip('.')}."


def _class_of(cls: type) -> Type:
    """The type of instances of a program's own class, which is compiled; TypeError for others."""
    if cls.__module__.partition(".")[0] in ("builtins", "rushlight", "torch", *sys.stdlib_module_names):
        raise TypeError(f"Unknown type annotation: '{cls.__name__}'")
    if issubclass(cls, Module):
        raise TypeError("Cannot infer concrete type of torch.nn.Module")
    try:
        return Type("Class", cls=class_type(cls))
    except Exception as error:
        raise TypeError(str(error)) from error


def _flat_weights(module: Any, owner: ClassType) -> None:
    """A recurrence's weights as one list: a method whose text is its parameters' names."""
    names = getattr(module, "_flat_weights_names", None)
    if names:
        text = f"def _weights(self):\n    return [{', '.join(f'self.{n}' for n in names)}]\n"
        tree: Any = ast.parse(text).body[0]
        build(
            tree,
            Source(text, "torch/nn/modules/rnn.py"),
            Names(lambda name: None),
            f"{owner.qualname}._weights",
            owner,
            {},
            lambda f: owner.methods.update(_weights=f),
        )


__all__ = ["Parameter", "schemas"]
