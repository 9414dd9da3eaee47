"""torch.utils.data.graph: which data pipes a pipe reads from."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rushlight._engine.core.callers import warn
from rushlight.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]

DataPipe = IterDataPipe[Any] | MapDataPipe[Any]
DataPipeGraph = dict[int, tuple[Any, Any]]


def traverse_dps(datapipe: Any) -> DataPipeGraph:
    """{id: (pipe, the same of the pipes that are among its attributes, or in collections there)}.

    A pipe that is found a second time on the way is left out. RuntimeError for what is no pipe.
    """
    return _traversed(datapipe, set())


def traverse(datapipe: Any, only_datapipe: bool | None = None) -> DataPipeGraph:
    """traverse_dps, with a FutureWarning. only_datapipe: accepted; both ways look at pipes and
    collections.
    """
    more = " And, the behavior will be changed to the equivalent of `only_datapipe=True`."
    warn(
        "`traverse` function is deprecated and will be removed after 1.13. Please use `traverse_dps` instead."
        + more * (not only_datapipe),
        FutureWarning,
    )
    return _traversed(datapipe, set())


def _traversed(pipe: Any, seen: set[int]) -> DataPipeGraph:
    if not isinstance(pipe, (IterDataPipe, MapDataPipe)):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(pipe)} is found")
    if id(pipe) in seen:
        return {}
    seen = seen | {id(pipe)}
    sources: list[Any] = []
    for value in vars(pipe).values():
        _collect(value, sources, set())
    below: DataPipeGraph = {}
    for source in sources:
        below.update(_traversed(source, seen))
    return {id(pipe): (pipe, below)}


def _collect(value: Any, found: list[Any], within: set[int]) -> None:
    """The pipes in a value, each once."""
    if isinstance(value, (IterDataPipe, MapDataPipe)):
        if all(value is not other for other in found):
            found.append(value)
    elif isinstance(value, Collection) and not isinstance(value, (str, bytes)) and id(value) not in within:
        for item in [*value, *value.values()] if isinstance(value, Mapping) else _items(value):
            _collect(item, found, within | {id(value)})


def _items(value: Any) -> Any:
    """What containers of Python's own hold; other collections may be data, and are not read."""
    return value if isinstance(value, (list, tuple, set, frozenset)) else ()
