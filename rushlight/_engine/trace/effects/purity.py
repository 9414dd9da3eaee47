"""Whether a recorded call did anything in Python that a replay would leave out.

Default mode promises that compile() never changes what a program means. While a call is recorded, every
Python function that runs outside of this package is looked at: what its code stores, which C functions it
calls, what it asks of this package. A call that only computes (reads guarded variables, loops, builds lists
of its own) may be replayed; one that prints, counts, draws from `random` or keeps something runs as Python.
"""

from __future__ import annotations

import builtins
import dis
import gc
import inspect
import math
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

from rushlight._engine.core.recording import FOLLOWERS
from rushlight._engine.lazy import names_of
from rushlight._engine.names.built_in import plain
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.effects.contents import MADE_IN_PYTHON
from rushlight._engine.trace.effects.following import following
from rushlight._engine.trace.effects.instructions import Noted, noted, own_dicts
from rushlight._engine.trace.guards import Guards

_PACKAGE = __file__.rpartition("_engine")[0]
_LIBRARIES = (os.path.dirname(np.__file__), os.path.dirname(dis.__file__))
# What kernels are compiled with, which is not loaded before there are some.
_COMPILER = f"{os.sep}llvmlite{os.sep}"
# Of the standard library: functions that store only into what they have just made.
_QUIET = ("/contextlib.py", "/functools.py", "/typing.py", "/abc.py", "/enum.py", "/_collections_abc.py")
# How many instructions of a path are kept one by one.
_MOST_PLACES = 1 << 16
# Whether to stop looking for a while costs little: later Pythons change all code that has run.
_TURNS = sys.version_info < (3, 12)
_BUILTINS = frozenset(
    id(getattr(builtins, name))
    for name in (
        "abs all any callable chr divmod format getattr hasattr hash id isinstance issubclass iter len max "
        "min next ord pow repr round sorted sum __build_class__"
    ).split()
)
# What decides when calls are too deep alone.
_BUILTINS |= {id(sys.getrecursionlimit)}
# Whose answers may differ from call to call though nothing has been done.
_ADDRESSES = (id, hash)
VALUES = (str, bytes, int, float, complex, tuple, frozenset, range, type(None))
_READING = frozenset(
    (
        "get keys values items copy union intersection difference issubset issuperset "
        "__getitem__ __contains__"
    ).split()
)
# What of a Module may be asked without changing it, and what elsewhere changes something or reads what no
# guard looks at.
_OF_MODULES = frozenset(
    (
        "__call__ _call_impl __getattr__ forward parameters named_parameters children named_children modules "
        "named_modules buffers named_buffers zero_grad get_submodule get_parameter _named_members"
    ).split()
)
_WITH_STATE = ("/utils/data/", "/serialize/", "/profiler/", "/utils/tensorboard/")
_CHANGES = ("set_", "register_", "manual_seed", "seed")
_CHANGING = frozenset(
    (
        "requires_grad_ add_param_group load_state_dict share_memory_ retain_grad grad get_last_lr is_leaf "
        "grad_fn output_nr _version _base _is_view storage_offset storage untyped_storage data_ptr "
        "is_inference retains_grad is_shared is_pinned _backward_hooks initial_seed get_state get_rng_state"
    ).split()
)
# Functions without arguments that tell how something stands: what guards compare, or what does not change.
_GUARDED = frozenset(
    (
        "is_grad_enabled is_inference_mode_enabled get_default_dtype get_default_device is_autocast_enabled "
        "is_autocast_cpu_enabled is_any_autocast_enabled are_deterministic_algorithms_enabled "
        "is_compiling is_dynamo_compiling is_exporting is_scripting is_tracing is_available device_count "
        "is_gloo_available is_mpi_available is_nccl_available is_ucc_available is_xccl_available"
    ).split()
)
# By file and name, those that tell whether a variable of an object there is None: the object, the variable.
_TELLS_OF_NONE = {("distributed/groups.py", "is_initialized"): ("world", "default")}
_ANSWERS = (bool, int, float, str)
_ALL_ARGUMENTS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_LAYERS = f"{os.sep}nn{os.sep}"
_COMPREHENSIONS = ("<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>")


class Path:
    """Which functions and instructions ran, in order: `said` is equal for equal paths."""

    def __init__(self) -> None:
        self._latest: list[int] = []
        self._before = 0
        self.note = self._latest.append

    def begins(self) -> None:
        """Between instructions: what is known of the path so far takes little memory."""
        if len(self._latest) > _MOST_PLACES:
            self._before = self.said
            self._latest.clear()

    @property
    def said(self) -> int:
        """A digest of the path."""
        return hash((self._before, *self._latest))


def _called(function: Any) -> int:
    """A function of C's on the path: by its name, as those of an object are made as they are asked for."""
    return hash((getattr(function, "__module__", None), getattr(function, "__qualname__", None)))


def _keeps_all_in_dict(held: Any) -> bool:
    """Whether storing an attribute of an object is to store it into its dict: its classes are written in
    Python, and what they make of it else is Python that is seen to run.
    """
    cls: Any = type(held)
    own = cls.__mro__[:-1]
    return bool(
        cls.__setattr__ is object.__setattr__
        and all([c.__flags__ & MADE_IN_PYTHON and not vars(c).get("__slots__") for c in own])
    )


class Watch:
    """What a call did: `found` is the first thing that a replay would leave out, "" if there is none.

    follows: each instruction is looked at as it runs; else the code of each function is, whole.
    known: the path of a call that did nothing beside; of this one only the path is looked at, then.
    """

    def __init__(self, guards: Guards, known: int | None = None) -> None:
        self.found, self.follows = "", True
        self.path, self.known = Path(), known
        self.profiler = self if known is None else self._passes
        # Whether a second record may tell what none can see.
        self.unsure = False
        self.guards = guards
        # Of what ran, by its code: the names of its module.
        self._scanned: dict[CodeType, dict[str, Any]] = {f.__code__: f.__globals__ for f in guards.functions}
        # Codes with the identities of enclosing functions' variables that they were seen with.
        self._enclosed: set[tuple[Any, ...]] = set()
        # Objects whose attributes are stored, with what these were, and where that was first.
        self._stored_to: dict[int, tuple[Any, dict[str, Any], CodeType, int]] = {}
        # Context variables that are asked for or set, and what they were.
        self._variables: dict[ContextVar[Any], Any] = {}
        # Of this package's layers.
        self._inside: set[CodeType] = set()
        # Code that has been seen, by its id: this package's, and other (held, so that none takes its place).
        self.engine: dict[int, CodeType] = {}
        self._others: dict[int, CodeType] = {}
        # Whether it looks away for a while, and who follows instructions else.
        self._thread, self.rests, self._tracer = threading.get_ident(), False, sys.gettrace()

    def __call__(self, frame: Any, event: str, arg: Any) -> None:
        code = frame.f_code
        if event != "call" and event != "return" and self._is_engine(code):
            return
        if event == "return" and not self.found and isinstance(arg, _ANSWERS) and arg is not None:
            self._answers(frame)
        if self.found or event not in ("call", "c_call") or _for_us(frame):
            return
        if _ours(code.co_filename):
            if _LAYERS in code.co_filename:
                self._inside.add(code)
            if event == "call" and frame.f_back is not None and not _ours(frame.f_back.f_code.co_filename):
                self._asked(code, frame.f_back)
        elif event == "c_call":
            self.path.note(_called(arg))
            if not (self._harmless(arg) or is_own_dict(frame, getattr(arg, "__self__", None))):
                self._note(f"{getattr(arg, '__qualname__', arg)}() is called", code, frame.f_lineno)
        elif code not in self._scanned:
            self._scanned[code] = frame.f_globals
            if self.follows:
                self._enclosing(frame)
            else:
                self.guards.globals_of(code, frame.f_globals)
                self._scan(code)
        elif self.follows and code.co_freevars and not self._made_here(code):
            self._enclosing(frame)  # of another function, perhaps, that has the same code

    def _passes(self, frame: Any, event: str, arg: Any) -> None:
        """What a call on a known path calls that is written in C: one of several, perhaps, by a size."""
        if event != "c_call" or self._is_engine(frame.f_code):
            return
        if not (_for_us(frame) or _ours(frame.f_code.co_filename)):
            self.path.note(_called(arg))

    def _is_engine(self, code: CodeType) -> bool:
        """Whether a function is this package's."""
        key = id(code)
        if key in self.engine:
            return True
        if key not in self._others:
            (self.engine if _ours(code.co_filename) else self._others)[key] = code
        return key in self.engine

    def aside(self, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """call(*args, **kwargs), which does nothing that is to be looked at: nobody looks meanwhile."""
        if self.rests or threading.get_ident() != self._thread:
            return call(*args, **kwargs)
        self.rests, self._tracer = True, sys.gettrace()
        sys.settrace(None)
        sys.setprofile(None)
        try:
            return call(*args, **kwargs)
        finally:
            self.resume()

    def resume(self) -> None:
        """Look again."""
        if self.rests and threading.get_ident() == self._thread:
            self.rests = False
            sys.settrace(self._tracer)
            sys.setprofile(self.profiler)

    def _answers(self, frame: Any) -> None:
        """A function of this package tells its caller how something stands that is no argument's."""
        code, caller = frame.f_code, frame.f_back
        if (
            code.co_flags & _ALL_ARGUMENTS == code.co_argcount == code.co_kwonlyargcount == 0
            and code.co_name not in _GUARDED
            and _ours(code.co_filename)
            and not (code.co_filename.endswith(_QUIET) or caller is None or _ours(caller.f_code.co_filename))
            and not self._told_of_none(frame)
        ):
            self._note(f"{code.co_name} is asked for", caller.f_code, caller.f_lineno)

    def _told_of_none(self, frame: Any) -> bool:
        """Whether a function tells of a variable that is None, and is guarded to stay it."""
        code = frame.f_code
        for (file, name), (holder, variable) in _TELLS_OF_NONE.items():
            if code.co_name == name and code.co_filename.replace(os.sep, "/").endswith(file):
                variables = vars(frame.f_globals[holder])
                if variables[variable] is None:
                    self.guards.use(variables, variable, ())
                    return True
        return False

    def tell(self) -> None:
        """Tell the guards which functions ran that were there before, and what is read by name."""
        if self.found:
            return
        for variable, value in self._variables.items():
            if variable.get(Unknown) is not value:
                self.found = f"the context variable {variable.name!r} is set: a replay would leave that out"
            self.guards.context(variable)
        for held, before, code, line in self._stored_to.values():
            now = vars(held)
            if now.keys() != before.keys() or any(now[name] is not value for name, value in before.items()):
                self._note("an attribute is stored", code, line)
        if not self.follows:
            self.guards.seen += self.guards.modules
        inside, made = set[str](), set[CodeType]()
        for code in self._inside:
            inside |= _mentioned(code)
        functional = names_of(sys.modules.get("rushlight.nn.functional", math))
        for name in inside & functional.keys():
            self.guards.use(functional, name, ())
        for code in self._scanned:
            made.update([c for c in code.co_consts if isinstance(c, CodeType)])
        young = set(map(id, gc.get_objects(0)))
        named = {code: _named(code, names) for code, names in self._scanned.items()}
        sought = [code for code, function in named.items() if function is None]
        # The others' functions the collector finds among all objects; that takes as long as there are many.
        holders = [*filter(None, named.values()), *(gc.get_referrers(*sought) if sought else ())]
        ran = [
            f
            for f in holders
            if type(f) is FunctionType and f.__code__ in self._scanned and id(f) not in young
        ]
        lost = self._scanned.keys() - {f.__code__ for f in ran} - made
        if lost:
            code = lost.pop()
            self._note(f"{code.co_name}, a function that nobody holds, runs", code, code.co_firstlineno)
        self.guards.run(ran, set().union(*map(_mentioned, self._scanned)))

    def _asked(self, code: CodeType, caller: Any) -> None:
        name, module = code.co_name, code.co_filename.endswith("nn/modules/module.py")
        if (
            name in _CHANGING
            or name.startswith(_CHANGES)
            or (module and name not in _OF_MODULES)
            or any(folder in code.co_filename for folder in _WITH_STATE)
        ):
            self._note(f"{name} is asked for", caller.f_code, caller.f_lineno)

    def _harmless(self, function: Any) -> bool:
        self.unsure = self.unsure or function in _ADDRESSES
        if id(function) in _BUILTINS or plain(function) is not function:  # what is behind is seen itself
            return True
        holder, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
        if type(holder) is ContextVar:  # set for a while, as is seen in the end
            self._variables.setdefault(holder, holder.get(Unknown))
            return True
        if isinstance(holder, np.ufunc):  # np.prod(shape)
            return name != "at"
        if isinstance(holder, (ModuleType, type)):
            return holder is math or holder is tuple
        if isinstance(holder, VALUES) or (
            isinstance(holder, (dict, set, MappingProxyType)) and name in _READING
        ):
            return True
        return type(holder) in (list, dict, set) and is_young(holder)

    # --- following -------------------------------------------------------------------------------------

    def wants(self, frame: Any) -> bool:
        """Whether a frame's instructions are looked at."""
        self.path.begins()
        return not (self.found or self._is_engine(frame.f_code) or _for_us(frame))

    def strays(self) -> bool:
        """Whether the call went another way than the one that is known."""
        return not self.follows or self.path.said != self.known

    def runs(self, frame: Any, step: Noted) -> None:
        """An instruction is about to run."""
        if self.known is not None:
            return
        if step.kind == "global":
            self.guards.use(frame.f_globals, step.variable, step.attributes)
            return
        held = frame.f_locals.get(step.variable) if step.kind != "refuse" and step.variable else Unknown
        if held is not Unknown:
            recorded = isinstance(held, Tensor) and step.what != "an attribute is stored"
            fixed = step.kind == "update" and isinstance(held, VALUES)
            if recorded or fixed or is_own_dict(frame, held) or is_young(held):
                return
            if step.what == "an attribute is stored" and _keeps_all_in_dict(held):  # for a while, perhaps
                self._stored_to.setdefault(id(held), (held, {**vars(held)}, frame.f_code, step.line))
                return
        self._note(step.what, frame.f_code, step.line)

    def _enclosing(self, frame: Any) -> None:
        """Guard the variables of enclosing functions that a function has, unless it was made in this call."""
        code = frame.f_code
        names = sorted({*code.co_freevars} - {"__class__"})
        if not names or (code.co_name in _COMPREHENSIONS and self._made_here(code)):
            return
        given = frame.f_locals
        values = [given.get(name, Unknown) for name in names]
        known = code, *map(id, values)
        if known in self._enclosed:
            return
        self._enclosed.add(known)
        if any(f.__code__ is code and _holds(f, names, values) for f in self.guards.functions):
            return
        found = [f for f in gc.get_referrers(code) if type(f) is FunctionType and f.__code__ is code]
        found = [f for f in found if _holds(f, names, values)]
        for f in found:
            if not is_young(f):
                for name in names:
                    self.guards.enclosed(name, _cells(f)[name])
        if not found:
            self._note("a variable of an enclosing function is read", code, code.co_firstlineno)

    def _made_here(self, code: CodeType) -> bool:
        """Whether a function that ran makes functions of this code."""
        return any(code in outer.co_consts for outer in self._scanned)

    # --- or looking at whole functions -----------------------------------------------------------------

    def scan_known(self) -> None:
        """Look at the functions that the guards know: what is called by them is looked at as it is called."""
        for code in list(self._scanned):
            self._scan(code)

    def _scan(self, code: CodeType) -> None:
        if set(code.co_freevars) - {"__class__"} and not self._nested(code):
            self._note("a variable of an enclosing function is read", code, code.co_firstlineno)
        for step in noted(code).values():
            if step.kind in ("store", "refuse"):
                self._note(step.what, code, step.line)
                return

    def _nested(self, code: CodeType) -> bool:
        """Whether the guards know the function's variables, or those of the one that it is written in."""
        return any(f.__code__ is code for f in self.guards.functions) or self._made_here(code)

    def _note(self, what: str, code: CodeType, line: int) -> None:
        self.found = self.found or f"{what}, at {code.co_filename}:{line}: a replay would leave that out"


class Unknown:
    """Stands for an object that nobody knows."""


def _cells(f: FunctionType) -> dict[str, Any]:
    """The cells of a function's variables of enclosing functions, by name."""
    return dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))


def _holds(f: FunctionType, names: Sequence[str], values: Sequence[Any]) -> bool:
    """Whether the variables of enclosing functions that a function has are these."""
    cells = _cells(f)
    try:
        return all(cells[n].cell_contents is v for n, v in zip(names, values, strict=True))
    except ValueError:  # one that has no value
        return False


def _named(code: CodeType, names: Mapping[str, Any]) -> FunctionType | None:
    """The function with this code that its module, or a class of it, has by its name."""
    if code.co_flags & inspect.CO_NESTED:
        return None
    found: Any = None
    for part in code.co_qualname.split("."):
        found = names.get(part)
        names = vars(found) if isinstance(found, type) else {}
    found = getattr(found, "fget", getattr(found, "__func__", found))
    return found if type(found) is FunctionType and found.__code__ is code else None


def is_young(held: Any) -> bool:
    """Whether an object was made in this call: what was there before may be seen by others."""
    return any(o is held for o in reversed(gc.get_objects(0)))


def is_own_dict(frame: Any, held: Any) -> bool:
    """Whether it is a dict that the function has made: Python's collector does not list all dicts."""
    return type(held) is dict and any(frame.f_locals.get(n) is held for n in own_dicts(frame.f_code))


def _mentioned(code: CodeType) -> set[str]:
    """Names of attributes and globals in code, and its strings."""
    return {*code.co_names, *[c for c in code.co_consts if isinstance(c, str)]}


def _ours(filename: str) -> bool:
    return filename.startswith((_PACKAGE, "<rushlight", "<frozen")) or filename.endswith(_QUIET)


def of_library(code: CodeType) -> bool:
    """Whether a function is NumPy's, Python's or the kernels' compiler's, or makes a named tuple."""
    file = code.co_filename
    return file.startswith(_LIBRARIES) or _COMPILER in file or code.co_names == ("_tuple_new",)


def _for_us(frame: Any) -> bool:
    """Whether a library's function runs on behalf of this package."""
    if not of_library(frame.f_code):
        return False
    while frame is not None and of_library(frame.f_code):
        frame = frame.f_back
    return frame is not None and _ours(frame.f_code.co_filename)


@contextmanager
def watched(guards: Guards, path: int | None = None) -> Iterator[Watch]:
    """Look at what Python does meanwhile in this thread; another profiler sees nothing of it.

    path: that of a call which did nothing beside. Whether this one `strays` from it is all that is looked at:
    on the same path, among things that guards hold to be the same, Python does the same.

    The caller sees to it that no garbage is collected: what is called then, callbacks and finalizers, is none
    of the function's doing.
    """
    watch, before = Watch(guards, path), sys.getprofile()
    if path is None:
        gc.collect(0)  # what was there before is not young any more
    try:
        with following(watch.wants, watch.runs, watch.path.note, watch.engine) as watch.follows:
            if not watch.follows and path is None:
                watch.scan_known()
            if _TURNS and watch.follows:  # else a debugger sees all
                FOLLOWERS.append(watch)
            sys.setprofile(watch.profiler)
            yield watch
            sys.setprofile(None)
        if path is None:
            watch.tell()
    finally:
        if watch in FOLLOWERS:
            FOLLOWERS.remove(watch)
        # cProfile's profiler is no function: it installs itself.
        getattr(before, "enable", partial(sys.setprofile, before))()
