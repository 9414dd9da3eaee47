"""The frozen form of a module: its program with constants for attributes, and the few attributes it keeps."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import rushlight as torch
from rushlight.jit.compiler.names import unique
from rushlight.jit.freezing.attributes import LATER, Attribute, Inlined, changed, held, memory_of, type_of
from rushlight.jit.modules import ScriptModule, instance
from rushlight.jit.program.folding import constant_before, fold
from rushlight.jit.program.ir import Example, Function, Node, Value, replace, walk
from rushlight.jit.program.memory import ELSEWHERE, Memory, remove, sweep
from rushlight.jit.program.tidy import tidy
from rushlight.jit.program.types import ClassType, Type

_FORWARD = "forward"


def frozen(
    module: Any, preserved: Sequence[str] = (), interfaces: bool = True, parameters: bool = False
) -> ScriptModule:
    """A module that does what `module` does, with its attributes as constants.

    preserved: attributes and methods to keep, with dots those of submodules; parameters: keep these, too.
    What a method sets or changes in place stays an attribute. Values are shared with `module`. Raises
    RuntimeError for a name that is nothing, for a program that returns the module itself, and for one that
    changes an attribute whose memory another one shares.
    """
    made: ScriptModule = _Freezer(module, list(preserved), parameters).module()
    return made


class _Freezer:
    """Makes one frozen module. `kept`: what stays an attribute; `methods`: by module and name."""

    def __init__(self, module: Any, preserved: list[str], parameters: bool) -> None:
        self.root = module
        self.modules: dict[int, Any] = {id(module): module}
        self.methods: dict[Attribute, Inlined] = {}
        self.kept: set[Attribute] = set()
        self.whole: set[int] = set()  # modules that stay as they are
        self.types: dict[int, ClassType] = {}
        self.made: dict[int, Any] = {}
        if module._type.method(_FORWARD) is not None:
            self._method(module, _FORWARD)
        for path in preserved:
            self._preserve(path)
        self._follow_replaced()
        if not self.methods:
            raise RuntimeError("Freezing expects a module with a forward method, or methods to preserve")
        self._check()
        for method in self.methods.values():
            for block in method.blocks():
                fold(block)
        written = self._written()
        training = bool(getattr(module, "training", False)) and "training" in module._type.fields
        for method in self.methods.values():
            self._put_constants(method, written, training, parameters or training)

    # --- what stays -----------------------------------------------------------------------------

    def _method(self, owner: Any, name: str) -> None:
        self.methods[Attribute(id(owner), name)] = Inlined(owner, owner._type.method(name))

    def _preserve(self, path: str) -> None:
        """Keep an attribute or a method, and all of a submodule."""
        *way, name = path.split(".")
        owner = self.root
        for part in way:
            if part not in owner._modules:
                raise RuntimeError(f"Unknown name: {path}")
            self.kept.add(Attribute(id(owner), part))
            self.modules[id(owner)] = owner
            owner = owner._modules[part]
            self.modules[id(owner)] = owner
        if name in owner._type.fields:
            self.kept.add(Attribute(id(owner), name))
            child = getattr(owner, name)
            if type_of(child) is not None:
                self._preserve_all(child)
        elif owner._type.method(name) is not None:
            self._method(owner, name)
        else:
            raise RuntimeError(f"Unknown name: {path}")

    def _preserve_all(self, owner: Any) -> None:
        """Leave a module as it is, and those in it."""
        self.modules[id(owner)] = owner
        self.whole.add(id(owner))
        for name in owner._type.fields:
            self.kept.add(Attribute(id(owner), name))
            child = getattr(owner, name)
            if type_of(child) is not None:
                self._preserve_all(child)

    def _follow_replaced(self) -> None:
        """Where programs put one module in another's place, which one is there is not known."""
        replaced = [
            found
            for method in self.methods.values()
            for node in method.nodes()
            if node.kind == "prim::SetAttr" and node.inputs[1].type.kind == "Class"
            for found in [method.attribute(node)]
            if found is not None
        ]
        if not replaced:
            return
        known = {id(o): o for method in self.methods.values() for o in method.objects.values()}
        for found in replaced:
            _check_replaced(known[found.owner], found.name)
            self.kept.add(found)
            self.modules[found.owner] = known[found.owner]
            self._preserve_all(getattr(known[found.owner], found.name))
        for place in self.methods:
            owner = known[place.owner]
            self.methods[place] = Inlined(owner, owner._type.method(place.name), replaced)

    def _check(self) -> None:
        """Raise for programs whose modules are not known when they are frozen."""
        for method in self.methods.values():
            if any(node.kind == "prim::ModuleContainerIndex" for node in method.nodes()):
                raise RuntimeError("Freezing modules containing prim::ModuleContainerIndex is not supported")
            ends = method.function.block.ending.inputs
            if any(method.objects.get(value) is self.root for value in ends):
                raise RuntimeError("attempted to freeze a module that return itself")

    def _written(self) -> set[Attribute]:
        """What methods change, with what shares its memory."""
        found = changed(list(self.methods.values()))
        known = {a: held(o, a.name) for m in self.methods.values() for a, o in _read(m)}
        written = {a for a in found if not a.within}
        touched = {memory for a in written if a in known for memory in memory_of(known[a], deep=False)}
        for part in found - written:  # what a container holds changes, and is seen through the constant, too
            inside = memory_of(known.get(part.whole))
            if any(memory_of(value) & inside for a, value in known.items() if a != part.whole):
                raise RuntimeError("module contains attributes values that overlaps")
        return written | {a for a, value in known.items() if memory_of(value) & touched}

    # --- constants ------------------------------------------------------------------------------

    def _put_constants(
        self, method: Inlined, written: set[Attribute], training: bool, parameters: bool
    ) -> None:
        for node in list(method.nodes()):
            found = method.attribute(node) if node.kind == "prim::GetAttr" else None
            if found is None or found in written or found in self.kept or node.output in method.objects:
                continue
            owner = method.objects[node.inputs[0]]
            own: Any = type_of(owner)
            if (parameters and own.kinds.get(found.name) == "parameter") or (
                training and found.name == "training"
            ):
                continue
            value = _without_gradient(held(owner, found.name))
            if isinstance(value, torch.Tensor) and value.layout is not torch.strided:
                continue  # graphs have no constants of such layouts
            constant = constant_before(node, value, own.fields[found.name], self._path(method, node))
            constant.example = example_of(value)
            replace(node.output, constant)
            remove(node)
        for block in method.blocks():
            simplify(block)

    def _path(self, method: Inlined, node: Node) -> str:
        """The dotted name of an attribute that a node reads: self.layer.weight."""
        above = node.inputs[0].node
        within = above is not None and above.kind == "prim::GetAttr"
        way = self._path(method, above) if above is not None and within else "self"
        return f"{way}.{node.attrs['name']}"

    # --- the module of what is left -------------------------------------------------------------

    def module(self) -> Any:
        """The frozen module."""
        for method in self.methods.values():
            self._note_uses(method)
        return self._instance(self.root)

    def _note_uses(self, method: Inlined) -> None:
        """Keep what a method still reads, and the way to it."""
        owners = {id(o): o for o in method.objects.values()}
        for node in method.nodes():
            if node.kind in ("prim::GetAttr", "prim::SetAttr"):
                found = method.attribute(node)
                if found is not None:
                    self.kept.add(found)
                    self.modules[found.owner] = owners[found.owner]
            for place, value in enumerate(node.inputs):
                inside = node.kind in ("prim::GetAttr", "prim::SetAttr") and place == 0
                if value in method.objects and not inside and node.kind not in LATER:
                    self._preserve_all(method.objects[value])
        for value in method.function.block.ending.inputs:
            if value in method.objects:
                self._preserve_all(method.objects[value])

    def _type(self, owner: Any) -> ClassType:
        """The type of a module with only what is kept."""
        old = type_of(owner)
        assert old is not None  # noqa: S101 - for the type checker
        if not old.is_module or id(owner) in self.whole:
            return old
        if id(owner) not in self.types:
            made = self.types[id(owner)] = ClassType(unique(old.qualname), True, python=old.python)
            made.compile = _nothing
            kept = self._names(old)
            for name, t in old.fields.items():
                if name in kept:
                    child = getattr(owner, name)
                    own = type_of(child)
                    t = Type("Class", cls=self._type(child)) if own is not None and own.is_module else t
                    made.fields[name], made.kinds[name] = t, old.kinds[name]
            for found, method in self.methods.items():
                if found.owner == id(owner):
                    made.methods[found.name] = self._finished(method, made, found.name)
        return self.types[id(owner)]

    def _names(self, own: ClassType) -> set[str]:
        """What modules of a type keep: they go on having the same type."""
        same = {number for number, found in self.modules.items() if type_of(found) is own}
        return {a.name for a in self.kept if a.owner in same}

    def _finished(self, method: Inlined, owner: ClassType, name: str) -> Function:
        """The program of a method, whose values have the frozen types."""
        function = method.function
        function.qualname, function.owner = f"{owner.qualname}.{name}", owner
        for value, found in method.objects.items():
            value.type = Type("Class", cls=self._type(found))
        own, *others = function.arguments
        function.arguments = [(own[0], Type("Class", cls=owner), own[2]), *others]
        for node in method.nodes():
            later: Any = node.attrs.get("function")
            if node.kind in LATER:
                later.arguments = [
                    (n, v.type, d) for v, (n, _, d) in zip(later.block.params, later.arguments, strict=True)
                ]
        function.block.params[0].hint = "self"
        function.finished = True
        return function

    def _instance(self, owner: Any) -> Any:
        if id(owner) in self.whole:
            return owner
        own = self._type(owner)
        if id(owner) not in self.made:
            values = {}
            for name in own.fields:
                child = held(owner, name)
                known = type_of(child)
                values[name] = self._instance(child) if known is not None and known.is_module else child
            self.made[id(owner)] = made = instance(own, values)
            if "training" not in own.fields:
                del made.__dict__["training"]
        return self.made[id(owner)]


def _check_replaced(owner: Any, name: str) -> None:
    """Raise where what is set decides which program runs."""
    t: Type | None = owner._type.fields.get(name)
    if t is not None and t.kind == "Class" and t.cls.is_interface:
        raise RuntimeError(
            f"Freezing does not support SetAttr on an interface type. SetAttr is attempted on '{name}'"
        )


def _nothing(name: str) -> None:
    """A frozen module has the methods that it was given."""


def _read(method: Inlined) -> Iterator[tuple[Attribute, Any]]:
    """The attributes that a method reads, with their owners; not those that are modules and objects."""
    for node in method.nodes():
        if node.kind in ("prim::GetAttr", "prim::SetAttr"):
            found = method.attribute(node)
            if found is not None and not (node.outputs and node.output in method.objects):
                yield found, method.objects[node.inputs[0]]


def example_of(value: Any) -> Example | None:
    """What a graph tells of a tensor."""
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return None
    return Example(value.dtype, tuple(value.shape), value.stride(), value.device, value.requires_grad)


def _without_gradient(value: Any) -> Any:
    """A value whose tensors require no gradient; the same memory."""
    if isinstance(value, torch.Tensor):
        return value.detach() if value.requires_grad else value
    if type(value) in (list, tuple):
        made = [_without_gradient(v) for v in value]
        same = all(a is b for a, b in zip(made, value, strict=True))
        return value if same else type(value)(made)
    if isinstance(value, dict):
        found = {k: _without_gradient(v) for k, v in value.items()}
        return value if all(found[k] is v for k, v in value.items()) else type(value)(found)
    return value


def simplify(block: Any) -> None:
    """Compute what is known by now, and leave out what nobody needs."""
    for _ in range(2):  # what is in a branch is known once the branch is
        _lower_tuples(block)
        memory = Memory(block)
        written = {root for node in walk(block) for root in memory.written(node)}
        changes = _among(memory, written)
        fold(block, everything=ELSEWHERE not in written, changes=changes)
        sweep(block)
    tidy(block)


def _among(memory: Memory, written: set[Hashable]) -> Callable[[Value], bool]:
    """Whether a value is among what a program writes to."""
    return lambda value: bool(memory.of(value) & written)


def _lower_tuples(block: Any) -> None:
    """Let who takes a tuple apart that was just made read its parts."""
    for node in list(block.nodes):
        for inner in node.blocks:
            _lower_tuples(inner)
        made: Node | None = node.inputs[0].node if node.inputs else None
        if node.kind == "prim::TupleUnpack" and made is not None and made.kind == "prim::TupleConstruct":
            for old, new in zip(node.outputs, made.inputs, strict=True):
                replace(old, new)
            remove(node)
