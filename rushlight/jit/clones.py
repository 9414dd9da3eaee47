"""Scripted modules that get further attributes, and copies of them that have fewer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rushlight.jit.compiler.names import unique
from rushlight.jit.freezing.attributes import held
from rushlight.jit.handles import ModuleHandle
from rushlight.jit.modules import instance
from rushlight.jit.program.execute import accepts
from rushlight.jit.program.ir import Block, Function, inlined, walk
from rushlight.jit.program.types import ClassType, Type


def register_attribute(module: Any, name: str, t: Type, value: Any) -> None:
    """One more attribute of a module and of its type. RuntimeError where the value is not of the type."""
    if not accepts(value, t):
        raise RuntimeError(f"Could not cast attribute '{name}' to type {t}: got {value!r:.100}")
    module._type.fields[name], module._type.kinds[name] = t, "attribute"
    module.__dict__[name] = value


def arguments_type(module: Any, name: str) -> Type:
    """The type of a list of tuples of a method's arguments, without self."""
    arguments = module._c._get_method(name)._function.arguments[1:]
    return Type("List", (Type("Tuple", tuple(t for _, t, _ in arguments)),))


def cloned(module: Any, ignored_methods: Sequence[str], ignored_attributes: Sequence[str]) -> Any:
    """A module with the same attributes, of a type of its own that lacks some methods and attributes."""
    old: ClassType = module._type
    made = ClassType(unique(old.qualname), True, constants=dict(old.constants), python=old.python)
    kept = [name for name in old.fields if name not in ignored_attributes]
    made.fields, made.kinds = {n: old.fields[n] for n in kept}, {n: old.kinds[n] for n in kept}
    made.extras, made.failed = dict(old.extras), dict(old.failed)
    methods = {n: f for n, f in old.methods.items() if f is not None and n not in ignored_methods}
    copies = {f: Function(f"{made.qualname}.{n}", [], None, owner=made) for n, f in methods.items()}
    made.methods = {n: copies[f] for n, f in methods.items()}
    for function, copy in copies.items():
        copy.arguments = [(name, _of(made, old, t), default) for name, t, default in function.arguments]
        copy.returns = None if function.returns is None else _of(made, old, function.returns)
        copy.repeated, copy.named_only, copy.finished = function.repeated, function.named_only, True
        copy.block = inlined(function, calls=False).block
        _retype(copy.block, made, old, copies)
    values = {n: module._modules[n] if old.kinds[n] == "module" else held(module, n) for n in kept}
    found = instance(made, values)
    found.train(module.training) if "training" not in kept else None
    return found


def _of(made: ClassType, old: ClassType, t: Type) -> Type:
    return Type("Class", cls=made) if t.kind == "Class" and t.cls is old else t


def _retype(block: Block, made: ClassType, old: ClassType, copies: dict[Function, Function]) -> None:
    """Let a copied block be about the new type, and call its methods."""
    for value in block.params:
        value.type = _of(made, old, value.type)
    for node in walk(block):
        for value in (*node.outputs, *(v for inner in node.blocks for v in inner.params)):
            value.type = _of(made, old, value.type)
        called = node.attrs.get("function")
        if called in copies:
            node.attrs = {**node.attrs, "function": copies[called]}
        elif called is not None and called.owner is old:
            raise RuntimeError(f"Method '{called.name}' is not cloned, but a method that is calls it")
        if node.kind in ("prim::GetAttr", "prim::SetAttr") and node.inputs[0].type.cls is made:
            name = node.attrs["name"]
            if name in old.fields and name not in made.fields:
                raise RuntimeError(f"Attribute '{name}' is not cloned, but a method that is reads it")


def clone_module_with_class(
    module: ModuleHandle, ignored_methods: Sequence[str], ignored_attributes: Sequence[str]
) -> ModuleHandle:
    """torch._C's name for `cloned`."""
    return ModuleHandle(cloned(module._module, ignored_methods, ignored_attributes))
