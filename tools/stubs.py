"""Type stubs (.pyi) for what is public and cannot be read off the source.

That is ops, packages whose names are found at first mention, and classes that are declared in tables.

    python tools/stubs.py            writes them next to the modules
    python tools/stubs.py --check    says which are not as they would be written, and writes nothing

What the source says itself, with annotations, checkers read there (the package has a py.typed).
"""

from __future__ import annotations

import argparse
import builtins
import sys
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import stubclasses  # noqa: E402
from stubops import op_lines  # noqa: E402
from stubtypes import Scope, imports  # noqa: E402

from rushlight import cuda, sparse  # noqa: E402
from rushlight._engine import lazy  # noqa: E402
from rushlight._engine.core import dtype, results  # noqa: E402
from rushlight._engine.dispatch import dispatcher, methods  # noqa: E402
from rushlight._engine.ops.table import NAMES  # noqa: E402
from rushlight._engine.tensors.construction import legacy  # noqa: E402
from rushlight._engine.tensors.operators import OPERATORS  # noqa: E402
from rushlight._engine.tensors.storages import typed  # noqa: E402
from rushlight._engine.tensors.tensor import Tensor  # noqa: E402
from rushlight.sparse import ops as sparse_ops  # noqa: E402

HEAD = "# Written by `python tools/stubs.py`.\n"
COMMAND = "python tools/stubs.py"
SHADOWED = frozenset(
    (
        "int float bool complex type range all any sum min max abs round pow hash dtype layout "
        "device memory_format"
    ).split()
)
_MIXINS = [
    cls for cls in Tensor.__mro__ if cls.__module__.startswith("rushlight._engine.tensors") or cls is Tensor
]


def _listed(module: Any) -> list[str] | None:
    """The names that a module's file puts into `__all__`, which the loader puts aside."""
    names = lazy.names_of(module)
    found = names.get("_all", names.get("__all__"))
    return None if found is None else [*found]


def finished(scope: Scope, module: Any, body: list[str]) -> str:
    """A stub's text: its head, its docstring, what it imports, what it declares, what a star hands on."""
    told = vars(module).get("__dir__")
    if isinstance(told, FunctionType) and not told.__qualname__.startswith("_listing."):  # the loader's
        strings = f"{scope.builtin('list')}[{scope.builtin('str')}]"
        body = [*body, f"def __dir__() -> {strings}: ..."]
    if (listed := _listed(module)) is not None:
        body = [*body, *textwrap.wrap(f"__all__ = {listed}", 110, subsequent_indent="    ")]
    doc = stubclasses.doc_lines(module.__doc__) if module.__doc__ else []
    # What a stub imports for its own use it does not hand on, and the other way round: one statement each.
    return HEAD + "\n".join([*doc, *scope.lines(set(body)), "", *body]) + "\n"


# --- the top level ------------------------------------------------------------------------------------


def top() -> str:
    """rushlight/__init__.pyi: ops, dtypes, and where all other names come from."""
    module = import_module("rushlight")
    scope = Scope("rushlight", SHADOWED | {"Storage"})  # torch.Storage is another class
    homes = lazy.homes("rushlight")
    body = reexports(scope, "rushlight", {name: home for name, home in homes.items() if name != "Tensor"})
    body += tensor_class(scope)
    told = {name for name, home in homes.items() if home != "_engine.tensors.construction.legacy"}
    for name in sorted(dtype.NAMED):
        body.append(f"{name}: {scope.name('rushlight._engine.core.dtype', 'dtype', '_dtype')}")
        told.add(name)
    for made in (legacy, typed):
        for name in sorted(vars(made)):
            if name.endswith(("Tensor", "Storage")) and name not in told and name[0].isupper():
                home = "rushlight._engine.tensors.storages.typed"
                base = (
                    "Tensor"
                    if made is legacy
                    else f"{scope.name(home, 'TypedStorage')}, metaclass={scope.name(home, '_OfDtype')}"
                )
                final = [f"@{scope.home('final')}"] if made is legacy else []  # they refuse subclasses
                body += [*final, f"class {name}({base}): ..."]
                told.add(name)
    for name, value in sorted(methods.FUNCTIONS.items()):
        told.add(name)
        body += stubclasses.function_lines(scope, name, value)
    body += ["newaxis: None"]
    for name in ("e", "inf", "nan", "pi"):
        body.append(f"{name}: {scope.builtin('float')}")
    return finished(scope, module, body + table(scope, "torch", told))


def table(scope: Scope, space: str, told: set[str]) -> list[str]:
    """The ops of a namespace, in the order of their names."""
    body: list[str] = []
    for where, name in sorted(NAMES):
        if where == space and name not in told:
            row, variant = NAMES[space, name]
            body += op_lines(scope, row, space, name, variant)
    return body


def reexports(scope: Scope, package: str, homes: dict[str, str]) -> list[str]:
    """Names that come from other modules, as statements that hand them on."""
    lines = []
    for name, home in sorted(homes.items()):
        if home == ".":
            lines.append(f"from {package} import {name} as {name}")
        elif name in ("memory_format", "layout"):
            real = {"memory_format": "MemoryFormat", "layout": "StorageLayout"}[name]
            lines.append(f"{name} = {scope.name(lazy.module_of(package, home), real)}")
        elif home != "_engine.tensors.construction.legacy":
            lines.append(f"from {lazy.module_of(package, home)} import {name} as {name}")
    return lines


# --- Tensor -------------------------------------------------------------------------------------------


# The types of what a tensor is made of; those of others are Any.
_SLOTS = {
    "_array": "np.ndarray[Any, Any]",
    "_memory": "np.ndarray[Any, Any]",
    "_geometry": "np.ndarray[Any, Any]",
    "_kind": "Kind",
    "_storage": "_Storage | None",
    "_output_nr": "_int",
}


# Names with an underscore that programs, or other parts of the engine, take from a tensor.
_HALF_PUBLIC = frozenset(("_base", "_is_view", "_state", "_version"))


def tensor() -> str:
    """rushlight/_engine/tensors/tensor.pyi: what the module has beside the class, which it hands on."""
    module = import_module("rushlight._engine.tensors.tensor")
    scope = Scope("rushlight._engine.tensors.tensor", SHADOWED)
    body = [
        "from rushlight import Tensor as Tensor",
        "from rushlight._engine.tensors.storages.storage import storage as storage",
        "from rushlight._engine.tensors.kind import kind as kind",
    ]
    for name, value in stubclasses.public_members(module):
        if value is not Tensor and not name.startswith("__"):
            body += declared(scope, module, name, value)
    return finished(scope, module, body)


def tensor_class(scope: Scope) -> list[str]:
    """The class Tensor with all its methods, for the stub of the top level.

    It is told there, under the name that it says of itself, and not beside its source: jedi, on which
    notebooks' completion stands, reads the sources of a class and of its bases where it finds a stub
    beside them, at every look at a tensor.
    """
    members: dict[str, Any] = {}
    for cls in reversed(_MIXINS):
        members.update({name: value for name, value in vars(cls).items() if name not in stubclasses._UNTOLD})
    members.pop("__getattr__", None)  # an op that is not there is a mistake
    members = {n: v for n, v in members.items() if ("Tensor", n) not in NAMES and n not in OPERATORS}
    own = [*stubclasses.doc_lines(Tensor.__doc__), ""]
    any_ = scope.home("Any")
    slots = vars(Tensor)["__slots__"]
    own += [
        f"{name}: {_SLOTS.get(name, any_)}"
        for name in (*slots, "_memory", "_geometry")
        if not name.startswith("__")
    ]
    scope.name("rushlight._engine.tensors.kind", "Kind")
    scope.name("rushlight._engine.tensors.storages.storage", "Storage")
    told = {*methods.METHODS, *dispatcher._SPARSE}
    for name in sorted(members):
        hidden = name.startswith("_") and not name.startswith("__") and name not in _HALF_PUBLIC
        if hidden or name in told or name in slots:
            continue
        own += _member(scope, name, members[name])
    own += _operators(scope)
    for name in sorted(methods.METHODS):
        if not name.startswith("_"):
            own += stubclasses.function_lines(scope, name, methods.METHODS[name], bound=True)
    own += _sparse(scope)
    own += table(scope, "Tensor", told)
    metaclass = scope.name("rushlight._engine.tensors.tensor", "TensorMeta", "_TensorMeta")
    return stubclasses.block(f"class Tensor(metaclass={metaclass}):", own)


def _member(scope: Scope, name: str, value: Any) -> list[str]:
    if (callable(value) and not isinstance(value, (FunctionType, staticmethod, classmethod, property))) or (
        name in ("__getitem__", "__torch_function__")
    ):
        value = getattr(value, "__func__", value)
        if name == "__getitem__":
            return [f"def __getitem__(self, index: {scope.home('Any')}) -> Tensor: ..."]
    if name == "__torch_function__":
        any_ = scope.home("Any")
        return [
            "@classmethod",
            f"def __torch_function__(cls, func: {any_}, types: {any_}, "
            f"args: {any_} = ..., kwargs: {any_} = ...) -> {any_}: ...",
        ]
    if name == "__new__":
        any_ = scope.home("Any")
        return [f"def __new__(cls, *args: {any_}, **kwargs: {any_}) -> {scope.home('Self')}: ..."]
    return stubclasses.member_lines(scope, Tensor, name, value)


def _sparse(scope: Scope) -> list[str]:
    """Methods that have to do with sparse layouts."""
    lines = []
    for name in sorted(dispatcher._SPARSE):
        function = vars(sparse_ops).get(name) or sparse.METHODS.get(name)
        if isinstance(function, FunctionType):
            lines += stubclasses.function_lines(scope, name, function, bound=True)
        else:
            kind = scope.builtin("bool") if name.startswith("is_") else "Tensor"
            lines.append(f"def {name}(self) -> {kind}: ...")
    return lines


def _operators(scope: Scope) -> list[str]:
    """Python's operators: of tensors and numbers."""
    any_ = scope.home("Any")
    lines = []
    for name in sorted(OPERATORS):
        form = OPERATORS[name][1]
        other = (
            any_
            if name in ("__eq__", "__ne__")
            else ("Tensor" if "matmul" in name else f"Tensor | {scope.builtin('complex')}")
        )
        ignored = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
        taken = "self" if form == "unary" else f"self, other: {other}, /"
        lines.append(f"def {name}({taken}) -> Tensor: ...{ignored}")
    return lines


# --- modules of tables, and of their own --------------------------------------------------------------


def declared(scope: Scope, module: ModuleType, name: str, value: Any) -> list[str]:
    """What a module defines: a class, a function, a constant."""
    if isinstance(value, type):
        return stubclasses.class_lines(scope, name, value)
    if isinstance(value, FunctionType):
        return stubclasses.function_lines(scope, name, value)
    if type(value).__name__ in ("TypeVar", "ParamSpec"):
        kind = type(value).__name__
        covariant = ", covariant=True" if getattr(value, "__covariant__", False) else ""
        return [f'{name} = {scope.name("typing", kind)}("{value.__name__}"{covariant})']
    return stubclasses.variable_lines(scope, module, name, value)


# Modules of a device: what they are where there is one, whatever the process that writes the stubs has.
_CUDA = vars(cuda)["_MODULES"]
_DEVICE_MODULES = {
    "rushlight.accelerator": ("any_api",),
    "rushlight.cuda": _CUDA,
    "rushlight.cuda.memory": _CUDA,
}


def device_names(path: str) -> dict[str, str]:
    """The names of a device's module that come from its backend: name to module."""
    offered = vars(import_module(path))
    found = {}
    for part in _DEVICE_MODULES.get(path, ()):
        backend = import_module(f"rushlight._engine.devices.cuda.{part}")
        for name, value in vars(backend).items():
            home = str(getattr(value, "__module__", ""))
            if name == "default_generators" or home == "torch.cuda":
                home = backend.__name__
            if name in offered and home.startswith("rushlight._engine.devices.cuda."):
                found[name] = home
    return found


def written(path: str) -> str:
    """The stub of a module whose names are partly the table's, or made by other means than class and def."""
    module = import_module(path)
    scope = Scope(path, _shadowed(module))
    homes = getattr(module, "_HOMES", None) or lazy.homes(path)
    homes = {} if path == "rushlight.nn.functional" else homes
    body = reexports(scope, path, homes)
    served = device_names(path)
    body += [f"from {home} import {name} as {name}" for name, home in sorted(served.items())]
    told = {*homes, *served}
    listed = {*(_listed(module) or ()), *_asked_of(path)}
    for name, (home, real) in sorted(imports(str(module.__file__)).items()):
        claimed = getattr(vars(module).get(name), "__module__", None) == path
        if real == name and (_handed_on(module, name) or claimed or name in listed) and name not in told:
            body.append(f"from {home} import {real} as {name}")
            told.add(name)
    for name, value in getattr(module, "_HOMES", {}).items():
        if path == "rushlight.nn.functional" and not name.startswith("_"):
            body.append(f"from {value} import {name} as {name}")
            told.add(name)
    space = path.removeprefix("rushlight.")
    names = {n for s, n in NAMES if s == space}
    for name, value in stubclasses.public_members(module):
        if (
            name not in told
            and name not in names
            and not name.startswith("__")
            and not (name.startswith("_") and not isinstance(value, (type, FunctionType)))
        ):
            body += declared(scope, module, name, value)
    if path == stubclasses.MODULE:
        for name in ("ParamSpec", "Protocol", "TypeVar"):
            scope.name("typing", name)
        body = [*stubclasses.CALLS.splitlines(), *body]
    return finished(scope, module, body + table(scope, space, told))


def _asked_of(path: str) -> set[str]:
    """The names that packages hand on from a module."""
    return {
        name for where, home, *names in lazy._LINES if lazy.module_of(where, home) == path for name in names
    }


def _shadowed(module: ModuleType) -> frozenset[str]:
    """Names of types that mean something else inside of the module's classes."""
    inside = {name for cls in vars(module).values() if isinstance(cls, type) for name in vars(cls)}
    return frozenset({"dtype", "device", "layout", *(inside & set(vars(builtins)))})


def _handed_on(module: ModuleType, name: str) -> bool:
    """Whether the source says `from x import name as name`."""
    text = Path(str(module.__file__)).read_text(encoding="utf-8")
    return f"{name} as {name}" in text


def return_types() -> str:
    """torch.return_types: a named tuple for each."""
    module = import_module("rushlight.return_types")
    scope = Scope("rushlight.return_types")
    body: list[str] = []
    tensor_ = scope.home("Tensor")
    for name, cls in sorted(results.TYPES.items()):
        parts = vars(cls)["_fields"]
        fields = [f"def {part}(self) -> {tensor_}: ..." for part in parts]
        body += stubclasses.block(
            f"class {name}(tuple[{', '.join([tensor_] * len(parts))}]):",
            [
                f"__match_args__ = {parts}",
                "n_fields: int",
                "n_sequence_fields: int",
                "n_unnamed_fields: int",
                *(line for field in fields for line in ("@property", field)),
            ],
        )
    return finished(scope, module, body)


def member_modules() -> Iterator[tuple[Path, str]]:
    """torch.distributions.normal and its kind: PyTorch's modules that share a file here."""
    for name, family in sorted(lazy.homes("rushlight.distributions.modules").items()):
        yield (
            ROOT / "rushlight" / "distributions" / f"{name}.pyi",
            f"{HEAD}from rushlight.distributions.{family} import *\n",
        )


def packages() -> list[str]:
    """The packages whose names are found at first mention."""
    named = {line[0] for line in lazy._LINES} - {"rushlight", "rushlight.distributions.modules"}
    return sorted(
        path
        for path in named
        if hasattr(found := import_module(path), "__path__") and isinstance(found, lazy.LazyPackage)
    )


_BACKENDS = ("cudnn", "mkl", "mkldnn", "mps", "openmp")


def modules() -> list[str]:
    """The modules that are written out: those of the table, and the files of layers and distributions."""
    found = [
        "rushlight.linalg",
        "rushlight.special",
        "rushlight.fft",
        "rushlight.nn.functional",
        "rushlight.accelerator",
        "rushlight.mps",
        "rushlight.xpu",
        "rushlight.cuda.memory",
        "rushlight.cuda.nvtx",
        *(f"rushlight.backends.{name}" for name in _BACKENDS),
    ]
    for folder in ("nn/modules",):
        found += [
            ".".join(file.relative_to(ROOT).with_suffix("").parts)
            for file in (ROOT / "rushlight" / folder).rglob("*.py")
            if file.stem != "__init__"
        ]
    return sorted(found)


def stubs() -> dict[Path, str]:
    """All stubs, by file."""
    root = ROOT / "rushlight"
    made = {
        root / "__init__.pyi": top(),
        root / "_engine" / "tensors" / "tensor.pyi": tensor(),
        root / "return_types.pyi": return_types(),
        **dict(member_modules()),
    }
    for path in packages():
        made[ROOT / path.replace(".", "/") / "__init__.pyi"] = written(path)
    for path in modules():
        made[ROOT / (path.replace(".", "/") + ".pyi")] = written(path)
    return made


def stale(made: dict[Path, str]) -> list[str]:
    """The files that are missing, differ, or are no longer written."""
    wrong = [
        file for file, text in made.items() if not file.exists() or file.read_text(encoding="utf-8") != text
    ]
    extra = [
        file
        for file in (ROOT / "rushlight").rglob("*.pyi")
        if file not in made and file.read_text(encoding="utf-8").startswith(HEAD)
    ]
    return sorted(str(file.relative_to(ROOT)) for file in wrong + extra)


def main() -> int:
    """Write the stubs, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 where one is old")
    options = parser.parse_args()
    made = stubs()
    old = stale(made)
    for name in old:
        print(("old: " if options.check else "wrote ") + name)
        if not options.check:
            if ROOT / name in made:
                (ROOT / name).write_text(made[ROOT / name], encoding="utf-8")
            else:
                (ROOT / name).unlink()
    return int(options.check and bool(old))


if __name__ == "__main__":
    raise SystemExit(main())
