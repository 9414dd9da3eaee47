"""Decorators of data pipes: a method's name, and what is known of determinism."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = [
    "argument_validation", "functional_datapipe", "guaranteed_datapipes_determinism", "non_deterministic",
    "runtime_validation", "runtime_validation_disabled",
]  # fmt: skip


class functional_datapipe:
    """Decorator of a class of pipes: it becomes the method `name` of all pipes of its kind."""

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name, self.enable_df_api_tracing = name, enable_df_api_tracing

    def __call__(self, cls: Any) -> Any:
        made = getattr(cls, "cls", None) or getattr(getattr(cls, "__self__", None), "cls", None) or cls
        if issubclass(made, IterDataPipe):
            IterDataPipe.register_datapipe_as_function(self.name, cls, self.enable_df_api_tracing)
        elif issubclass(made, MapDataPipe):
            MapDataPipe.register_datapipe_as_function(self.name, cls)
        return cls


_UNWANTED = (
    "{} is non-deterministic{}, but you set 'guaranteed_datapipes_determinism'. You can turn off determinism "
    "for this DataPipe if that is acceptable for your application"
)


class _Guaranteed:
    """Whether only pipes that give the same each time may be made."""

    wanted = False


class guaranteed_datapipes_determinism:
    """`with` it a pipe that is not deterministic may not be made: TypeError."""

    def __init__(self) -> None:
        self.prev, _Guaranteed.wanted = _Guaranteed.wanted, True

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        _Guaranteed.wanted = self.prev


class non_deterministic:
    """Decorator of a class of pipes that may give something else each time; with a function of the arguments
    that says whether it does.
    """

    def __init__(self, arg: Any) -> None:
        self.cls: Any = None
        self.deterministic_fn: Callable[..., bool] | None = None
        if isinstance(arg, type):
            if not issubclass(arg, IterDataPipe):
                raise TypeError(
                    "Only `IterDataPipe` can be decorated with `non_deterministic`, but "
                    f"{arg.__name__} is found"
                )
            self.cls = arg
        elif callable(arg):
            self.deterministic_fn = arg
        else:
            raise TypeError(f"{arg} can not be decorated by non_deterministic")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.cls is not None:
            if _Guaranteed.wanted:
                raise TypeError(_UNWANTED.format(self.cls.__name__, ""))
            return self.cls(*args, **kwargs)
        if not (isinstance(args[0], type) and issubclass(args[0], IterDataPipe)):
            raise TypeError(f"Only `IterDataPipe` can be decorated, but {args[0].__name__} is found")
        self.cls = args[0]
        return self.deterministic_wrapper_fn

    def deterministic_wrapper_fn(self, *args: Any, **kwargs: Any) -> Any:
        """Make the pipe, unless it is not deterministic with these arguments and must be."""
        varies = self.deterministic_fn(*args, **kwargs) if self.deterministic_fn is not None else True
        if not isinstance(varies, bool):
            raise TypeError(
                "deterministic_fn of `non_deterministic` decorator is required to return a boolean value, "
                f"but {type(varies)} is found"
            )
        if _Guaranteed.wanted and varies:
            raise TypeError(_UNWANTED.format(self.cls.__name__, " with the inputs"))
        return self.cls(*args, **kwargs)


def argument_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function: pipes have no types of items here that arguments could be held to."""
    return f


def runtime_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """The __iter__: pipes have no types of items here that these could be held to."""
    if f.__name__ != "__iter__":
        raise TypeError(f"Can not decorate function {f.__name__} with 'runtime_validation'")
    return f


class runtime_validation_disabled:
    """`with` it items are not held to types, which they never are here."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        pass
