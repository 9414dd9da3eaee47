"""Templates of lists, dicts and ranges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight.jit.program import runtime as rt
from rushlight.jit.templates.table import plain


@plain("__contains__")
def contains(container: Any, item: Any) -> bool:
    return item in container


@plain("__getitem__", "prim::StringIndex", "select")
def getitem(container: Any, index: Any) -> Any:
    return container[index]


@plain("__derive_index")
def derive_index(index: int, start: int, step: int) -> int:
    return start + index * step


@plain("__range_length")
def range_length(low: int, high: int, step: int) -> int:
    return len(range(low, high, step))


@plain("Size")
def size(sizes: list[int]) -> list[int]:
    return list(sizes)


@plain("Delete")
def delete(container: Any, index: Any) -> None:
    del container[index]


@plain("append")
def append(found: list[Any], item: Any) -> None:
    return found.append(item)


@plain("extend")
def extend(found: list[Any], more: list[Any]) -> None:
    return found.extend(more)


@plain("insert")
def insert(found: list[Any], index: int, item: Any) -> None:
    return found.insert(index, item)


@plain("pop")
def pop(container: Any, *index: Any) -> Any:
    return container.pop(*index)


@plain("popitem")
def popitem(found: dict[Any, Any]) -> tuple[Any, Any]:
    if not found:
        raise RuntimeError("popitem(): dictionary is empty")
    key = next(iter(found))  # the first one, where Python takes the last
    return key, found.pop(key)


@plain("remove")
def remove(found: list[Any], item: Any) -> None:
    return found.remove(item)


@plain("reverse")
def reverse(found: list[Any]) -> None:
    return found.reverse()


@plain("clear")
def clear(container: Any) -> None:
    container.clear()


@plain("sort")
def sort(found: list[Any], descending: bool) -> None:
    return found.sort(reverse=descending)


@plain("sort.any")
def sort_any(found: list[Any], descending: bool) -> None:
    return rt.comparable(found).sort(key=rt.sorting_key(found), reverse=descending)


@plain("sorted.any")
def sorted_any(found: list[Any]) -> list[Any]:
    return sorted(rt.comparable(found), key=rt.sorting_key(found))


@plain("count.int", "count.float", "count.bool", "count.Tensor", "count.str")
def count(found: list[Any], item: Any) -> int:
    return found.count(item)


@plain("index")
def index(found: list[Any], item: Any) -> int:
    return rt.index(found, item)


@plain("copy")
def copy(container: Any) -> Any:
    return container.copy()


@plain("keys")
def keys(found: dict[Any, Any]) -> list[Any]:
    return list(found.keys())


@plain("values")
def values(found: dict[Any, Any]) -> list[Any]:
    return list(found.values())


@plain("items")
def items(found: dict[Any, Any]) -> list[Any]:
    return list(found.items())


@plain("get")
def get(found: dict[Any, Any], *key: Any) -> Any:
    return found.get(*key)


@plain("setdefault")
def setdefault(found: dict[Any, Any], key: Any, default: Any) -> Any:
    return found.setdefault(key, default)


@plain("update")
def update(found: dict[Any, Any], more: dict[Any, Any]) -> None:
    return found.update(more)


@plain("save")
def save(item: Any, filename: str) -> None:
    torch.save(item, filename)


@plain("list_with_default")
def list_with_default(sizes: list[int], defaults: list[int]) -> list[int]:
    return sizes if sizes else defaults


# Ops that are a function of Python's, or of this package, on the same arguments.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "len": len,
    "sorted": sorted,
    "list": list,
    "dict": dict,
    "any": any,
    "all": all,
    "sum": sum,
    "hash": hash,
    "add_.t": rt.extended,
    "_set_item": rt.set_item,
    "slice": rt.part,
}
for _op, _function in _FUNCTIONS.items():
    plain(_op)(_function)
