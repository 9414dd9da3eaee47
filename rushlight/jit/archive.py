"""torch.jit.save and load: PyTorch's archive of a TorchScript program, code and data in one zip file."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import struct
import sys
from enum import Enum
from typing import Any

import rushlight as torch
from rushlight._engine.serialization.api import (
    _archive_name,
    _is_path,
    _opened_for_reading,
    _opened_for_writing,
)
from rushlight._engine.serialization.rebuild import _plain_form, storage_bytes
from rushlight._engine.serialization.zip_format import Reader, Writer
from rushlight.jit.freezing.attributes import held
from rushlight.jit.handles import ModuleHandle
from rushlight.jit.modules import ScriptFunction, ScriptModule, instance
from rushlight.jit.program import execute
from rushlight.jit.program.codetext import declaration_text, function_lines
from rushlight.jit.program.ir import Function, inlined, walk
from rushlight.jit.program.managers import SAVED
from rushlight.jit.program.schema import REQUIRED, spell
from rushlight.jit.program.sources import Records
from rushlight.jit.program.types import BOOL, FUNCTION, ClassType, Type, from_python, of_value
from rushlight.jit.reader import Archive
from rushlight.jit.upgraders import since


def save(m: Any, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
    """Write a scripted or traced module or function to `f`, a path or a file, as PyTorch does.

    _extra_files: more records of the archive, by their names, which load gives back.
    """
    if isinstance(m, ModuleHandle):
        m = m._module
    if not isinstance(m, (ScriptModule, ScriptFunction)):
        raise AttributeError(f"'{type(m).__name__}' object has no attribute 'save'")
    name = _archive_name(f)
    code, data, constants = Code(), Storages(), Storages()
    if isinstance(m, ScriptFunction):
        m = _module_of(m._function)
    pickled, pickled_constants = described(m, code, data, constants)
    with _opened_for_writing(f) as file:
        writer = Writer(file, name)
        for key, flat in data.new():
            writer.write(f"data/{key}", flat)
        writer.write("data.pkl", pickled)
        for path, content in code.records().items():
            writer.write_text(f"code/{path}", content)
        for key, flat in constants.new():
            writer.write(f"constants/{key}", flat)
        writer.write("constants.pkl", pickled_constants)
        for extra, given in (_extra_files or {}).items():
            writer.write(f"extra/{extra}", given.encode() if isinstance(given, str) else given)
        writer.write("byteorder", sys.byteorder.encode())
        writer.finish(".data/version", f"{code.version}\n".encode())


def described(m: Any, code: Code, data: Storages, constants: Storages) -> tuple[bytes, bytes]:
    """A module's pickle, and that of the constants of its code, which is added to `code`."""
    code.cls(m._type)
    for inside in m.modules():  # of some, only an interface is mentioned
        code.cls(inside._type)
    held, known = _Data(data), _Data(constants)
    held.value(m, Type("Class", cls=m._type))
    for owner in held.classes:
        code.cls(owner)
    known.tuple([(value, of_value(value)) for value in code.constants])
    return held.finish(), known.finish()


class Storages:
    """The storages of a file's tensors, each of which is a record. ending: of the records' names."""

    def __init__(self, ending: str = "") -> None:
        self._ending = ending
        self._keys: dict[Any, tuple[str, Any]] = {}
        self._new: list[tuple[str, Any]] = []

    def key(self, identity: Any, flat: Any, owner: Any) -> str:
        """The name of a storage's record. owner: what keeps the storage, so that its memory stays its own."""
        if identity not in self._keys:
            name = f"{len(self._keys)}{self._ending}"
            self._keys[identity] = name, owner
            self._new.append((name, flat))
        return self._keys[identity][0]

    def new(self) -> list[tuple[str, Any]]:
        """Names and bytes of the storages that have come since this was asked last."""
        found, self._new = self._new, []
        return found


def _module_of(function: Function) -> Any:
    """A module whose forward is the function: archives hold modules."""
    owner = ClassType(
        "__torch__.PlaceholderModule", True, fields={"training": BOOL}, kinds={"training": "attribute"}
    )
    forward = Function(
        f"{owner.qualname}.forward",
        [("self", Type("Class", cls=owner), REQUIRED), *function.arguments],
        function.returns,
        owner=owner,
        finished=True,
    )
    forward.block = inlined(function, calls=False).block
    forward.block.param(forward.arguments[0][1], "self")
    forward.block.params.insert(0, forward.block.params.pop())
    owner.methods["forward"] = forward
    return instance(owner, {"training": True})


class Code:
    """The files of code of what is saved."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self._records: dict[str, Records] = {}
        self.constants: list[Any] = []
        self.version = 3  # of the ops: the newest that one of them came to mean what it means now
        self._done: set[str] = set()

    def add(self, qualname: str, lines: list[str], places: list[str] | None = None) -> None:
        """Put lines into the file of their namespace. places: where each comes from."""
        path = qualname.rpartition(".")[0].replace(".", "/") + ".py"
        before = self.files.get(path, "")
        records = self._records.setdefault(path, Records())
        records.add(len(before.encode()), lines, places or [""] * len(lines))
        self.files[path] = before + "".join(f"{line}\n" for line in lines)

    def records(self) -> dict[str, bytes]:
        """The files, and beside each what says where it comes from."""
        found: dict[str, bytes] = {}
        for path, text in self.files.items():
            found[path] = text.encode()
            found[f"{path}.debug_pkl"] = self._records[path].finish()
        return found

    def tensor(self, value: Any) -> str:
        """The name of a constant that has no spelling."""
        for i, known in enumerate(self.constants):
            if known is value:
                return f"CONSTANTS.c{i}"
        self.constants.append(value)
        return f"CONSTANTS.c{len(self.constants) - 1}"

    def function(self, function: Function) -> None:
        """A function, and what it calls."""
        if function.qualname not in self._done:
            self._done.add(function.qualname)
            self.needs(function)
            self.add(function.qualname, *function_lines(function, self.tensor))

    def signature(self, function: Function) -> None:
        """The types of a function's arguments and result."""
        for _, t, _ in function.arguments:
            self.type(t)
        if function.returns is not None:
            self.type(function.returns)

    def needs(self, function: Function) -> None:
        """What a program mentions."""
        self.signature(function)
        for node in walk(function.block):
            self.version = max(self.version, since(node.kind))
            if node.kind == "prim::With" and node.attrs.get("manager") in SAVED:
                self.manager(SAVED[node.attrs["manager"]][1])
            elif node.kind == "prim::With" and "manager" in node.attrs:
                raise RuntimeError(
                    f"Could not export '{function.name}': it has a `with`, which files cannot hold here; "
                    "put what is inside into a function of its own, and call that in the `with` outside"
                )
            if node.kind == "prim::PythonOp":
                raise RuntimeError(
                    "\n"
                    f"Could not export Python function call '{node.attrs['python'].__name__}'. Remove calls "
                    "to Python functions before export. Did you forget to add @script or @script_method "
                    "annotation? If this is a nn.ModuleList, add it to __constants__"
                )
            callee = node.attrs.get("function")
            if isinstance(callee, Function) and callee.owner is None:
                self.function(callee)
            if node.kind == "prim::Constant" and node.output.type == FUNCTION:
                self.function(node.attrs["value"])
            for value in (*node.outputs, *node.inputs):
                self.type(value.type)

    def manager(self, texts: dict[str, str]) -> None:
        """The classes of one of torch's context managers."""
        for path, text in texts.items():
            if path not in self._done:
                self._done.add(path)
                self.add(path, text.splitlines())

    def type(self, t: Type) -> None:
        """The classes in a type."""
        for part in t.args:
            self.type(part)
        if t.kind == "Class":
            self.cls(t.cls)
        elif t.kind == "Enum" and str(t) not in self._done:
            self._done.add(str(t))
            members = [f"  {m.name} = {spell(m.value)}" for m in t.cls]
            self.add(str(t), [f"class {t.cls.__name__}(Enum):", *members])
        elif t.kind == "Tuple" and t.cls is not None and str(t) not in self._done:
            self._done.add(str(t))
            fields = [f"  {n} : {a}" for n, a in zip(t.cls._fields, t.args, strict=True)]
            self.add(str(t), [f"class {t.cls.__name__}(NamedTuple):", *fields])

    def cls(self, owner: ClassType) -> None:
        """A class, and what it needs."""
        if owner.qualname in self._done:
            return
        self._done.add(owner.qualname)
        base = f"({'Module' if owner.is_module else ''}{'Interface' if owner.is_interface else ''})"
        lines = [f"class {owner.qualname.rpartition('.')[2]}{base.replace('()', '')}:"]
        if owner.is_interface:
            for function in owner.methods.values():
                self.signature(function)
                lines.append(declaration_text(function))
            self.add(owner.qualname, "\n".join(lines).split("\n"))
            return
        if owner.is_module:
            for kind in ("parameter", "buffer"):
                names = "".join(f'"{n}", ' for n, k in owner.kinds.items() if k == kind)
                lines.append(f"  __{kind}s__ = [{names}]")
        for name, t in owner.fields.items():
            self.type(t)
            lines.append(f"  {name} : {t}" if name.isidentifier() else f'  __annotations__["{name}"] = {t}')
        for name, value in owner.constants.items():
            with contextlib.suppress(TypeError):
                lines.append(f"  {name} : Final[{of_value(value)}] = {spell(value)}")
        bodies, places = list[str](), list[str]()
        for function in owner.methods.values():
            self.needs(function)
            body, origin = function_lines(function, self.tensor, "  ", full=True)
            bodies += body
            places += origin
        if len(lines) == 1 and not bodies:
            lines.append("  pass")
        self.add(owner.qualname, [*lines, *bodies], [""] * len(lines) + places)


_TAGGED = {
    "int": "build_intlist",
    "float": "build_doublelist",
    "bool": "build_boollist",
    "Tensor": "build_tensorlist",
}


# Layouts that are written by their parts: their numbers, and the methods that give the parts.
_SPARSE = {
    torch.sparse_coo: (1, ("_indices", "_values")),
    torch.sparse_csr: (2, ("crow_indices", "col_indices", "values")),
}


class _Data:
    """A pickle of values with TorchScript's types, opcode by opcode: its classes are names only."""

    def __init__(self, storages: Storages) -> None:
        self._out: list[bytes] = [b"\x80\x02"]
        self._storages = storages
        self._objects: dict[int, int] = {}
        self._texts: dict[str, int] = {}
        self.classes: list[ClassType] = []  # of objects of which only an interface is mentioned

    def finish(self) -> bytes:
        """The pickle."""
        return b"".join(self._out) + b"."

    def put(self, *parts: bytes) -> None:
        """More bytes."""
        self._out += parts

    def name(self, full: str) -> None:
        """A global."""
        module, _, name = full.rpartition(".")
        self.put(f"c{module}\n{name}\n".encode())

    def text(self, value: str) -> None:
        """A string; what was written already is told by its number."""
        if value in self._texts:
            self.put(_numbered(b"h", b"j", self._texts[value]))
            return
        data = value.encode()
        number = self._texts[value] = self._number()
        self.put(b"X", struct.pack("<I", len(data)), data, _numbered(b"q", b"r", number))

    def _number(self) -> int:
        """The number of what is told by it from now on."""
        return len(self._objects) + len(self._texts)

    def tuple(self, parts: list[tuple[Any, Type]]) -> None:
        """A tuple of values with their types."""
        self.put(b"(")
        for value, t in parts:
            self.value(value, t)
        self.put(b"t")

    def value(self, value: Any, t: Type) -> None:
        """A value of a type."""
        kind = t.kind
        if value is None or isinstance(value, bool):
            self.put({None: b"N", True: b"\x88", False: b"\x89"}[value])
        elif isinstance(value, torch.Tensor):
            self.tensor(value)
        elif isinstance(value, Enum) and kind not in ("int", "float", "str"):  # a number, too, of an IntEnum
            self.name(str(from_python(type(value))))
            self.value(value.value, of_value(value.value))  # bare, not in a tuple of arguments
            self.put(b"R")
        elif isinstance(value, (int, float, str)):
            self.plain(value)
        elif isinstance(value, complex):
            self.name("builtins.complex")
            self.tuple([(value.real, Type("float")), (value.imag, Type("float"))])
            self.put(b"R")
        elif kind in ("Optional", "Union", "Any"):
            self.value(value, next((a for a in t.args if _fits(value, a)), None) or _inferred(value))
        elif kind == "Class" and t.cls.is_interface:
            self.classes.append(value._type)
            self.instance(value, value._type)
        elif kind == "Class":
            self.instance(value, t.cls)
        elif kind == "Tuple":
            self.tuple(list(zip(value, t.args, strict=True)))
        elif kind in ("List", "Dict"):
            self.container(value, t)
        elif kind == "Device":
            self.name("torch.device")
            self.put(b"(")
            self.text(str(value))
            self.put(b"tR")
        else:
            raise RuntimeError(f"cannot save a value of type {t}")

    def plain(self, value: Any) -> None:
        """A number or text."""
        if isinstance(value, str):
            self.text(value)
        elif isinstance(value, float):
            self.put(b"G", struct.pack(">d", value))
        elif -1 << 31 <= value < 1 << 31:
            self.put(b"J", struct.pack("<i", value))
        else:
            self.put(b"\x8a\x08", struct.pack("<q", value))

    def container(self, value: Any, t: Type) -> None:
        """A list or dict, with its type."""
        tagged = _TAGGED.get(t.args[0].kind) if t.kind == "List" else None
        self.name(f"torch.jit._pickle.{tagged or 'restore_type_tag'}")
        self.put(b"(", b"]" if t.kind == "List" else b"}", b"(")
        for part in [(x,) for x in value] if t.kind == "List" else value.items():
            for item, kind in zip(part, t.args, strict=True):
                self.value(item, kind)
        self.put(b"e" if t.kind == "List" else b"u")
        if not tagged:
            self.text(str(t))
        self.put(b"tR")

    def instance(self, value: Any, owner: ClassType) -> None:
        """A module or an object of a class; once only."""
        if id(value) in self._objects:
            self.put(b"j", struct.pack("<I", self._objects[id(value)]))
            return
        number = self._objects[id(value)] = self._number()
        if owner.methods.get("__getstate__") is not None:
            function = owner.methods["__getstate__"]
            self.start(owner, number)
            self.value(execute.runner(function)(value), function.returns)
            self.put(b"b")
            return
        fields = {
            name: (value._modules[name] if owner.kinds[name] == "module" else held(value, name), t)
            for name, t in owner.fields.items()
        }
        self.object(owner, fields, number)

    def object(self, owner: ClassType, fields: dict[str, Any], number: int = 0) -> None:
        """An object of a class with these attributes."""
        self.start(owner, number)
        self.put(b"}(")
        for name, (value, t) in fields.items():
            self.text(name)
            self.value(value, t)
        self.put(b"ub")

    def start(self, owner: ClassType, number: int) -> None:
        """A new object of a class, whose state follows."""
        self.name(owner.qualname)
        self.put(b")\x81", b"r", struct.pack("<I", number))

    def tensor(self, value: Any) -> None:
        """A tensor: what torch.save writes, with its storage as a record; a sparse one by its parts."""
        if value.layout in _SPARSE:
            self.sparse(value)
            return
        _, (storage, offset, sizes, strides, needs, _) = _plain_form(
            (torch.empty_like(value, device="cpu") if value.is_meta else value.detach()).requires_grad_(
                value.requires_grad
            )
        )
        cls, identity, flat, step = storage_bytes(storage)
        self.name("torch._utils._rebuild_tensor_v2")
        self.put(b"((")
        self.text("storage")
        self.name(f"torch.{cls.__name__}")
        self.text(self._storages.key(identity, flat, storage))
        self.text(str(value.device))
        self.plain(flat.size // step)
        self.put(b"tQ")
        self.plain(offset)
        for numbers in (sizes, strides):
            self.tuple([(int(n), Type("int")) for n in numbers])
        self.put(b"\x88" if needs else b"\x89")
        self.name("collections.OrderedDict")
        self.put(b")RtR")

    def sparse(self, value: Any) -> None:
        """A sparse tensor: its layout's number, sizes, and the tensors that it is made of."""
        code, names = _SPARSE[value.layout]
        self.name("torch._utils._rebuild_sparse_tensor")
        self.put(b"(")
        self.plain(code)
        self.tuple([(int(n), Type("int")) for n in value.shape])
        self.put(b"\x88" if value.requires_grad else b"\x89")
        for name in names:
            self.tensor(getattr(value.detach(), name)())
        self.name("collections.OrderedDict")
        self.put(b")RtR")


def _inferred(value: Any) -> Type:
    """The type of a value that may be anything: of a tuple that of its parts, whatever its class says."""
    if isinstance(value, tuple):
        return Type("Tuple", tuple(map(_inferred, tuple.__iter__(value))))
    return of_value(value)


def _numbered(short: bytes, long: bytes, number: int) -> bytes:
    """An opcode with a number, which takes one byte or four."""
    return short + bytes((number,)) if number < 256 else long + struct.pack("<I", number)


def _fits(value: Any, t: Type) -> bool:
    from rushlight.jit.program.execute import accepts  # what it needs, jit, imports this file

    return accepts(value, t)


# --- loading ------------------------------------------------------------------------------------


def load(
    f: Any,
    map_location: Any = None,
    _extra_files: dict[str, Any] | None = None,
    _restore_shapes: bool = False,
) -> Any:
    """Read what `save` (PyTorch's or this one) wrote to `f`, a path or a seekable file.

    map_location: as of torch.load. _extra_files: its keys name records that are read into it, as text where
    they are text. Nothing of the file is run: its code is parsed, compared with PyTorch's signatures and
    written anew.
    Raises ValueError where there is no such file, RuntimeError where it is no TorchScript archive or a
    damaged one.
    """
    if _is_path(f):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {f} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {f} is a directory")
    with _opened_for_reading(f) as file:
        begin = file.tell()
        reader = Reader(io.BytesIO(file.read()) if begin else file, str(f))
        wanted = {} if _extra_files is None else _extra_files
        for name in wanted:
            wanted[name] = reader.read(f"extra/{name}") if reader.has(f"extra/{name}") else b""
        try:
            return Archive(reader).load(map_location)
        except RuntimeError:
            raise
        except (Exception, RecursionError) as error:
            raise RuntimeError(
                f"{f}: expected a TorchScript program, got what fails with {type(error).__name__}: {error}; "
                "the file is damaged"
            ) from error


__all__ = ["load", "pickle", "save"]
