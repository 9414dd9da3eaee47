"""Running PyTorch programs as they are: `import torch` gives Rushlight.

One finder makes every torch.x.y the very module rushlight.x.y, and torchvision.x.y the module
rushlight_vision.x.y. `install_as_torch()` puts it in place in this process and in the Python processes that
it starts; the package `torch` that standin.py writes into an environment, in every process of that
environment. `python -m rushlight` does the former and then runs a program the way Python itself would: same
arguments, same `__main__`, same tracebacks, same exit status.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from importlib.machinery import (
    BuiltinImporter,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)
from importlib.util import find_spec
from types import ModuleType, TracebackType
from typing import Any

from rushlight._engine.core.callers import warn
from rushlight._engine.names.alternatives import explain, not_found, place

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
# On the path of child processes: packages and distributions named torch and torchvision.
STAND_IN = os.path.join(_PACKAGE, "as_torch")

USAGE = """\
usage: python -m rushlight PROGRAM [ARGUMENT ...]      run a PyTorch program on Rushlight
       python -m rushlight -m MODULE [ARGUMENT ...]    run a module
       python -m rushlight -c CODE [ARGUMENT ...]      run code given as text
       python -m rushlight - [ARGUMENT ...]            run code from the standard input
       python -m rushlight --install-as-torch [torchvision]    make `import torch` Rushlight in this whole
                                                       environment, for pip and for every program in it
       python -m rushlight --uninstall-as-torch        take that back
       python -m rushlight --as-torch-status           what `torch` is in this environment
       python -m rushlight --info                      what to add to a report of a problem
Give options of the interpreter to Python itself: python -O -m rushlight PROGRAM
"""


# --- import torch -------------------------------------------------------------------------------


def install_as_torch() -> None:
    """Make `import torch`, here and in Python processes started from here, mean Rushlight.

    It wins over an installed PyTorch. Raises RuntimeError where that has already been imported.
    """
    present = sys.modules.get("torch")
    if present is not None and present is not import_module("rushlight"):
        raise RuntimeError(
            "install_as_torch: expected to run before the first `import torch`, but torch is already "
            f"imported from {getattr(present, '__file__', '?')}; call it at the start of the program"
        )
    find_torch(distributions=True)
    _reach_children()


# What importing PyTorch loads of Python's own library: programs name it by its packages alone.
_LOADED = {
    "concurrent": ("futures",),
    "email": ("charset", "encoders", "errors", "header", "message", "parser", "utils"),
    "http": ("client",),
    "importlib": ("abc", "metadata", "resources"),
    "multiprocessing": ("connection", "resource_tracker", "spawn", "util"),
    "urllib": ("error", "parse", "request", "response"),
}


def _lend(package: str) -> None:
    """Have these submodules of a package imported where a program first names one in it."""
    sys.modules[package].__dict__.setdefault("__getattr__", partial(_lent, package, _LOADED[package]))


def _lent(package: str, names: tuple[str, ...], name: str) -> ModuleType:
    if name not in names:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    return import_module(f"{package}.{name}")


class _Lender(SourceFileLoader):
    """Loads a package of Python's library that is imported after torch."""

    def exec_module(self, module: ModuleType) -> None:
        """Run it."""
        super().exec_module(module)
        _lend(module.__name__)


def _lending(name: str) -> ModuleSpec | None:
    spec = PathFinder.find_spec(name)
    if spec is not None and type(spec.loader) is SourceFileLoader:
        spec.loader = _Lender(name, spec.loader.path)
    return spec


def find_torch(distributions: bool) -> _TorchFinder:
    """Have every later `import torch.x` find rushlight.x; the finder, first of its kind from now on."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _FINDER.tells_distributions |= distributions
    return _FINDER


def stand_in(name: str, stamp: str, file: str) -> None:
    """What the package `torch` or `torchvision` that standin.py wrote into an environment does: it gives way.

    `stamp` says which Rushlight wrote it; one that another wrote is renewed, where that can be.
    """
    if name == "torchvision" and import_module("torch").__name__ != "rushlight":
        raise ImportError(
            "this torchvision stands for Rushlight's, and torch is PyTorch itself; install "
            "PyTorch's: pip uninstall torchvision, then pip install torchvision",
            name=name,
        )
    del sys.modules[name]
    find_torch(distributions=False)
    sys.modules[name] = import_module(_ROOTS[name])
    # for a stand-in alone
    from rushlight.version import __version__, release

    if stamp != f"{release} {__version__}":
        _renew(name, file)


def _renew(name: str, file: str) -> None:
    # for a stand-in alone
    from rushlight.standin import renew

    try:
        renew(name, file)
    except OSError as error:
        warn(
            f"Rushlight is newer than what tells installers of it as {name} ({file}), which cannot be "
            f"written to: {error}",
            UserWarning,
        )


def _reach_children() -> None:
    """multiprocessing hands its children sys.path, everything else the environment."""
    if STAND_IN not in sys.path:
        sys.path.insert(0 if sys.flags.safe_path else 1, STAND_IN)
    root = os.path.dirname(_PACKAGE)
    if root not in sys.path:
        sys.path.append(root)
    inherited = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    if STAND_IN not in inherited:
        os.environ["PYTHONPATH"] = os.pathsep.join([STAND_IN, *inherited])


# PyTorch has no modules of these names.
_NOT_PYTORCHS = frozenset(("_engine", "_torch_dispatch", "launcher", "as_torch", "__main__", "functorch"))


# The packages that Rushlight stands in for, and their own places in it.
_ROOTS = {"torch": "rushlight", "torchvision": "rushlight_vision", "functorch": "rushlight.functorch"}

# Compiled modules of packages, which need PyTorch's libraries, and what stands in for them.
_COMPILED = {"torchaudio.lib._torchaudio": "rushlight_audio.compiled"}


def _spec(name: str) -> ModuleSpec | None:
    try:
        return find_spec(name)
    except ModuleNotFoundError:
        return None


class _TorchFinder:
    """Finds torch.x.y: it is the module rushlight.x.y by another name; so for torchvision and _COMPILED."""

    # An environment with a stand-in has metadata of its own.
    tells_distributions = False

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The spec of a torch module; None for other modules and for what Rushlight lacks."""
        root = name.partition(".")[0]
        if root not in _ROOTS and name not in _COMPILED:
            return _lending(name) if name in _LOADED and "torch" in sys.modules else None
        if name.startswith("torch.") and name.split(".", 2)[1] in _NOT_PYTORCHS:
            # Not None: the next finder would look into our folder, and load the module once more.
            raise not_found(name)
        other = place(name[6:]) if root == "torch" else _COMPILED.get(name)
        real, found = other, _spec(other) if other else None
        if found is None and root in _ROOTS:
            real, other = _ROOTS[root] + name[len(root) :], None
            found = _spec(real)
        if found is None or real is None:
            # An import fails here and now, with a note; who only asks whether there is one is told no.
            if sys._getframe(2).f_code.co_name == "_find_and_load_unlocked":
                raise not_found(name)
            return None
        loader: Any = _SameModule(real, found)
        spec = ModuleSpec(name, loader, origin=found.origin)
        # What has another place here may be a package there.
        spec.submodule_search_locations = found.submodule_search_locations or ([] if other else None)
        return spec

    def find_distributions(self, context: Any) -> Iterable[Any]:
        """What importlib.metadata says about torch, for programs that ask for its version."""
        if not self.tells_distributions:
            return ()
        if context.name is not None and context.name.lower() not in _ROOTS:
            return ()
        from importlib.metadata import DistributionFinder, MetadataPathFinder

        here = DistributionFinder.Context(name=context.name, path=[STAND_IN])
        return MetadataPathFinder.find_distributions(here)


_FINDER = _TorchFinder()


class _SameModule:
    """Loads torch.x.y by importing rushlight.x.y, and leaves that module as it is."""

    def __init__(self, real: str, spec: ModuleSpec) -> None:
        self._real, self._spec = real, spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The one module that both names stand for."""
        return import_module(self._real)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to run; but the import system has put our spec over the module's own."""
        module.__spec__ = self._spec
        if self._real == _ROOTS["torch"]:
            module.__name__ = "torch"  # libraries that patch functions look them up from the root's name on
            for package in _LOADED.keys() & sys.modules.keys():
                _lend(package)

    def __getattr__(self, name: str) -> Any:
        # What runpy, inspect and pkgutil ask a loader for; they pass the module's torch name.
        if name.startswith("__") or self._spec.loader is None:
            raise AttributeError(name)
        found = getattr(self._spec.loader, name)
        return lambda fullname=None, *args: found(self._real, *args)


# --- running a program --------------------------------------------------------------------------


def main() -> None:
    """The command `python -m rushlight`; ends as the program does."""
    # Without a program it comes by the standard input, which nobody types it into.
    arguments = sys.argv[1:] or ["--help" if sys.stdin.isatty() else "-"]
    first = arguments[0]
    if first in ("-h", "--help"):
        print(USAGE, end="")
        return
    if first in ("-V", "--version"):
        print(f"Rushlight {import_module('rushlight').__version__}")
        return
    if first == "--info":
        if arguments[1:]:
            print(f"--info takes no arguments, and got {arguments[1]!r}", file=sys.stderr)
            sys.exit(2)
        print(import_module("rushlight.info").report(), end="")
        return
    if first in ("--install-as-torch", "--uninstall-as-torch", "--as-torch-status"):
        # for a stand-in alone
        from rushlight.standin import main as stand_in_main

        sys.exit(stand_in_main(arguments))
    install_as_torch()
    _run(_prepare(first, arguments))


def _prepare(first: str, arguments: list[str]) -> Callable[[], Any]:
    """Set sys.argv and sys.path[0] as Python does; a function that runs the program."""
    if first in ("-c", "-m"):
        if len(arguments) < 2:
            _refuse(f"Argument expected for the {first} option")
        sys.argv[:] = [first, *arguments[2:]]
        # What the interpreter itself calls for -m finds the module and sets sys.argv[0].
        if first == "-m":
            return _by_runpy(os.getcwd(), arguments[1])
        if sys.version_info >= (3, 13):  # from which on Python's tracebacks show lines of -c
            import linecache  # no other start of a program needs it

            lines = arguments[1].splitlines(keepends=True)
            linecache.cache["<string>"] = len(arguments[1]), None, lines, "<string>"
        return _compiled(arguments[1], "<string>")
    sys.argv[:] = arguments
    if first == "-":
        return _compiled(sys.stdin.buffer.read(), "<stdin>")
    if first.startswith("-"):
        _refuse(f"unknown option {first}")
    return _script(first)


def _refuse(message: str) -> None:
    print(f"{message}\n{USAGE}", end="", file=sys.stderr)
    sys.exit(2)


def _set_first_path(path: str) -> None:
    if not sys.flags.safe_path:
        sys.path[0] = path


def _fresh_main(**attributes: Any) -> dict[str, Any]:
    """A new, empty `__main__`; its namespace."""
    main_module = ModuleType("__main__")
    main_module.__dict__.update({"__builtins__": sys.modules["builtins"], **attributes})
    sys.modules["__main__"] = main_module
    return main_module.__dict__


def _compiled(text: str | bytes, name: str) -> Callable[[], Any]:
    _set_first_path("")
    namespace = _fresh_main(__loader__=BuiltinImporter)
    return lambda: exec(compile(text, name, "exec", dont_inherit=True), namespace)


def _by_runpy(folder: str, name: str, *alter_argv: bool) -> Callable[[], Any]:
    run_module: Any = getattr(import_module("runpy"), "_run_module_as_main")  # what `python -m` calls

    _set_first_path(folder)
    _fresh_main()
    return lambda: run_module(name, *alter_argv)


def _script(path: str) -> Callable[[], Any]:
    from pkgutil import get_importer

    full = os.path.join(os.getcwd(), path)
    if os.path.isdir(path) or (os.path.isfile(path) and get_importer(path) is not None):
        # A folder or zip file with a `__main__.py` in it.
        return _by_runpy(os.path.abspath(path), "__main__", False)
    try:
        kind = SourcelessFileLoader if path.endswith(".pyc") else SourceFileLoader
        loader = kind("__main__", full)
        data = loader.get_data(full)
    except OSError as error:
        print(
            f"{sys.executable}: can't open file {full!r}: [Errno {error.errno}] {error.strerror}",
            file=sys.stderr,
        )
        sys.exit(2)
    _set_first_path(os.path.dirname(os.path.realpath(path)))
    namespace = _fresh_main(__file__=full, __cached__=None, __loader__=loader)

    def run() -> None:
        if isinstance(loader, SourcelessFileLoader):
            code: Any = loader.get_code("__main__")
        else:
            code = compile(data, full, "exec", dont_inherit=True)
        exec(code, namespace)

    return run


# --- ending as Python does ----------------------------------------------------------------------


def _run(program: Callable[[], Any]) -> None:
    """Run the program; report what it does not catch without the frames above it."""
    try:
        program()
    except SystemExit:
        raise
    except BaseException as error:
        shown = error.with_traceback(_own_frames(error.__traceback__))
        _explain(shown)
        sys.excepthook(type(shown), shown, shown.__traceback__)
        # Raised again for the exit status and for what Python does at its end; but told already.
        sys.excepthook = lambda *_error: None
        raise


def _own_frames(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame on that is not the launcher's."""
    while trace is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _is_ours(file: str) -> bool:
    return file == __file__ or file == "<frozen runpy>" or os.path.basename(file) == "runpy.py"


def _explain(error: BaseException) -> None:
    """Say why something of torch is not found, and what to use instead: the message alone would puzzle."""
    note = explain(error) if isinstance(error, ImportError) else None
    if note is not None and note not in getattr(error, "__notes__", ()):
        error.add_note(note)
