"""Reading an archive: its code becomes types and programs, its data modules; nothing of it runs meanwhile."""

from __future__ import annotations

import ast
import collections
import math
import pickle
import sys
from enum import Enum, EnumType
from typing import Any

import rushlight as torch
from rushlight._engine.serialization.reading import LoadOptions, _Storages
from rushlight._engine.serialization.unpickler import WeightsUnpickler
from rushlight.jit.annotations import annotate, fork
from rushlight.jit.awaiting import awaitable, awaitable_nowait, awaitable_wait
from rushlight.jit.compiler.names import Names, build, declared, unique
from rushlight.jit.compiler.qualnames import free_for
from rushlight.jit.compiler.values import Builtin, Known, Space
from rushlight.jit.frontend import Source, parse_untrusted
from rushlight.jit.modules import instance
from rushlight.jit.program import schema as schemas
from rushlight.jit.program.execute import runner
from rushlight.jit.program.ir import Function
from rushlight.jit.program.managers import MARKS, restored
from rushlight.jit.program.sources import SavedSource
from rushlight.jit.program.types import ATOMS, ClassType, Type, from_ast
from rushlight.jit.upgraders import older
from rushlight.nn.parameter import Parameter


def unchecked_cast(t: Any, value: Any) -> Any:
    """In code: the value is known to be of the type."""


def uninitialized(t: Any) -> Any:
    """In code: a value that is never read."""


# All names that a file's code may begin with.
_NAMES: dict[str, Any] = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "print": print,
    "range": range,
    "isinstance": isinstance,
    "getattr": getattr,
    "annotate": annotate,
    "fork": fork,
    "awaitable": awaitable,
    "awaitable_wait": awaitable_wait,
    "awaitable_nowait": awaitable_nowait,
    "inf": math.inf,
    "nan": math.nan,
    "infj": complex(0, math.inf),
    "nanj": complex(0, math.nan),
    "unchecked_cast": unchecked_cast,
    "uninitialized": uninitialized,
}
_MODULES = ("Module", "ModuleInterface")
_INTERFACES = ("Interface", "ModuleInterface")


class _FileNames(Names):
    """Names in a file's code."""

    def __init__(self, archive: Archive) -> None:
        super().__init__(lambda name: None)
        self.archive = archive

    def lookup(self, name: str, node: Any, compiler: Any) -> Any:
        if name in ("torch", "ops", "CONSTANTS", "__torch__"):
            return Space(name)
        if name in MARKS:
            return Known(MARKS[name])
        return Known(_NAMES[name]) if name in _NAMES else None

    def member(self, base: Any, name: str, node: Any, compiler: Any) -> Any:
        if isinstance(base, Known) and isinstance(base.object, ClassType) and name == "__new__":
            return Known(_New(base.object))
        if isinstance(base, Known) and isinstance(base.object, EnumType) and name in base.object.__members__:
            return Known(base.object[name])
        path = f"{base.path}.{name}" if isinstance(base, Space) else ""
        if isinstance(base, Space) and base.path == "ops":
            return Space(path)
        if path.startswith("__torch__."):
            return self.archive.named(path)
        if path.startswith("CONSTANTS.c"):
            return compiler.constant(node, self.archive.constants[int(name[1:])])
        before = older(name, self.archive.version) if path == f"torch.{name}" else None
        if before is not None:
            return Known(before)
        space = path.rpartition(".")[0]
        kind = f"{'aten' if space == 'torch' else space.removeprefix('ops.')}::{name}"
        if not schemas.named(kind):
            raise compiler.error(node, f"Unknown builtin op: {kind}")
        return Builtin(kind)

    def default(self, node: Any) -> Any:  # or one of the archive's constants
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "CONSTANTS":
            return self.archive.constants[int(node.attr[1:])]
        if isinstance(node, ast.Name) and node.id in ("inf", "nan"):
            return _NAMES[node.id]
        return ast.literal_eval(node)

    def annotation(self, node: Any, compiler: Any) -> Type:
        def find(part: Any) -> Any:
            if isinstance(part, ast.Name) and part.id in ATOMS:
                return ATOMS[part.id]
            found = compiler.sugar(part)
            return self.archive.as_type(found.object) if isinstance(found, Known) else None

        try:
            return from_ast(node, find)
        except TypeError as error:
            raise compiler.error(node, str(error)) from None

    def type_of(self, found: Any, node: Any, compiler: Any) -> Type:
        return self.archive.as_type(found)  # the archive's own


class _New:
    """cls.__new__ in code."""

    def __init__(self, owner: ClassType) -> None:
        self.cls = owner

    def __compile_call__(self, compiler: Any, node: Any, args: list[Any], named: dict[str, Any]) -> Any:
        return compiler.emit(node, "prim::CreateObject", (), Type("Class", cls=self.cls)).output


class _Object:
    """An object of a file's class, before it is made."""

    def __init__(self, owner: ClassType) -> None:
        self.cls = owner
        self.state: dict[str, Any] = {}
        self.made: Any = None
        self.own_state: tuple[Any, ...] = ()  # what its __setstate__ takes


class _Unpickler(WeightsUnpickler):
    """The data of an archive: plain values, tensors, and objects of the file's own classes."""

    def __init__(self, data: bytes, load_storage: Any, archive: Archive) -> None:
        super().__init__(data, load_storage)
        self.archive = archive

    def find_class(self, module: str, name: str) -> Any:
        if module == "__torch__" or module.startswith("__torch__."):
            found = self.archive.named(f"{module}.{name}")
            if not isinstance(found, Known):
                raise pickle.UnpicklingError(f"{module}.{name} is not in the file's code")
            return found.object
        if module == "torch.jit._pickle" and name in _RESTORE:
            self._callable_ids.add(id(_RESTORE[name]))
            return _RESTORE[name]
        if (module, name) == ("torch._utils", "_rebuild_sparse_tensor"):
            self._callable_ids.add(id(_sparse))
            return _sparse
        return super().find_class(module, name)

    def load_reduce(self) -> None:
        if not isinstance(self.stack[-2], EnumType):
            return super().load_reduce()
        value = self.stack.pop()
        members: Any = list(self.stack.pop())
        found = [m for m in members if type(m.value) is type(value) and m.value == value]
        if not found:
            raise pickle.UnpicklingError(f"{value!r} is the value of none of {members}")
        self.append(found[0])
        return None

    def load_newobj(self) -> None:
        if not isinstance(self.stack[-2], ClassType):
            return super().load_newobj()
        self.stack.pop()
        self.append(_Object(self.stack.pop()))
        return None

    def load_build(self) -> None:
        if not isinstance(self.stack[-2], _Object):
            return super().load_build()
        state = self.stack.pop()
        found = self.stack[-1]
        if "__setstate__" in found.cls.trees:
            found.own_state = (state,)
        elif type(state) is not dict:
            raise pickle.UnpicklingError(f"{found.cls.qualname}: expected attributes, got {type(state)}")
        else:
            found.state = state
        return None


_Unpickler.dispatch = {
    **WeightsUnpickler.dispatch,
    pickle.REDUCE[0]: _Unpickler.load_reduce,
    pickle.NEWOBJ[0]: _Unpickler.load_newobj,
    pickle.BUILD[0]: _Unpickler.load_build,
}


def _sparse(code: int, sizes: tuple[int, ...], requires_grad: bool, *parts: Any) -> Any:
    """A sparse tensor by its parts; the last of them is a table of hooks, which is empty."""
    make = {1: torch.sparse_coo_tensor, 2: torch.sparse_csr_tensor}.get(code)
    if make is None:
        raise pickle.UnpicklingError(f"expected a sparse layout's number, 1 or 2, got {code}")
    found = make(*parts[:-1], sizes)
    if code == 1:  # files do not tell whether the indices are in order and each is there once
        places = _rows(found._indices(), sizes)
        found = found._coalesced_(bool((places[1:] > places[:-1]).all()))
    return found.requires_grad_(requires_grad)


def _rows(indices: Any, sizes: tuple[int, ...]) -> Any:
    """The numbers of elements, by their indices."""
    places = torch.zeros(indices.shape[1], dtype=torch.int64)
    for row, size in zip(indices, sizes, strict=False):
        places = places * size + row
    return places


def _restore(value: Any, tag: str = "") -> Any:
    """A list or dict with its type in words."""
    return value


_RESTORE = dict.fromkeys(
    ("build_intlist", "build_doublelist", "build_boollist", "build_tensorlist", "restore_type_tag"), _restore
)


class Archive:
    """One file: the types and functions of its code, and its data. code: the folder of the code."""

    def __init__(self, reader: Any, code: str = "code") -> None:
        self._reader, self._code = reader, code
        self._trees: dict[str, dict[str, ast.stmt]] = {}
        self._sources: dict[str, Source] = {}
        self._found: dict[str, Any] = {}
        self.names = _FileNames(self)
        self.constants: tuple[Any, ...] = ()
        self.version = 0  # of the ops that its code calls

    def load(self, map_location: Any = None) -> Any:
        """The module or function of the file."""
        plan = LoadOptions(map_location, None, True, False, {})
        if not self._reader.has("constants.pkl"):
            raise RuntimeError(
                "PytorchStreamReader failed locating file constants.pkl: file not found. It is no "
                "TorchScript archive: torch.load reads what torch.save writes"
            )
        constants, data = (_Storages(self._reader, plan, name).load for name in ("constants", "data"))
        return self.module("", constants, data)

    def module(self, folder: str, constants: Any, data: Any) -> Any:
        """The module whose pickles lie in a folder. constants, data: the storages of persistent ids."""
        for name in (".data/version", "version"):
            if self._reader.has(name):
                self.version = int(self._reader.read(name).strip() or 0)
        self.constants = self._unpickle(f"{folder}constants.pkl", constants)
        root = self._unpickle(f"{folder}data.pkl", data)
        if not isinstance(root, _Object):
            raise RuntimeError(
                f"expected a module in the file, got {type(root).__name__}; the file is damaged"
            )
        for known in [*self._found.values()]:
            owner = known.object if isinstance(known, Known) else None
            if isinstance(owner, ClassType):
                for name in [*owner.trees]:
                    owner.method(name)
        return self.make(root)

    def _unpickle(self, record: str, storages: Any) -> Any:
        return _Unpickler(self._reader.read(record), storages, self).load()

    def make(self, found: Any) -> Any:
        """A value of the data, with modules for the objects in it."""
        if isinstance(found, _Object):
            if found.made is None:
                found.made = self._instance(found)
            return found.made
        if isinstance(found, (list, tuple)):
            return type(found)(map(self.make, found))
        return {k: self.make(v) for k, v in found.items()} if isinstance(found, dict) else found

    def _instance(self, found: _Object) -> Any:
        owner, state = found.cls, found.state
        if found.own_state:
            made = self._empty(owner)
            runner(owner.method("__setstate__"))(made, *map(self.make, found.own_state))
            return made
        if not owner.fields.keys() <= state.keys():
            raise RuntimeError(
                f"{owner.qualname}: the data has no {sorted(owner.fields.keys() - state.keys())}"
            )
        values = {name: self.make(state[name]) for name in owner.fields}
        if not owner.is_module:
            made = owner.python.__new__(owner.python)
            made.__dict__.update(values)
            return made
        for name, kind in owner.kinds.items():
            if kind == "parameter" and isinstance(values[name], torch.Tensor):
                values[name] = Parameter(values[name].detach(), values[name].requires_grad)
        return instance(owner, values)

    @staticmethod
    def _empty(owner: ClassType) -> Any:
        """An object of a class before its __setstate__ has run."""
        return instance(owner, {}) if owner.is_module else owner.python.__new__(owner.python)

    # --- code ---------------------------------------------------------------------------------------

    def named(self, qualname: str) -> Any:
        """What a name of the file's code stands for: Known(class), a function, or a Space."""
        if qualname not in self._found:
            space, _, name = qualname.rpartition(".")
            tree = self._file(space).get(name) if space else None
            if isinstance(tree, ast.ClassDef):
                self._class(qualname, tree, self._sources[space])
            elif isinstance(tree, ast.FunctionDef):
                self._found[qualname] = build(
                    tree,
                    self._sources[space],
                    self.names,
                    unique(qualname),
                    None,
                    {},
                    lambda f: self._found.__setitem__(qualname, f),
                )
            else:
                return Space(qualname)
        return self._found[qualname]

    def _file(self, space: str) -> dict[str, ast.stmt]:
        if space not in self._trees:
            path = f"{self._code}/{space.replace('.', '/')}.py"
            text = self._reader.read(path).decode() if self._reader.has(path) else ""
            tree = restored(parse_untrusted(text, path))
            named: dict[str, ast.stmt] = {}
            for node in tree.body:
                if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                    raise RuntimeError(f"{path}: expected classes and functions, got {type(node).__name__}")
                named[node.name] = node
            self._trees[space] = named
            debug = f"{path}.debug_pkl"
            records = self._reader.read(debug) if self._reader.has(debug) else None
            self._sources[space] = SavedSource(text, path, records)
        return self._trees[space]

    def as_type(self, found: Any) -> Type:
        """The type that a class of the file is; other types as they are."""
        if isinstance(found, EnumType):
            return Type("Enum", cls=found)
        return Type("Class", cls=found) if isinstance(found, ClassType) else found

    def _class(self, qualname: str, tree: ast.ClassDef, source: Source) -> None:
        base = ast.unparse(tree.bases[0]) if tree.bases else ""
        if base == "Enum":
            self._found[qualname] = Known(_enumeration(qualname, tree))
            return
        if base not in ("", "NamedTuple", "Interface", *_MODULES):
            raise RuntimeError(f"{qualname}: classes of the kind {base} are not supported")
        compiler: Any = _Finder(self.names, source)
        if base == "NamedTuple":
            fields = {
                n.target.id: self.names.annotation(n.annotation, compiler)
                for n in tree.body
                if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
            }
            made = collections.namedtuple(tree.name, [*fields])  # type: ignore[misc]
            space = free_for(qualname, ((*fields,), (*fields.values(),))).rpartition(".")[0]
            made.__module__ = space.removeprefix("__torch__").lstrip(".") or "__main__"
            self._found[qualname] = Known(Type("Tuple", tuple(fields.values()), made))
            return
        owner = ClassType(unique(qualname), base in _MODULES, python=None)
        owner.python = None if owner.is_module else type(tree.name, (), {"_type": owner})
        self._found[qualname] = Known(owner)
        if base in _INTERFACES:
            owner.is_interface = True
            for tree_of_method in tree.body:
                if isinstance(tree_of_method, ast.FunctionDef):
                    path = f"{owner.qualname}.{tree_of_method.name}"
                    found = declared(tree_of_method, source, self.names, path, owner, {})
                    found.finished, owner.methods[tree_of_method.name] = True, found
            return
        owner.trees = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        owner.compile = lambda name: self._method(owner, name, source)
        self._fields(owner, tree, compiler)

    def _method(self, owner: Any, name: str, source: Source) -> Function | None:
        if name not in owner.trees:
            return None
        return build(
            owner.trees[name],
            source,
            self.names,
            f"{owner.qualname}.{name}",
            owner,
            {},
            lambda f: owner.methods.__setitem__(name, f),
        )

    def _fields(self, owner: ClassType, tree: ast.ClassDef, compiler: Any) -> None:
        kinds: dict[str, str] = {}
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                kind = node.targets[0].id.strip("_").removesuffix("s")
                kinds.update(dict.fromkeys(ast.literal_eval(node.value), kind))
            elif isinstance(node, (ast.AnnAssign, ast.Assign)):
                target: Any = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
                name = target.id if isinstance(target, ast.Name) else str(ast.literal_eval(target.slice))
                note: Any = node.annotation if isinstance(node, ast.AnnAssign) else node.value
                if isinstance(node, ast.AnnAssign) and node.value is not None:
                    owner.constants[name] = _literal(node.value)
                    continue
                t = owner.fields[name] = self.names.annotation(note, compiler)
                module = t.kind == "Class" and t.cls.is_module
                owner.kinds[name] = "module" if module else kinds.get(name, "attribute")
            elif not isinstance(node, (ast.FunctionDef, ast.Pass)):
                raise RuntimeError(
                    f"{owner.qualname}: expected attributes and methods, got {type(node).__name__}"
                )
        taken = [
            n for n in (*owner.fields, *owner.constants) if n[:2] == "__" and hasattr(torch.nn.Module, n)
        ]
        if taken:
            raise RuntimeError(f"{owner.qualname}: attributes may not be called as Python's own, {taken}")


def _enumeration(qualname: str, tree: ast.ClassDef) -> Any:
    """An Enum of a file's code: the program's own where it has one of the same name and members."""
    members: dict[str, Any] = {}
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            raise RuntimeError(f"{qualname}: expected members, got {type(node).__name__}")
        members[node.targets[0].id] = _literal(node.value)
    home = qualname.rpartition(".")[0].removeprefix("__torch__").lstrip(".") or "__main__"
    known = getattr(sys.modules.get(home), tree.name, None)
    if isinstance(known, EnumType) and {m.name: m.value for m in known} == members:  # type: ignore[var-annotated]
        return known
    return Enum(tree.name, members, module=home)


def _literal(node: ast.expr) -> Any:
    """A constant in a class."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Name):
        return -_literal(node.operand)
    if isinstance(node, ast.Name) and node.id in ("inf", "nan"):
        return float(node.id)
    return ast.literal_eval(node)


class _Finder:
    """What annotations outside of functions are resolved by."""

    def __init__(self, names: Names, source: Source) -> None:
        self.names, self.source = names, source

    def sugar(self, node: Any) -> Any:
        """What a dotted name stands for."""
        if isinstance(node, ast.Attribute):
            return self.names.member(self.sugar(node.value), node.attr, node, self)
        return self.names.lookup(getattr(node, "id", ""), node, self)

    def error(self, node: Any, message: str) -> RuntimeError:
        """The error of a node."""
        return RuntimeError(f"\n{message}:\n{self.source.show(node)}")
