"""The arguments of a recorded call: copies stand for tensors, also in the caller's lists."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from typing import Any, Self

from rushlight._engine.core.pytree import tree_map
from rushlight._engine.tensors.tensor import Tensor

_DICTS = (dict, OrderedDict, defaultdict)


class Lent:
    """As a context: gives a call copies for its arguments, and takes them back at its end.

    copies: of tensors, by their ids. What the call has put into the caller's lists and dicts stays there; a
    copy among it becomes the tensor again.
    """

    def __init__(self, copies: dict[int, Tensor]) -> None:
        self.copies = copies
        self.back: dict[int, Tensor] = {}
        # (container, key, what was there, what stands there meanwhile).
        self.changed: list[tuple[Any, Any, Any, Any]] = []
        self.containers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        return self

    def given(self, value: Any) -> Any:
        """What stands for an argument, or for what is in it."""
        cls = value.__class__
        if isinstance(value, Tensor):
            copy = self.copies.get(id(value), value)
            self.back[id(copy)] = value
            return copy
        if cls is tuple:
            items = tuple(map(self.given, value))
            return value if all(a is b for a, b in zip(items, value, strict=True)) else items
        if cls is not list and cls not in _DICTS:
            return tree_map(lambda v: self.given(v) if isinstance(v, Tensor) else v, value)
        if id(value) not in self.containers:
            self.containers[id(value)] = value
            for key, item in _items(value):
                made = self.given(item)
                if made is not item:
                    self.changed.append((value, key, item, made))
                    value[key] = made
        return value

    def __exit__(self, *error: Any) -> None:
        for container, key, was, now in self.changed:
            if any(k == key and item is now for k, item in _items(container)):
                container[key] = was
        for container in self.containers.values():
            for key, item in _items(container):
                if isinstance(item, Tensor) and id(item) in self.back:
                    container[key] = self.back[id(item)]


def _items(container: Any) -> list[tuple[Any, Any]]:
    return list(enumerate(container) if container.__class__ is list else container.items())
