"""PackageImporter: modules and objects of a package, kept apart from those of the environment."""

from __future__ import annotations

import builtins
import importlib.machinery
import inspect
import io
import linecache
import os
import types
import weakref
from collections.abc import Callable
from typing import Any, BinaryIO

from rushlight._engine.serialization.file_reader import PyTorchFileReader
from rushlight._engine.serialization.reading import LoadOptions, _Storages
from rushlight.package._directory_reader import DirectoryReader
from rushlight.package._importlib import (
    _calc___package__,
    _normalize_line_endings,
    _normalize_path,
    _resolve_name,
    _sanity_check,
)
from rushlight.package._mangling import PackageMangler, demangle
from rushlight.package._package_unpickler import PackageUnpickler
from rushlight.package.file_structure_representation import Directory, _create_directory_from_file_list
from rushlight.package.glob_group import GlobPattern
from rushlight.package.importer import Importer, sys_importer

# Always from the environment, whichever package asks.
IMPLICIT_IMPORT_ALLOWLIST = (
    *("numpy", "numpy.core", "numpy.core._multiarray_umath", "numpy._core", "numpy._core._multiarray_umath"),
    "builtins",
)


class PackageImporter(Importer):
    """Loads what `PackageExporter` (PyTorch's or this one) wrote.

    file_or_buffer: a path, a folder that a package was unpacked into, or a file open for reading.
    module_allowed: whether an external module of this name may be used.
    The package's modules are the importer's own: they do not touch `sys.modules`, and what they import comes
    from the package, except for what was declared external when it was written.

    Example::

        >>> import io
        >>> from rushlight.package import PackageExporter, PackageImporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_source_string("greeting", "text = 'hello'")
        >>> PackageImporter(io.BytesIO(file.getvalue())).import_module("greeting").text
        'hello'
    """

    def __init__(
        self,
        file_or_buffer: str | os.PathLike[str] | PyTorchFileReader | BinaryIO,
        module_allowed: Callable[[str], bool] = lambda module_name: True,
    ) -> None:
        self.zip_reader: PyTorchFileReader | DirectoryReader
        self.zip_reader, self.filename = _opened(file_or_buffer)
        self.storages: Any = None  # of the pickle that is being loaded
        self.script_archive: Any = None
        self.extern_modules = self._read_extern()
        for name in self.extern_modules:
            if not module_allowed(name):
                raise ImportError(
                    f"package '{file_or_buffer}' needs the external module '{name}' but that module has been "
                    "disallowed"
                )
        self._mangler = PackageMangler()
        self._sources: dict[str, tuple[str, bool]] = {}  # module -> (file, whether a package)
        self._folders: set[str] = set()  # packages, with or without a file of their own
        for name in self.extern_modules:
            self._add_folders(name)
        for file in self.zip_reader.get_all_records():
            self._add_file(file)
        self.modules: dict[str, types.ModuleType] = {"torch_package_importer": self}  # type: ignore[dict-item]
        self._builtins = {**vars(builtins), "__import__": self.__import__}

    def _read_extern(self) -> list[str]:
        record = ".data/extern_modules"
        return (
            self.zip_reader.get_record(record).decode().splitlines(keepends=False)
            if self.zip_reader.has_record(record)
            else []
        )

    def _add_folders(self, module: str) -> None:
        parts = module.split(".")[:-1]
        self._folders.update(".".join(parts[: i + 1]) for i in range(len(parts)))

    def _add_file(self, file: str) -> None:
        *folders, last = file.split("/")
        if folders[:1] == [".data"] or (last == file and not last.endswith(".py")):
            return
        package, stem = ".".join(folders), last.removesuffix(".py")
        if self._is_extern(package):
            raise ImportError(f"inconsistent module structure. package {package} is not found in the archive")
        if folders:
            self._add_folders(f"{package}.{stem}")
        if last == "__init__.py":
            self._sources[package] = file, True
        elif stem != last:
            self._sources[f"{package}.{stem}".lstrip(".")] = file, False

    def _is_extern(self, name: str) -> bool:
        """Whether a module, or a package that it lies in, is external."""
        parts = name.split(".")
        return any(".".join(parts[: i + 1]) in self.extern_modules for i in range(len(parts)))

    # --- modules ------------------------------------------------------------------------------------

    def import_module(self, name: str, package: Any = None) -> types.ModuleType:
        """The module of this name: the package's own, or an external one.

        Raises ModuleNotFoundError for what is neither.
        """
        return self._import(self._mangler.demangle(name))

    def _import(self, name: str) -> types.ModuleType:
        _sanity_check(name, None, 0)
        found = self.modules.get(name)
        if found is None:
            return self._load(name)
        return found

    def _load(self, name: str) -> types.ModuleType:
        parent, _, last = name.rpartition(".")
        ours = name in self._sources or name in self._folders
        if self._is_extern(name) or (name in IMPLICIT_IMPORT_ALLOWLIST and not ours):
            module = sys_importer.import_module(name)
            if parent and parent in self._folders and not self._is_extern(parent):
                setattr(self._import(parent), last, module)
            return self._keep(name, module)
        if parent:
            above = self._import(parent)
            if name in self.modules:  # the package has imported it
                return self.modules[name]
            if not hasattr(above, "__path__"):
                raise ModuleNotFoundError(f"No module named {name!r}; {parent!r} is not a package", name=name)
        if not ours:
            raise ModuleNotFoundError(
                f'No module named "{name}" in self-contained archive "{self.filename}" and the module is '
                f"also not in the list of allowed external modules: {self.extern_modules}",
                name=name,
            )
        return self._make(name)

    def _keep(self, name: str, module: types.ModuleType) -> types.ModuleType:
        self.modules[name] = module
        return module

    def _make(self, name: str) -> types.ModuleType:
        """Run a module of the package."""
        file, is_package = self._sources.get(name, (None, True))
        shown = None if file is None else self._mangler.mangle(file)
        spec = importlib.machinery.ModuleSpec(name, self, origin="<package_importer>", is_package=is_package)  # type: ignore[arg-type]
        module = importlib.util.module_from_spec(spec)
        names = module.__dict__
        # The module's own name has the package's mark: classes of it are told apart from those outside.
        own = names["__name__"] = self._mangler.mangle(name)
        names["__package__"] = (
            own if is_package else self._mangler.mangle(name.rpartition(".")[0]) if "." in name else ""
        )
        names.update(__file__=shown, __cached__=None, __builtins__=self._builtins, __torch_package__=True)
        self.modules[name] = module
        _loaded[own] = module
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(self._import(parent), last, module)
        if shown is not None:
            try:
                exec(self._code(file, shown), names)  # type: ignore[arg-type]
            except BaseException:
                del self.modules[name], _loaded[own]
                raise
        return self.modules[name]

    def create_module(self, spec: Any) -> None:
        """A part of the interface of loaders: modules are made in the ordinary way."""

    def exec_module(self, module: types.ModuleType) -> None:
        """A part of the interface of loaders: modules have run when they are handed out."""

    def _code(self, file: str, shown: str) -> types.CodeType:
        text = _normalize_line_endings(self.zip_reader.get_record(file)).decode()
        linecache.cache[shown] = (len(text), None, text.splitlines(keepends=True), shown)
        return compile(text, shown, "exec", dont_inherit=True)

    def __import__(
        self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> types.ModuleType:
        """What `import` and `from ... import` in the package's modules call."""
        if level:
            package = _calc___package__(globals or {})
            _sanity_check(name, package, level)
            full = self._mangler.demangle(_resolve_name(name, package, level))
        else:
            full = self._mangler.demangle(name)
        module = self._import(full)
        if fromlist:
            self._import_names(module, full, fromlist)
            return module
        if level == 0:
            return self._import(full.partition(".")[0])
        if not name:
            return module
        behind = len(name) - len(name.partition(".")[0])
        return self._import(full[: len(full) - behind])

    def _import_names(self, module: types.ModuleType, full: str, names: Any) -> None:
        """Import those of the names that are modules which nobody has imported."""
        if not hasattr(module, "__path__"):
            return
        for name in names:
            if name == "*":
                self._import_names(module, full, [n for n in getattr(module, "__all__", ()) if n != "*"])
            elif not hasattr(module, name):
                wanted = f"{full}.{name}"
                try:
                    self._import(wanted)
                except ModuleNotFoundError as error:
                    if error.name != wanted:
                        raise

    def get_source(self, module_name: str) -> str:
        """The text of a module of the package."""
        file, _ = self._sources[demangle(module_name)]
        return self.zip_reader.get_record(file).decode()

    def is_package(self, module_name: str) -> bool:
        """Whether a module of the package is a package itself."""
        name = demangle(module_name)
        return self._sources.get(name, ("", name in self._folders))[1]

    def whichmodule(self, obj: Any, name: str) -> str:
        """The name of the module that holds an object, without the package's mark."""
        return self._mangler.demangle(super().whichmodule(obj, name))

    # --- what is no module --------------------------------------------------------------------------

    def load_binary(self, package: str, resource: str) -> bytes:
        """The bytes that `save_binary` saved."""
        return self.zip_reader.get_record(self._path(package, resource))

    def load_text(self, package: str, resource: str, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The text that `save_text` saved."""
        return self.load_binary(package, resource).decode(encoding, errors)

    def load_pickle(self, package: str, resource: str, map_location: Any = None) -> Any:
        """The object that `save_pickle` saved. map_location: as of torch.load."""
        data = self.load_binary(package, resource)
        plan = LoadOptions(map_location, None, False, False, {})
        reader: Any = getattr(self.zip_reader, "_reader", self.zip_reader)
        before, self.storages = self.storages, _Storages(reader, plan, ".data")
        reduced: dict[Any, Any] = {}

        def identified(pid: Any) -> Any:
            kind = pid[0].decode("ascii") if isinstance(pid[0], bytes) else pid[0]
            if kind == "storage":
                _, cls, key, location, count = pid
                return self.storages.load((kind, cls, f"{key}.storage", location, count))
            if kind != "reduce_package":
                raise AssertionError(
                    "Unknown typename for persistent_load, expected 'storage' or 'reduce_package' but got "
                    f"'{kind}'"
                )
            _, number, function, args = pid
            if number not in reduced:
                reduced[number] = function(self, *args)
            return reduced[number]

        try:
            return PackageUnpickler(self, io.BytesIO(data), identified).load()
        finally:
            self.storages = before

    def id(self) -> str:
        """The mark of this importer's modules, which no other importer of the process has."""
        return self._mangler.parent_name()

    def file_structure(self, *, include: GlobPattern = "**", exclude: GlobPattern = ()) -> Directory:
        """The package's files that match a pattern, as a tree to print."""
        return _create_directory_from_file_list(
            self.filename, self.zip_reader.get_all_records(), include, exclude
        )

    def python_version(self) -> str | None:
        """The version of Python that wrote the package; None where it does not say."""
        record = ".data/python_version"
        return (
            self.zip_reader.get_record(record).decode().strip()
            if self.zip_reader.has_record(record)
            else None
        )

    def get_resource_reader(self, fullname: str) -> _PackageResourceReader | None:
        """The files of a package, for importlib.resources; None where there is no such package."""
        name = demangle(fullname)
        if name not in self._folders or self._is_extern(name):
            return None
        return _PackageResourceReader(self, name)

    def _path(self, package: str, resource: str = "") -> str:
        folder = self._mangler.demangle(package).replace(".", "/")
        return f"{folder}/{_normalize_path(resource)}" if resource else folder


class _PackageResourceReader:
    """Files beside a package's modules."""

    def __init__(self, importer: PackageImporter, fullname: str) -> None:
        self.importer, self.fullname = importer, fullname

    def open_resource(self, resource: str) -> io.BytesIO:
        """A file, open for reading; FileNotFoundError where there is none."""
        if not self.is_resource(resource):
            raise FileNotFoundError(resource)
        return io.BytesIO(self.importer.load_binary(self.fullname, resource))

    def resource_path(self, resource: str) -> str:
        """Where a file lies on the disk; FileNotFoundError where it lies in an archive."""
        reader = self.importer.zip_reader
        if isinstance(reader, DirectoryReader):
            return os.path.join(reader.directory, self.importer._path(self.fullname, resource))
        raise FileNotFoundError(resource)

    def is_resource(self, name: str) -> bool:
        """Whether there is such a file."""
        return self.importer.zip_reader.has_record(self.importer._path(self.fullname, name))

    def contents(self) -> list[str]:
        """The names of files and folders in this one."""
        top = self.importer._path(self.fullname) + "/"
        records = self.importer.zip_reader.get_all_records()
        return [*dict.fromkeys(r[len(top) :].split("/")[0] for r in records if r.startswith(top))]


def _opened(f: Any) -> tuple[PyTorchFileReader | DirectoryReader, str]:
    """A reader of records, and what messages call the file."""
    if isinstance(f, PyTorchFileReader):
        return f, "<pytorch_file_reader>"
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        return (DirectoryReader(path) if os.path.isdir(path) else PyTorchFileReader(path)), path
    return PyTorchFileReader(f), "<binary>"


# All packages' modules, by their names with marks: Python's inspect looks for classes' modules by name.
_loaded: weakref.WeakValueDictionary[str, types.ModuleType] = weakref.WeakValueDictionary()
_getfile = inspect.getfile


def _getfile_of_packages(found: Any) -> str:
    """inspect.getfile, which knows packages' classes too."""
    module = _loaded.get(found.__module__) if inspect.isclass(found) else None
    return _getfile(found) if module is None else str(module.__file__)


setattr(inspect, "getfile", _getfile_of_packages)

__all__ = ["PackageImporter"]
