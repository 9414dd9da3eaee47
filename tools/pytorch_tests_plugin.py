"""The pytest plugin of tools/pytorch_tests.py: it runs inside both sides' processes.

It chooses the tests, writes each outcome as a line of JSON when the test ends, and ends a test that takes too
long. What the environment says (the runner sets it):

    RUNNER_LOG       file of outcomes; tests that it tells already are not run again
    RUNNER_CHOSEN    file of test ids, one a line: only these run
    RUNNER_DRAW      or JSON: where to begin, how many to draw, a text that ids contain, patterns of ids that
                     are left out
    RUNNER_HELPERS   the installed PyTorch's folder torch/testing
    RUNNER_LIMIT     seconds for one test

The tests' helpers, torch.testing._internal, are the installed PyTorch's, read from where they lie. They
import names that no program uses. What Rushlight lacks of these is stood in for while they are imported:
found in their import statements, or listed in pytorch_tests_standins.tsv where they are mentioned otherwise.
A name that is there is never stood in for, and a test file's own imports never are.
"""

from __future__ import annotations

import ast
import faulthandler
import importlib
import json
import os
import signal
import sys
import types
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from pytorch_tests_draw import draw

LIMIT = int(os.environ.get("RUNNER_LIMIT", "60"))
HELPERS = os.environ["RUNNER_HELPERS"]
STANDINS = Path(__file__).with_name("pytorch_tests_standins.tsv")
_ASKED_FOR = ("parametrize_fn", "_pytestfixturefunction")  # by decorators and pytest, of anything
supplied: list[str] = []  # "module:name" or "module", in the order in which they were missed


# --- standing in --------------------------------------------------------------------------------


class StandIn:
    """Answers to everything, and is false: a name of which nothing is known."""

    def __init__(self, name: str) -> None:
        self.__dict__["_standin_name"] = name

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return ()
        if name.startswith("__") or name in _ASKED_FOR:
            raise AttributeError(name)
        return StandIn(f"{self._standin_name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As a decorator it leaves what it is put on."""
        if len(args) == 1 and not kwargs and isinstance(args[0], (type, FunctionType)):
            return args[0]
        return StandIn(f"{self._standin_name}()")

    def __bool__(self) -> bool:
        return False

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __enter__(self) -> StandIn:
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def __or__(self, other: Any) -> Any:
        return other

    __ror__ = __or__

    def __repr__(self) -> str:
        return f"<stand-in for {self._standin_name}>"


class PassThrough(StandIn):
    """A decorator of the older helpers that the installed ones lack, with arguments or without."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and callable(args[0]):
            return args[0]
        return lambda decorated: decorated


class StandInModule(ModuleType):
    """A module of which nothing is known."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return ()
        if name.startswith("__") or name in _ASKED_FOR:
            raise AttributeError(name)
        return _stand_in(self.__name__, name)


def _itself(cls: type, item: Any) -> type:
    """What a class is in an annotation with a parameter."""
    return cls


def _stand_in(module: str, name: str) -> Any:
    """What is put for a missing name: an empty class for the name of a class, else what answers to all."""
    if name.lstrip("_")[:1].isupper() and not name.isupper():
        return type(name, (), {"__module__": module, "__class_getitem__": classmethod(_itself)})
    return StandIn(f"{module}.{name}")


def _module(name: str) -> ModuleType:
    """The module, or one that stands in for it, under both packages' names."""
    from rushlight._engine.names.placeholders import is_absent, names

    try:
        found = importlib.import_module(name)
        if is_absent(found):  # it would refuse names that it does not know
            for alias, mark in names(name.removeprefix("torch.")).items():
                if mark.startswith(">"):  # another name of what is there
                    setattr(found, alias, getattr(found, alias))
            found.__class__ = StandInModule
        return found
    except ModuleNotFoundError:
        pass
    parent, _, last = name.rpartition(".")
    made = StandInModule(name)
    sys.modules[name] = made
    if parent:
        above = _module(parent)
        sys.modules["rushlight" + name.removeprefix("torch")] = made
        if not hasattr(above, last):
            setattr(above, last, made)
    supplied.append(name)
    return made


def _supply(module: str, name: str) -> None:
    """See that `from module import name` will find something."""
    holder = _module(module)
    if isinstance(holder, StandInModule) or _there(holder, name):
        return
    try:
        importlib.import_module(f"{module}.{name}")
    except ImportError:  # not there, or only there to be imported: helpers call it, as they are imported
        setattr(holder, name, _stand_in(module, name))
        supplied.append(f"{module}:{name}")


def _there(holder: ModuleType, name: str) -> bool:
    """Whether a module has a name that is more than a name."""
    if isinstance(holder, StandInModule):
        return name in vars(holder)
    from rushlight._engine.names.placeholders import is_absent

    return hasattr(holder, name) and not is_absent(getattr(holder, name))


def _is_torch(name: str | None) -> bool:
    # Helpers import each other in an order that works.
    return (
        name is not None
        and name.partition(".")[0] in ("torch", "torchgen", "functorch")
        and (not name.startswith("torch.testing._internal"))
    )


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that importing runs: all but those of functions and for type checkers."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, part, None) or [])
        for handler in getattr(statement, "handlers", ()):
            yield from _statements(handler.body)


def supply_imports(source: str, package: str = "") -> None:
    """See that all that a helper imports from torch is there to be imported.

    package: what its relative imports start from, where these are no helpers (torch._dynamo).
    """
    for statement in _statements(ast.parse(source).body):
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if _is_torch(alias.name):
                    _module(alias.name)
        elif isinstance(statement, ast.ImportFrom):
            above = package if statement.level == 1 else ""
            module = ".".join(filter(None, (above, statement.module)))
            if (statement.level and not above) or not _is_torch(module):
                continue
            for alias in statement.names:
                if alias.name != "*":
                    _supply(module, alias.name)


class _HelperLoader(SourceFileLoader):
    """Loads a helper once what it imports is there."""

    def exec_module(self, module: ModuleType) -> None:
        beside = "torch._dynamo" if module.__name__ in _BESIDE else ""
        supply_imports(self.get_data(self.path).decode(), beside)
        super().exec_module(module)


_BESIDE = ("rushlight._dynamo.testing", "rushlight._dynamo.test_case")  # helpers outside torch/testing


class _HelperFinder:
    """Finds rushlight.testing._x in the installed PyTorch's folder."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name in _BESIDE:
            file = str(Path(HELPERS).parent / "_dynamo" / f"{name.rpartition('.')[2]}.py")
            return spec_from_file_location(name, file, loader=_HelperLoader(name, file))
        if name.partition(".")[0] == "torchgen":  # lies beside torch, and imports nothing of it
            return PathFinder.find_spec(name, path or [str(Path(HELPERS).parents[1])])
        if not name.startswith("rushlight.testing._"):
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.origin is not None and spec.origin.startswith(HELPERS):
            spec.loader = _HelperLoader(name, spec.origin)
        return spec


def _listed() -> Iterator[tuple[str, str, str]]:
    """The rows of the table: a module, a name in it (with dots), an expression or ""."""
    for line in STANDINS.read_text().splitlines():
        if line and not line.startswith("#"):
            place, _, expression = line.partition("\t")
            module, _, name = place.partition(":")
            yield module, name, expression.strip()


def install() -> None:
    """Make the helpers importable on Rushlight."""
    import torch

    sys.meta_path.insert(0, _HelperFinder())
    testing = importlib.import_module("torch.testing")
    testing.__path__ = [HELPERS, *testing.__path__]  # whose _internal is whole, before what is here of it
    for module, name, expression in _listed():
        if not name and expression:  # a helper's module, with these contents instead of its own
            made = sys.modules[module] = sys.modules["rushlight" + module[5:]] = ModuleType(module)
            made.__dict__.update(eval(expression))
            continue
        holder: Any = _module(module)
        *way, last = name.split(".")
        for part in way:
            holder = getattr(holder, part)
        if last and not _there(holder, last):
            value = eval(expression, {"torch": torch}) if expression else _stand_in(module, name)
            setattr(holder, last, value)
            supplied.append(f"{module}:{name}")
    _skip_test_library()


def _skip_test_library() -> None:
    """Let set-ups load the library of C++ classes that a few tests use."""
    ops = importlib.import_module("rushlight.ops")
    refused = ops.load_library

    def load_library(path: str) -> None:
        if Path(path).name == "libtorchbind_test.so":
            declare_test_library()
        else:
            refused(path)

    setattr(ops, "load_library", load_library)


def declare_test_library() -> None:
    """Declare the ops of the library of C++ classes, which set-ups ask for: they do nothing, and there are no
    classes, so that the tests which call them or make its objects fail by themselves.
    """
    if _TEST_LIBRARY:
        return
    own = importlib.import_module("rushlight.library").Library("_TorchScriptTesting", "FRAGMENT")
    for name, of, rest in _TEST_OPS:
        own.define(f"{name}(__torch__.torch.classes._TorchScriptTesting.{of} {rest}")
    _TEST_LIBRARY.append(own)


_TEST_LIBRARY: list[Any] = []  # once it is loaded
_TEST_OPS = (  # name, class of the first argument, the rest of the schema
    ("queue_push", "_TensorQueue", "foo, Tensor x) -> ()"),
    ("queue_pop", "_TensorQueue", "foo) -> Tensor"),
    ("queue_size", "_TensorQueue", "foo) -> int"),
    ("take_an_instance", "_PickleTester", "x) -> Tensor Y"),
    ("take_an_instance_inferred", "_PickleTester", "_0) -> Tensor _0"),
    ("takes_foo", "_Foo", "foo, Tensor x) -> Tensor"),
    ("takes_foo_cia", "_Foo", "foo, Tensor x) -> Tensor"),
    ("takes_foo_list_return", "_Foo", "foo, Tensor x) -> Tensor[]"),
    ("takes_foo_tuple_return", "_Foo", "foo, Tensor x) -> (Tensor, Tensor)"),
    ("takes_foo_tensor_return", "_Foo", "foo, Tensor x) -> Tensor"),
    ("takes_foo_python_meta", "_Foo", "foo, Tensor x) -> Tensor"),
)


def supply_older(source: str) -> None:
    """Decorators and helpers that an older test file imports and the installed helpers lack pass through."""
    for statement in ast.walk(ast.parse(source)):
        if isinstance(statement, ast.ImportFrom) and str(statement.module).startswith("torch.testing._int"):
            try:
                holder = importlib.import_module(str(statement.module))
            except ModuleNotFoundError:
                continue
            for alias in statement.names:
                if alias.name == "*" or hasattr(holder, alias.name):
                    continue
                try:
                    importlib.import_module(f"{statement.module}.{alias.name}")
                except ModuleNotFoundError:
                    setattr(holder, alias.name, PassThrough(alias.name))


# Modules that older test files import and PyTorch 2.13 has no more.
_GONE = ("torch.distributed._spmd", "torch.distributed._spmd.comm_tensor")


class _OlderLoader(SourceFileLoader):
    """Loads a module of the tests once what it imports of the helpers is there."""

    def exec_module(self, module: ModuleType) -> None:
        source = self.get_data(self.path).decode()
        supply_older(source)
        super().exec_module(module)
        if "rushlight" in sys.modules and ".op, types.BuiltinFunctionType" in source:
            setattr(module, "types", _types_of_ops())


def _types_of_ops() -> ModuleType:
    """`types` of tests that run for compiled ops only: here these are functions of Python."""
    made = ModuleType("types")
    made.__dict__.update(vars(types), BuiltinFunctionType=(types.BuiltinFunctionType, FunctionType))
    return made


class _OlderFinder:
    """Finds modules that lie beside a test file."""

    folder = ""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.origin is None or not spec.origin.startswith(cls.folder):
            return None
        if isinstance(spec.loader, SourceFileLoader):
            spec.loader = _OlderLoader(name, spec.origin)
        return spec


# --- running ------------------------------------------------------------------------------------


class Outcomes:
    """The file of outcomes: a line {"begun": id} when a test starts, {"test": id, ...} at its end."""

    def __init__(self, path: Path) -> None:
        known = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        self.done = {told["test"] for told in known if "test" in told}
        self.running: dict[str, dict[str, Any]] = {}
        self._file = path.open("a", buffering=1)

    def write(self, **told: Any) -> None:
        """Append one line."""
        self._file.write(json.dumps(told) + "\n")

    def hear(self, test: str, report: pytest.TestReport) -> None:
        """Add one phase of a test (setup, call, teardown) to what is known of it."""
        told = self.running.setdefault(test, {"outcome": "passed", "message": "", "seconds": 0.0})
        told["seconds"] = round(told["seconds"] + report.duration, 3)
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            message = crash.message if crash else str(report.longrepr)[-600:]
            told.update(outcome="failed", message=message[:1500], trace=str(report.longrepr)[-3000:])
        elif report.skipped and told["outcome"] == "passed":
            told["outcome"] = "xfailed" if hasattr(report, "wasxfail") else "skipped"
            told["message"] = f"{told['outcome']}: {str(report.longrepr)[-200:]}"
        if report.when == "teardown":
            self.write(test=test, **self.running.pop(test))


outcomes = Outcomes(Path(os.environ["RUNNER_LOG"]))
faulthandler.enable()


class TookTooLong(Exception):
    """A test ran past its limit."""


def _stop(number: int, frame: Any) -> None:
    raise TookTooLong(f"the test took more than {LIMIT} seconds")


def _id(nodeid: str) -> str:
    return nodeid.partition("::")[2]


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: Any) -> None:
    """Before a test file is imported; pytest also asks for the files beside it, which it then leaves out."""
    if str(module_path) not in parent.config.args:
        return
    _OlderFinder.folder = f"{module_path.parent}{os.sep}"
    if _OlderFinder not in sys.meta_path:
        sys.meta_path.insert(0, _OlderFinder)
    for finder in [f for f in sys.meta_path if type(f).__name__ == "AssertionRewritingHook"]:
        sys.meta_path.remove(finder)  # it would take helpers that are called *_test.py
        sys.meta_path.insert(sys.meta_path.index(PathFinder), finder)
    for name in _GONE:
        module = StandInModule(name)
        sys.modules[name] = sys.modules["rushlight" + name.removeprefix("torch")] = module
    supply_older(module_path.read_text())


def _fork_ranks() -> None:
    """Let tests of several processes fork them: spawned, each rank imports PyTorch and the helpers anew.

    That alone takes longer than the limit of a test, where four ranks share two cores.
    """
    helper = sys.modules.get("torch.testing._internal.common_distributed")
    if helper is None:
        return
    multiprocessing = importlib.import_module("torch.multiprocessing")
    distributed = importlib.import_module("torch.distributed")

    def _spawn_processes(self: Any) -> None:
        if distributed.is_initialized():  # a test of one process left its group
            distributed.destroy_process_group()
        self._start_processes(multiprocessing.get_context("fork").Process)

    setattr(vars(helper)["MultiProcessTestCase"], "_spawn_processes", _spawn_processes)


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Keep the chosen tests whose outcome is not known yet."""
    _fork_ranks()
    collected = [_id(item.nodeid) for item in items]
    if "RUNNER_DRAW" in os.environ:
        chosen = set(draw(collected, *json.loads(os.environ["RUNNER_DRAW"])))
        outcomes.write(collected=collected)
    else:
        chosen = set(Path(os.environ["RUNNER_CHOSEN"]).read_text().split("\n")) - {""}
        for test in sorted(chosen - set(collected) - outcomes.done):
            outcomes.write(test=test, outcome="not collected", message="not collected", seconds=0.0)
    chosen -= outcomes.done
    wanted = [item for item in items if _id(item.nodeid) in chosen]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(wanted)])
    items[:] = wanted
    outcomes.write(supplied=supplied)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: Any) -> Iterator[None]:
    """One test, with its limit: an exception first, the end of the process if that is not heard."""
    outcomes.write(begun=_id(item.nodeid))
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(LIMIT)
    faulthandler.dump_traceback_later(2 * LIMIT + 10, exit=True)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A phase of a test has ended."""
    outcomes.hear(_id(report.nodeid), report)


if "rushlight" in sys.modules:
    install()
