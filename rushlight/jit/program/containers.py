"""Lists and dicts that scripted functions are handed as they are, with elements of one type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, SupportsIndex

from rushlight.jit.program.types import Type, of_value


def _checked(value: Any, wanted: Type, error: type[Exception] = TypeError) -> Any:
    """The value; an error where it is of another type."""
    # What it needs, jit.program.runtime, imports this file.
    from rushlight.jit.program.execute import accepts

    if not accepts(value, wanted):
        raise error(f"Expected a value of type '{wanted}', got {type(value).__name__}: {value!r}")
    return value


class ScriptList(list[Any]):
    """A list that scripted functions are handed as it is (of others they get a copy); TypeError for values of
    another type than its elements.
    """

    def __init__(self, values: Iterable[Any] = ()) -> None:
        super().__init__(values)
        self._element = of_value(list(self)).args[0]

    def __repr__(self) -> str:
        return list.__repr__(self)

    def __contains__(self, value: Any) -> bool:
        return super().__contains__(_checked(value, self._element))

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            value = [_checked(v, self._element) for v in value]
        else:
            _checked(value, self._element)
        super().__setitem__(index, value)

    def append(self, value: Any) -> None:
        """Add one element."""
        super().append(_checked(value, self._element))

    def insert(self, index: SupportsIndex, value: Any) -> None:
        """Put one element before another."""
        super().insert(index, _checked(value, self._element))

    def extend(self, values: Iterable[Any]) -> None:
        """Add several elements."""
        if not isinstance(values, Iterable):
            raise TypeError(f"extend() expected an iterable, got {type(values).__name__}")
        super().extend([_checked(v, self._element) for v in values])

    def count(self, value: Any) -> int:
        """How often a value is in it."""
        return super().count(_checked(value, self._element))

    def remove(self, value: Any) -> None:
        """Take the first element that equals the value out."""
        super().remove(_checked(value, self._element))

    def index(self, value: Any, *bounds: SupportsIndex) -> int:
        """Where the first element is that equals the value."""
        return super().index(_checked(value, self._element), *bounds)


class ScriptDict(dict[Any, Any]):
    """The same, of a dict; KeyError where a key of another type is looked for."""

    def __init__(self, values: Any = ()) -> None:
        super().__init__(values)
        self._key, self._value = of_value(dict(self)).args

    def __contains__(self, key: object) -> bool:
        return super().__contains__(_checked(key, self._key, KeyError))

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(_checked(key, self._key), _checked(value, self._value))

    def __delitem__(self, key: Any) -> None:
        super().__delitem__(_checked(key, self._key))
