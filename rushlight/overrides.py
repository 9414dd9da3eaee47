"""torch.overrides: classes and modes that take functions over by __torch_function__.

A mode sees the ops of the table, called as functions, methods or operators, and what else tensors have
(`item`, `to`, `shape`, ...: dispatch/method_overrides.py). What PyTorch lets programs take over is recorded
(dispatch/overridable.tsv).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from importlib import import_module
from inspect import getattr_static, isfunction
from typing import Any

from rushlight._engine.dispatch import interpreters, method_overrides
from rushlight._engine.dispatch.overrides import as_told, ask, disabled, foreign
from rushlight._engine.lazy import is_ours, our_module
from rushlight._engine.names.built_in import published
from rushlight._engine.tensors.tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "redispatch_torch_function",
    "resolve_name",
    "wrap_torch_function",
]


class TorchFunctionMode(interpreters.Interpreter):
    """Subclass with `__torch_function__(self, func, types, args=(), kwargs=None)`, which answers for every op
    inside of `with mode:`; what it calls itself goes to the next mode.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        if not is_ours(type(self)):
            if isinstance(getattr_static(type(self), "__torch_function__"), classmethod):
                raise RuntimeError(
                    "Defining your mode's `__torch_function__` as a classmethod is not supported, please "
                    "make it a plain method"
                )
            method_overrides.enter()
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        if not is_ours(type(self)):
            method_overrides.leave()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance; its name when modes were pushed and not entered."""
        return cls(*args, **kwargs)

    def run(self, row: Any, call: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """What the mode makes of an op; what a level of vmap hands on of one is no op that it knows."""
        if row.kind in ("formula", "function"):
            return interpreters.interpret(row, call, args, kwargs)
        types = tuple(map(type, foreign(args, kwargs)))
        op, args, kwargs, _ = as_told(row, call, args, kwargs)
        found = self.__torch_function__(op, types, args, kwargs)
        if found is not NotImplemented:
            return found
        modes = interpreters.STACK.modes
        modes.append(self)  # what a class calls comes to the mode again
        try:
            return ask(op, None, foreign(args, kwargs), args, kwargs, self)
        finally:
            modes.pop()


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode_stack() -> list[Any]:
    """The modes that are active in this thread, the outermost first."""
    return [mode for mode in interpreters.STACK.modes if hasattr(mode, "__torch_function__")]


def _get_current_function_mode() -> Any:
    """The innermost mode that is active in this thread; None where there is none."""
    return next(reversed(_get_current_function_mode_stack()), None)


class _Hop(threading.local):
    """Whether the next question who takes a function over is to be answered with "nobody", in this thread."""

    skipped = False


_HOP = _Hop()


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """Whether a class among these, or a mode, takes functions over."""
    if _HOP.skipped:
        _HOP.skipped = False
        return False
    return bool(_asked(relevant_args))


def _asked(relevant_args: tuple[Any, ...]) -> list[Any]:
    """The modes, and an instance of each class among these, that take functions over; traces do not: they
    hear of the ops that functions in Python consist of.
    """
    asked = [mode for mode in interpreters.STACK.modes if isinstance(mode, TorchFunctionMode)]
    asked += [f for f in foreign(relevant_args, {}) if not hasattr(type(f).__torch_function__, "unseen")]
    return [item for item in asked if not hasattr(type(item), "of_rows")]


def takes_over(relevant_args: tuple[Any, ...]) -> bool:
    """Whether a class or a mode takes one of our functions in Python over. Classes of ours that hear of rows
    do not: they hear of those that it consists of.
    """
    if not interpreters.STACK.modes and interpreters.all_plain(relevant_args):
        return False
    return any(not hasattr(type(item).__torch_function__, "of_rows") for item in _asked(relevant_args))


has_torch_function_unary = has_torch_function_variadic


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a class among these, or a mode, takes functions over."""
    if not hasattr(relevant_args, "__iter__"):
        raise TypeError("expected a sequence")
    return has_torch_function_variadic(*relevant_args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Let the innermost mode, else the classes among `relevant_args` answer for the call; TypeError if none
    does.
    """
    public_api = published(public_api)
    classes, modes = foreign(tuple(relevant_args), {}), interpreters.STACK.modes
    if modes and isinstance(mode := modes[-1], TorchFunctionMode):
        modes.pop()  # what the mode calls goes to the next one
        try:
            found = mode.__torch_function__(public_api, tuple(map(type, classes)), args, kwargs)
        finally:
            modes.append(mode)
        if found is not NotImplemented:
            return found
        return ask(public_api, None, classes, args, kwargs, mode)
    return ask(public_api, None, classes, args, kwargs)


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor, or an object with __torch_function__."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: classes among the tensors that dispatcher(*args, **kwargs) gives may take the function
    over.
    """

    def inner(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return inner


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Nothing has to be enabled: handlers may call functions that are taken over again."""
    yield


def redispatch_torch_function(
    func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    """func(*args, **kwargs) once more, by the next mode or class that answers."""
    return func(*args, **(kwargs or {}))


def redispatch_function(func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """func(*args, **kwargs) past one level of `__torch_function__`: an op of ours runs as if no class and no
    mode took it over, and gives plain tensors; a function of Python skips its own question
    (`has_torch_function`), while what it calls is taken over again.
    """
    if not isfunction(func) or is_ours(func):
        modes = interpreters.STACK.modes
        interpreters.STACK.modes = [mode for mode in modes if not isinstance(mode, TorchFunctionMode)]
        try:
            return disabled(func, types, args, kwargs)
        finally:
            interpreters.STACK.modes = modes
    _HOP.skipped = True
    try:
        return func(*args, **(kwargs or {}))
    finally:
        _HOP.skipped = False


# --- what can be taken over -------------------------------------------------------------------------


def _space(name: str) -> Any:
    module = name.replace("torch", "rushlight", 1).replace(".functional", "", name == "torch.functional")
    return Tensor if name == "torch.Tensor" else import_module(module)


def _found(space: str, name: str) -> Any:
    """The function of a recorded line, or None where there is none here; of a property its __get__."""
    own, _, part = name.partition(".")
    try:
        found = getattr(_space(space), own)
        return getattr(found, part) if part else found
    except (AttributeError, ImportError, NotImplementedError):
        return None


# In the order in which PyTorch looks through them: the last name of a function is the one that it goes by.
_SPACES = (
    "torch",
    "torch.functional",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.Tensor",
    "torch.linalg",
    "torch.fft",
    "torch.special",
)
# Where PyTorch looks for what may be taken over: not where it is taken over as well.
_LISTED = frozenset(_SPACES) - {"torch.nn.init"}


@lru_cache(None)
def _parameters() -> dict[Any, str]:
    """The parameters of each function that classes take over, as PyTorch's stand-in has them."""
    known: dict[Any, str] = {}
    for space, name, params in method_overrides.lines():
        found = None if space == "ignored" else _found(space, name)
        if found is not None:
            known.setdefault(found, params)
    return known


@lru_cache(None)
def _names() -> dict[Any, str]:
    """The name by which programs know each function, taken over or not."""
    by_space: dict[str, list[str]] = {space: [] for space in _SPACES}
    for space, name, _ in method_overrides.lines():
        if space == "ignored":
            space, _, name = name.rpartition(".")
        if space in by_space and (space == "torch.Tensor" or not name.startswith("_")):
            by_space[space].append(name)
    known: dict[Any, str] = {}
    for space, names in by_space.items():
        for name in sorted(names):
            found = _found(space, name)
            if found is None or not callable(found):
                continue
            known[found] = f"{space}.{name}"
            if name.endswith(".__get__"):
                known[found.__self__.__set__] = f"{space}.{name.removesuffix('__get__')}__set__"
    return known


@lru_cache(None)
def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that classes and modes may take over, by their modules (torch.Tensor: its methods;
    properties by themselves).
    """
    found: dict[Any, list[Callable[..., Any]]] = {}
    for space, name, _ in method_overrides.lines():
        private = name.startswith("_") and space != "torch.Tensor"
        function = None if private or space not in _LISTED else _found(space, name)
        if function is not None:
            held = getattr(Tensor, name.partition(".")[0]) if "." in name else _space(space)
            found.setdefault(held, []).append(function)
    return found


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """By function, a function of the same parameters that gives -1."""
    return {function: _stand_in(params) for function, params in _parameters().items()}


@lru_cache(None)
def _stand_in(params: str) -> Callable[..., Any]:
    import rushlight as torch

    found: Callable[..., Any] = eval(f"lambda {params[1:-1]}: -1", {"torch": torch})
    return found


@lru_cache(None)
def get_ignored_functions() -> set[Callable[..., Any]]:
    """The public functions that are never taken over. None that is a method of tensors as well: those are."""
    found = set()
    for space, name, _ in method_overrides.lines():
        if space == "ignored":
            held, _, own = name.rpartition(".")
            found.add(_found(held, own))
    return found - {None} - _parameters().keys()


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """What Tensor.__torch_function__ gives as it is: results that do not become instances of a subclass."""
    return {getattr(Tensor, name).__get__ for name in ("_base", "grad", "_grad")}


def resolve_name(f: Any) -> str | None:
    """The name that programs know a function by, "torch.Tensor.add"; None of one that is not torch's."""
    if our_module(type(f)) == "rushlight.export.overloads":
        return str(f)
    try:
        return _names().get(f)
    except TypeError:
        return None


@lru_cache(None)
def _methods() -> set[Any]:
    return {_found(space, name) for space, name, _ in method_overrides.lines() if space == "torch.Tensor"} - {
        None
    }


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether it is a method of Tensor's, or the __get__ of an attribute of its."""
    return func in _methods() or getattr(func, "__name__", "") == "__get__"
