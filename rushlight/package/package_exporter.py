"""PackageExporter: writes objects and the modules that they need into one file."""

from __future__ import annotations

import importlib.machinery
import io
import linecache
import os
import platform
import sys
import types
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import IO, Any

import rushlight as torch
from rushlight._engine.serialization.api import _archive_name, _opened_for_writing
from rushlight._engine.serialization.file_reader import PyTorchFileWriter
from rushlight._engine.serialization.locations import location_tag
from rushlight._engine.serialization.rebuild import is_storage_types, storage_bytes
from rushlight.package._digraph import DiGraph
from rushlight.package._importlib import _normalize_path
from rushlight.package._mangling import demangle, is_mangled
from rushlight.package._package_pickler import PackagePickler
from rushlight.package._stdlib import is_stdlib_module
from rushlight.package.find_file_dependencies import find_files_source_depends_on
from rushlight.package.glob_group import GlobGroup, GlobPattern
from rushlight.package.importer import Importer, OrderedImporter, sys_importer
from rushlight.utils.hooks import RemovableHandle

_gate_torchscript_serialization = True

ActionHook = Callable[["PackageExporter", str], None]

# Of the standard library, what reaches deep into the environment: it must be declared.
_DISALLOWED_MODULES = ("sys", "io")
_MOCKED = """\
from _mock import MockedObject
def __getattr__(attr: str):
    return MockedObject(__name__ + '.' + attr, _suppress_err=True)
"""


class _ModuleProviderAction(Enum):
    """What becomes of a module."""

    INTERN = 1
    EXTERN = 2
    MOCK = 3
    DENY = 4
    # A module that was mocked when it was packaged before: the file of the mocks is written again.
    REPACKAGED_MOCK_MODULE = 5
    SKIP = 6


class PackagingErrorReason(Enum):
    """Why a package could not be written."""

    IS_EXTENSION_MODULE = "Module is a C extension module. torch.package supports Python modules only."
    NO_DUNDER_FILE = "Module had no __file__ defined."
    SOURCE_FILE_NOT_FOUND = "Module had a __file__, but we could not find it in your filesystem."
    DEPENDENCY_RESOLUTION_FAILED = "Dependency resolution failed."
    NO_ACTION = "Module did not match against any action pattern. Extern, mock, or intern it."
    DENIED = "Module was denied by a pattern."
    MOCKED_BUT_STILL_USED = (
        "Module was mocked out, but is still being used in the package. Please intern or extern the mocked "
        "modules if objects are supposed to be in the package."
    )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}.{self.name}>"


@dataclass
class _PatternInfo:
    """What a pattern of names says, and whether a name has matched it."""

    action: _ModuleProviderAction
    allow_empty: bool
    was_matched: bool = False


class EmptyMatchError(Exception):
    """Raised where no module matched a pattern that was given with allow_empty=False."""


class PackagingError(Exception):
    """Raised where modules that a package needs cannot be put into it; dependency_graph: what needs what."""

    def __init__(self, dependency_graph: DiGraph, debug: bool = False) -> None:
        self.dependency_graph = dependency_graph
        broken: dict[PackagingErrorReason, list[str]] = {}
        for name, held in dependency_graph.nodes.items():
            if held.get("error") is not None:
                broken.setdefault(held["error"], []).append(name)
        lines = [""]
        for reason, names in broken.items():
            lines.append(f"* {reason.value}")
            for name in names:
                lines += self._told(name, debug)
        text = "\n".join(lines) + "\n"
        if not debug:
            text += (
                "\nSet debug=True when invoking PackageExporter for a visualization of where broken modules "
                "are coming from!\n"
            )
        super().__init__(text)

    def _told(self, name: str, debug: bool) -> list[str]:
        context = self.dependency_graph.nodes[name].get("error_context")
        lines = [f"    {name}"]
        if context is not None:
            lines.append(f"      Context: {context}")
        if name in _DISALLOWED_MODULES:
            lines.append(
                "      Note: While we usually use modules in the python standard library from the local "
                f"environment, `{name}` has a lot of system level access and therefore can pose a security "
                f"risk. We heavily recommend removing `{name}` from your packaged code. However, if that is "
                f'not possible, add it to the extern list by calling PackageExporter.extern("`{name}`")'
            )
        if debug:
            path = " -> ".join(self.dependency_graph.first_path(name))
            lines.append(f"      A path to {name}: {path}")
        return lines


class PackageExporter:
    """Writes a package: objects as pickles, texts and bytes, and the source of the modules that these need.

    f: a path, or a file open for writing. importer: where modules and names are looked up, `sys_importer` or
    a sequence of importers. debug: errors show how broken modules came in.

    Each module that is needed has to be declared, by patterns of names: `intern` (its source goes into the
    package), `extern` (the environment that loads the package must have it), `mock` (it is replaced by what
    raises) or `deny`. The standard library and torch are external by themselves. The package is finished by
    `close()`, or at the end of a `with` block.

    Example::

        >>> import io, rushlight as torch
        >>> from rushlight.package import PackageExporter, PackageImporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_pickle("model", "model.pkl", torch.nn.Linear(2, 1))
        >>> PackageImporter(io.BytesIO(file.getvalue())).load_pickle("model", "model.pkl")
        Linear(in_features=2, out_features=1, bias=True)
    """

    importer: Importer

    def __init__(
        self,
        f: str | os.PathLike[str] | IO[bytes],
        importer: Importer | Sequence[Importer] = sys_importer,
        debug: bool = False,
    ) -> None:
        from rushlight.jit.archive import Storages  # TorchScript, which few packages hold
        from rushlight.jit.packaging import PackagedModules

        self.debug = debug
        self._opened = _opened_for_writing(f)
        self.buffer = f
        self.zip_file = PyTorchFileWriter(self._opened.__enter__(), _archive_name(f))
        self.zip_file.set_min_version(6)
        self._storages = Storages(".storage")
        self.script_module_serializer = PackagedModules(self.zip_file, self._storages)
        self._alive: list[Any] = []  # what has been told by its id
        self._reduced: dict[int, tuple[Any, ...]] = {}
        self._ids = 0
        self.dependency_graph = DiGraph()
        self.patterns: dict[GlobGroup, _PatternInfo] = {}
        self._hooks: dict[_ModuleProviderAction, OrderedDict[int, ActionHook]] = {
            action: OrderedDict()
            for action in (
                _ModuleProviderAction.EXTERN,
                _ModuleProviderAction.MOCK,
                _ModuleProviderAction.INTERN,
            )
        }
        if isinstance(importer, Importer):
            self.importer = importer
        elif isinstance(importer, Sequence):
            self.importer = OrderedImporter(*importer)
        else:
            raise TypeError(
                "importer arg should be an Importer or a sequence of Importers, "
                f"got {type(importer)} instead."
            )

    # --- what is saved ------------------------------------------------------------------------------

    def save_source_file(self, module_name: str, file_or_directory: str, dependencies: bool = True) -> None:
        """Save a file, or all Python files of a folder, as the module or package of this name.

        dependencies: also what it imports.
        """
        path = Path(file_or_directory)
        if not path.is_dir():
            self.save_source_string(
                module_name, _read_file(file_or_directory), path.name == "__init__.py", dependencies
            )
            return
        found = []
        for file in sorted(path.rglob("*.py")):
            parts = [*module_name.split("."), *file.relative_to(path).with_suffix("").parts]
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            found.append((name, _read_file(str(file)), is_package))
        for name, text, is_package in found:
            self._provide(name, text, is_package)
        for name, text, is_package in found:
            self._add_dependencies(name, text, is_package, dependencies)

    def save_source_string(
        self, module_name: str, src: str, is_package: bool = False, dependencies: bool = True
    ) -> None:
        """Save a text as the module of this name. dependencies: also what it imports."""
        self._provide(module_name, src, is_package)
        self._add_dependencies(module_name, src, is_package, dependencies)

    def save_module(self, module_name: str, dependencies: bool = True) -> None:
        """Save the source of a module that the importer finds by this name."""
        if not isinstance(module_name, str):
            raise TypeError("save_module() expects a string input, did you perhaps mean to pass `__name__`?")
        self._intern_module(module_name, dependencies)

    def save_text(self, package: str, resource: str, text: str) -> None:
        """Save a text under a name in a package."""
        self.save_binary(package, resource, text.encode("utf-8"))

    def save_binary(self, package: str, resource: str, binary: bytes) -> None:
        """Save bytes under a name in a package."""
        self._write(self._filename(package, resource), binary)

    def save_pickle(
        self, package: str, resource: str, obj: Any, dependencies: bool = True, pickle_protocol: int = 3
    ) -> None:
        """Save an object under a name in a package. dependencies: also the modules that its pickle mentions.

        Raises PicklingError where the importer does not give an object by its name.
        """
        if pickle_protocol not in (3, 4):
            raise AssertionError("torch.package only supports pickle protocols 3 and 4")
        path = self._filename(package, resource)
        data = io.BytesIO()
        pickler = PackagePickler(self.importer, data, pickle_protocol, self._persistent_id)
        pickler.dump(obj)
        for key, flat in self._storages.new():
            self.zip_file.write_record(f".data/{key}", flat, flat.nbytes)
        if dependencies:
            name = f"<{package}.{resource}>"
            self.dependency_graph.add_node(
                name, action=_ModuleProviderAction.INTERN, provided=True, is_pickle=True
            )
            for module, used in pickler.written.items():
                self.dependency_graph.add_edge(name, module)
                self.add_dependency(module)
                self._refuse_mocked(module, used, package, resource)
        self._write(path, data.getvalue())

    def _refuse_mocked(self, module: str, used: list[str], package: str, resource: str) -> None:
        """A pickle needs the objects that it names."""
        if self._action(module) is _ModuleProviderAction.MOCK:
            self.dependency_graph.add_node(
                module,
                error=PackagingErrorReason.MOCKED_BUT_STILL_USED,
                error_context=f"Object(s) '{used}' from module `{module}` was mocked out during packaging "
                f"but is being used in resource - `{resource}` in package `{package}`. ",
            )

    def _persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, is_storage_types):
            cls, identity, flat, step = storage_bytes(obj)
            key = self._storages.key(identity, flat, obj)
            return ("storage", cls, int(key.partition(".")[0]), location_tag(obj), flat.size // step)
        if not hasattr(obj, "__reduce_package__"):
            return None
        if _gate_torchscript_serialization and isinstance(obj, torch.jit.ScriptModule):
            raise Exception(
                "Serializing ScriptModules directly into a package is a beta feature. "
                "To use, set global "
                "`torch.package.package_exporter._gate_torchscript_serialization` to `False`."
            )
        if id(obj) not in self._reduced:
            self._alive.append(obj)
            self._reduced[id(obj)] = ("reduce_package", id(obj), *obj.__reduce_package__(self))
        return self._reduced[id(obj)]

    def get_unique_id(self) -> str:
        """A number, as text, that was not given before."""
        self._ids += 1
        return str(self._ids - 1)

    # --- what becomes of modules --------------------------------------------------------------------

    def intern(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Modules whose names match are put into the package where they are needed.

        allow_empty=False: EmptyMatchError where none is.
        """
        self._declare(include, exclude, _ModuleProviderAction.INTERN, allow_empty)

    def extern(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Modules whose names match are not put into the package: who loads it imports them."""
        self._declare(include, exclude, _ModuleProviderAction.EXTERN, allow_empty)

    def mock(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Modules whose names match are replaced: all that is taken from them raises when it is used."""
        self._declare(include, exclude, _ModuleProviderAction.MOCK, allow_empty)

    def deny(self, include: GlobPattern, *, exclude: GlobPattern = ()) -> None:
        """Modules whose names match must not be needed: close() raises PackagingError."""
        self._declare(include, exclude, _ModuleProviderAction.DENY, True)

    def _declare(
        self, include: GlobPattern, exclude: GlobPattern, action: _ModuleProviderAction, allow_empty: bool
    ) -> None:
        self.patterns[GlobGroup(include, exclude=exclude)] = _PatternInfo(action, allow_empty)

    def register_extern_hook(self, hook: ActionHook) -> RemovableHandle:
        """Call hook(exporter, module's name) for each external module; returns a handle to take it away."""
        return self._register(_ModuleProviderAction.EXTERN, hook)

    def register_mock_hook(self, hook: ActionHook) -> RemovableHandle:
        """Call hook(exporter, module's name) for each mocked module."""
        return self._register(_ModuleProviderAction.MOCK, hook)

    def register_intern_hook(self, hook: ActionHook) -> RemovableHandle:
        """Call hook(exporter, module's name) for each module that is put into the package."""
        return self._register(_ModuleProviderAction.INTERN, hook)

    def _register(self, action: _ModuleProviderAction, hook: ActionHook) -> RemovableHandle:
        handle = RemovableHandle(self._hooks[action])
        self._hooks[action][handle.id] = hook
        return handle

    def add_dependency(self, module_name: str, dependencies: bool = True) -> None:
        """Decide about a module by the patterns, the first that matches, and put it in if they say so."""
        nodes = self.dependency_graph.nodes
        if module_name in nodes and nodes[module_name].get("provided"):
            return
        if module_name in ("torch_package_importer", "_mock"):
            mocks = module_name == "_mock"
            action = _ModuleProviderAction.REPACKAGED_MOCK_MODULE if mocks else _ModuleProviderAction.SKIP
            self.dependency_graph.add_node(module_name, action=action, provided=True)
            return
        if self._can_implicitly_extern(module_name):
            self.dependency_graph.add_node(module_name, action=_ModuleProviderAction.EXTERN, provided=True)
            return
        for pattern, info in self.patterns.items():
            if pattern.matches(module_name):
                info.was_matched = True
                self._follow(module_name, info.action, dependencies)
                return
        self.dependency_graph.add_node(module_name, error=PackagingErrorReason.NO_ACTION)

    def _follow(self, module_name: str, action: _ModuleProviderAction, dependencies: bool) -> None:
        if action is _ModuleProviderAction.INTERN:
            self._intern_module(module_name, dependencies)
        elif action is _ModuleProviderAction.DENY:
            self.dependency_graph.add_node(module_name, action=action, error=PackagingErrorReason.DENIED)
        else:
            self.dependency_graph.add_node(module_name, action=action, provided=True)

    def _can_implicitly_extern(self, module_name: str) -> bool:
        """Whether a module is external although nobody says so."""
        top = module_name.partition(".")[0]
        return top in ("torch", "rushlight") or (top not in _DISALLOWED_MODULES and is_stdlib_module(top))

    def _provide(self, module_name: str, text: str, is_package: bool) -> None:
        self.dependency_graph.add_node(
            module_name,
            source=text,
            is_package=is_package,
            provided=True,
            action=_ModuleProviderAction.INTERN,
        )

    def _add_dependencies(self, module_name: str, text: str, is_package: bool, dependencies: bool) -> None:
        if dependencies:
            for needed in self._get_dependencies(text, module_name, is_package):
                self.dependency_graph.add_edge(module_name, needed)
                self.add_dependency(needed)

    def _intern_module(self, module_name: str, dependencies: bool) -> None:
        module = self._import_module(module_name)
        module_name = demangle(module_name)
        is_package = hasattr(module, "__path__")
        text = self._get_source_of_module(module)
        if text is not None:
            self._provide(module_name, text, is_package)
            self._add_dependencies(module_name, text, is_package, dependencies)
            return
        file, context = getattr(module, "__file__", None), None
        if file is None:
            reason = PackagingErrorReason.NO_DUNDER_FILE
        elif file.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)):
            reason = PackagingErrorReason.IS_EXTENSION_MODULE
        else:
            reason, context = PackagingErrorReason.SOURCE_FILE_NOT_FOUND, f"filename: {file}"
        self.dependency_graph.add_node(
            module_name,
            action=_ModuleProviderAction.INTERN,
            is_package=is_package,
            error=reason,
            error_context=context,
            provided=True,
        )

    def _import_module(self, module_name: str) -> types.ModuleType:
        try:
            return self.importer.import_module(module_name)
        except ModuleNotFoundError:
            if not is_mangled(module_name):
                raise
            raise ModuleNotFoundError(
                f"Module not found: '{module_name}'. Make sure the PackageImporter that "
                "created this module is present in `self.importer`"
            ) from None

    def _module_exists(self, module_name: str) -> bool:
        try:
            self._import_module(module_name)
        except Exception:  # whatever the module's own code raises
            return False
        return True

    def _get_source_of_module(self, module: types.ModuleType) -> str | None:
        spec = getattr(module, "__spec__", None)
        loader = getattr(spec, "loader", None)
        file = loader.get_filename(module.__name__) if isinstance(loader, SourceFileLoader) else None
        file = file or getattr(module, "__file__", None)
        if not isinstance(file, str) or not file.endswith(".py"):
            return None
        return "".join(linecache.getlines(file, module.__dict__))

    def _get_dependencies(self, src: str, module_name: str, is_package: bool) -> list[str]:
        """The modules that a text imports, as far as they exist."""
        package = module_name if is_package else module_name.rpartition(".")[0] or module_name
        try:
            found = find_files_source_depends_on(src, package)
        except Exception as error:  # whatever is wrong with the text
            self.dependency_graph.add_node(
                module_name,
                error=PackagingErrorReason.DEPENDENCY_RESOLUTION_FAILED,
                error_context=str(error),
            )
            return []
        needed: dict[str, bool] = {}
        for name, part in found:
            if part is not None and self._module_exists(f"{name}.{part}"):
                needed[f"{name}.{part}"] = True
            elif self._module_exists(name):
                needed[name] = True
        return list(needed)

    # --- what is known ------------------------------------------------------------------------------

    def _action(self, module_name: str) -> Any:
        return self.dependency_graph.nodes.get(module_name, {}).get("action")

    def _nodes_with_action_type(self, action: _ModuleProviderAction | None) -> list[str]:
        return [
            name
            for name, held in self.dependency_graph.nodes.items()
            if held.get("action") is action and not held.get("is_pickle")
        ]

    def externed_modules(self) -> list[str]:
        """External modules so far."""
        return self._nodes_with_action_type(_ModuleProviderAction.EXTERN)

    def interned_modules(self) -> list[str]:
        """Modules that are in the package so far."""
        return self._nodes_with_action_type(_ModuleProviderAction.INTERN)

    def mocked_modules(self) -> list[str]:
        """Mocked modules so far."""
        return self._nodes_with_action_type(_ModuleProviderAction.MOCK)

    def denied_modules(self) -> list[str]:
        """Denied modules so far."""
        return self._nodes_with_action_type(_ModuleProviderAction.DENY)

    def get_rdeps(self, module_name: str) -> list[str]:
        """What needs a module."""
        graph = self.dependency_graph
        return list(graph.predecessors(module_name)) if module_name in graph else []

    def all_paths(self, src: str, dst: str) -> str:
        """How one module comes to need another: a graph in Graphviz' language."""
        return self.dependency_graph.all_paths(src, dst)

    def dependency_graph_string(self) -> str:
        """What needs what: a graph in Graphviz' language."""
        return self.dependency_graph.to_dot()

    # --- the file -----------------------------------------------------------------------------------

    def __enter__(self) -> PackageExporter:
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        if exc_type is not None:  # the error that comes first is the one to see
            self._finalize_zip()
            return
        self.close()

    def close(self) -> None:
        """Write the modules that are needed, and finish the file.

        Raises PackagingError, EmptyMatchError.
        """
        self._validate_dependency_graph()
        extern = self._write_modules()
        self._write(".data/extern_modules", "".join(f"{name}\n" for name in extern))
        self._write(".data/python_version", platform.python_version())
        self.script_module_serializer.write_files()
        self._finalize_zip()

    def _validate_dependency_graph(self) -> None:
        if any(held.get("error") is not None for held in self.dependency_graph.nodes.values()):
            raise PackagingError(self.dependency_graph, debug=self.debug)
        for pattern, info in self.patterns.items():
            if not info.allow_empty and not info.was_matched:
                raise EmptyMatchError(
                    f"Exporter did not match any modules to {pattern}, which was marked as allow_empty=False"
                )

    def _write_modules(self) -> list[str]:
        """Write what is in the package; returns the external modules."""
        extern, mocks = [], False
        for name, held in self.dependency_graph.nodes.items():
            action = held["action"]
            if not held.get("is_pickle"):
                for hook in self._hooks.get(action, {}).values():
                    hook(self, name)
            if action is _ModuleProviderAction.EXTERN:
                extern.append(name)
            elif action is _ModuleProviderAction.INTERN and "source" in held:
                self._write_source_string(name, held["source"], held["is_package"])
            elif action is _ModuleProviderAction.MOCK:
                mocks = mocks or self._write_mock_file()
                self._write_source_string(name, _MOCKED, hasattr(self._import_module(name), "__path__"))
            elif action is _ModuleProviderAction.REPACKAGED_MOCK_MODULE:
                mocks = mocks or self._write_mock_file()
        return extern

    def _write_mock_file(self) -> bool:
        self._write_source_string("_mock", _read_file(str(Path(__file__).parent / "_mock.py")))
        return True

    def _write_source_string(self, module_name: str, src: str, is_package: bool = False) -> None:
        ending = "/__init__.py" if is_package else ".py"
        self._write(module_name.replace(".", "/") + ending, src)

    def _write(self, filename: str, content: str | bytes) -> None:
        if is_mangled(filename):
            raise AssertionError(
                f"Tried to save a torch.package'd module as '{filename}'. "
                "Directly saving torch.package'd modules is not allowed."
            )
        data = content.encode("utf-8") if isinstance(content, str) else content
        self.zip_file.write_record(filename, data, len(data))

    def _filename(self, package: str, resource: str) -> str:
        return f"{package.replace('.', '/')}/{_normalize_path(resource)}"

    def _finalize_zip(self) -> None:
        self.zip_file.write_record("byteorder", sys.byteorder.encode(), len(sys.byteorder))
        self.zip_file.write_end_of_file()
        self._opened.__exit__(None, None, None)
        flush = getattr(self.buffer, "flush", None)
        if flush is not None:
            flush()


def _read_file(filename: str) -> str:
    """A file of Python, decoded as Python would."""
    return importlib.util.decode_source(Path(filename).read_bytes())


__all__ = ["EmptyMatchError", "PackageExporter", "PackagingError", "PackagingErrorReason"]
