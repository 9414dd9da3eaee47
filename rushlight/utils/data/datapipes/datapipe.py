"""The bases of data pipes: what is registered under a name is a method of all of their kind."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, TypeVar

from rushlight.utils.data.dataset import Dataset, IterableDataset

__all__ = ["DFIterDataPipe", "IterDataPipe", "MapDataPipe"]
T_co = TypeVar("T_co", covariant=True)


class _Chained:
    """The methods that were registered (`functions`), and how a pipe is shown and pickled."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
    reduce_ex_hook: ClassVar[Callable[..., Any] | None] = None
    getstate_hook: ClassVar[Callable[..., Any] | None] = None
    str_hook: ClassVar[Callable[..., Any] | None] = None
    repr_hook: ClassVar[Callable[..., Any] | None] = None

    def __getattr__(self, attribute_name: str) -> Any:
        function = type(self).functions.get(attribute_name)
        if function is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute_name}'")
        return functools.partial(function, self)

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Make a function of a pipe a method of all."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: Callable[..., Any], enable_df_api_tracing: bool = False
    ) -> None:
        """Make a class, called with a pipe and more, a method of all pipes. An exception where the name is
        taken.
        """
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")

        def made(source_dp: Any, *args: Any, **kwargs: Any) -> Any:
            return cls_to_register(source_dp, *args, **kwargs)

        made.__doc__ = cls_to_register.__doc__
        cls.functions[function_name] = made

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Callable[..., Any] | None) -> None:
        """What pickles pipes of this kind; RuntimeError where there is one."""
        if cls.reduce_ex_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing reduce_ex_hook")
        cls.reduce_ex_hook = hook_fn

    @classmethod
    def set_getstate_hook(cls, hook_fn: Callable[..., Any] | None) -> None:
        """What makes a pipe's state of its attributes; RuntimeError where there is one."""
        if cls.getstate_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing getstate_hook")
        cls.getstate_hook = hook_fn

    def __getstate__(self) -> Any:
        hook = type(self).getstate_hook
        return dict(self.__dict__) if hook is None else hook(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __reduce_ex__(self, *args: Any, **kwargs: Any) -> Any:
        hook = type(self).reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(*args, **kwargs)

    def __repr__(self) -> str:
        hook = type(self).repr_hook
        return str(type(self).__qualname__) if hook is None else str(hook(self))

    def __str__(self) -> str:
        hook = type(self).str_hook
        return str(type(self).__qualname__) if hook is None else str(hook(self))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *type(self).functions]


class DataChunk(list[Any]):
    """Items of a batch that stay together: a list that also says what it is made of."""

    def __init__(self, items: Iterable[Any]) -> None:
        self.items: list[Any] = list(items)
        super().__init__(self.items)

    def as_str(self, indent: str = "") -> str:
        """The items between brackets, after `indent`."""
        return indent + "[" + ", ".join(str(item) for item in iter(self)) + "]"

    def __iter__(self) -> Iterator[Any]:
        yield from super().__iter__()

    def raw_iterator(self) -> Iterator[Any]:
        """The items as they were given."""
        yield from self.items


class IterDataPipe(_Chained, IterableDataset[T_co]):
    """Items one after the other: a subclass has __iter__(), perhaps __next__(), __len__() and reset().

    A pipe has one iterator at a time: making another one ends the first, with RuntimeError when it is asked.
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
    _valid_iterator_id: int | None = None
    _number_of_samples_yielded: int = 0
    _is_child_datapipe = False

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        own = vars(cls)
        if "__iter__" in own:
            wrap = _generated if inspect.isgeneratorfunction(cls.__iter__) else _alone
            setattr(cls, "__iter__", wrap(cls.__iter__))
        if "__next__" in own and "__iter__" in own:
            setattr(cls, "__next__", _counted(own["__next__"]))
        if "reset" in own:
            setattr(cls, "reset", _from_none(own["reset"]))

    def __iter__(self) -> Iterator[T_co]:
        return self

    def reset(self) -> None:
        """Called when an iterator is made; a subclass clears its buffers here."""
        self._number_of_samples_yielded = 0

    def _begin(self) -> int | None:
        """End the iterator that there is; the number of the next one."""
        self._valid_iterator_id = 0 if self._valid_iterator_id is None else self._valid_iterator_id + 1
        self.reset()
        return self._valid_iterator_id

    def _check(self, number: int | None) -> None:
        """RuntimeError where another iterator has been made since."""
        if self._valid_iterator_id != number:
            raise RuntimeError(
                "This iterator has been invalidated because another iterator has been created "
                f"from the same IterDataPipe: {described(self)}\nThis may be caused by multiple references "
                "to the same IterDataPipe. We recommend using `.fork()` if that is necessary."
            )


def described(pipe: Any) -> str:
    """The pipe's class, and what it was made from as far as that is among its attributes."""
    given = [(n, getattr(pipe, n)) for n in inspect.signature(type(pipe)).parameters if n in vars(pipe)]
    parts = [f"{n}={v.__name__ if inspect.isfunction(v) else repr(v)}" for n, v in sorted(given)]
    return f"{type(pipe).__name__}({', '.join(parts)})"


def _say_whose(error: Exception, pipe: Any) -> None:
    """Add to an error's words of which pipe it is, unless one further in has, or it is of two iterators."""
    words = error.args[0] if error.args and isinstance(error.args[0], str) else ""
    if "thrown by __iter__ of" not in words and "has been invalidated" not in words:
        error.args = (
            f"{words}\nThis exception is thrown by __iter__ of {described(pipe)}",
            *(error.args[1:] if words else ()),
        )


def _generated(make: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """__iter__ that is a generator: the pipe is reset when the first item is asked for."""

    @functools.wraps(make)
    def items(self: IterDataPipe[Any]) -> Iterator[Any]:
        found, number = make(self), self._begin()
        while True:
            try:
                item = next(found)
            except StopIteration:
                return
            except Exception as error:
                _say_whose(error, self)
                raise
            self._number_of_samples_yielded += 1
            yield item
            self._check(number)

    return items


def _alone(make: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """__iter__ that resets the pipe, and ends the iterator that it had."""

    @functools.wraps(make)
    def begin(self: IterDataPipe[Any]) -> Iterator[Any]:
        found = make(self)
        return _Items(found, self, self._begin())

    return begin


class _Items:
    """A pipe's iterator, which counts what it gives, and has what the one has that it is made of."""

    def __init__(self, found: Any, pipe: IterDataPipe[Any], number: int | None) -> None:
        self.iterator, self.datapipe, self.iterator_id = found, pipe, number

    def __iter__(self) -> _Items:
        return self

    def __next__(self) -> Any:
        pipe: Any = self.datapipe
        pipe._check(self.iterator_id)
        item = next(self.iterator)
        if self.iterator is not pipe or not hasattr(type(pipe).__next__, "counts"):
            pipe._number_of_samples_yielded += 1
        return item

    def __getattr__(self, name: str) -> Any:
        if name == "iterator":  # while it is copied
            raise AttributeError(name)
        return getattr(self.iterator, name)


def _counted(ask: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """__next__ that counts items."""

    @functools.wraps(ask)
    def counted(self: IterDataPipe[Any]) -> Any:
        item = ask(self)
        self._number_of_samples_yielded += 1
        return item

    setattr(counted, "counts", True)
    return counted


def _from_none(clear: Callable[[Any], None]) -> Callable[[Any], None]:
    """reset() that lets the count begin anew."""

    @functools.wraps(clear)
    def reset(self: IterDataPipe[Any]) -> None:
        self._number_of_samples_yielded = 0
        clear(self)

    return reset


class DFIterDataPipe(IterDataPipe[Any]):
    """Of data frames."""


class MapDataPipe(_Chained, Dataset[T_co]):
    """Items by index or key: a subclass has __getitem__(), perhaps __len__()."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
