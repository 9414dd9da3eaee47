"""torch.utils.data.graph_settings: shuffling, seeds and sharding of all pipes that a pipe reads from."""

from __future__ import annotations

import inspect
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight.utils.data.graph import DataPipeGraph, traverse_dps

__all__ = [
    "apply_random_seed",
    "apply_sharding",
    "apply_shuffle_seed",
    "apply_shuffle_settings",
    "get_all_graph_pipes",
]


def get_all_graph_pipes(graph: DataPipeGraph) -> list[Any]:
    """The pipes of a graph, each once, a pipe before its sources."""
    found: dict[int, Any] = {}
    _gathered(graph, found)
    return list(found.values())


def _gathered(graph: DataPipeGraph, found: dict[int, Any]) -> None:
    for key, (pipe, below) in graph.items():
        if key not in found:
            found[key] = pipe
            _gathered(below, found)


def _has(pipe: Any, *names: str) -> bool:
    return all(inspect.ismethod(getattr(pipe, name, None)) for name in names)


def apply_sharding(datapipe: Any, num_of_instances: int, instance_id: int, sharding_group: Any = None) -> Any:
    """Each pipe with `apply_sharding` gives this instance's share. RuntimeError for two on one way."""

    def shard(graph: DataPipeGraph, before: Any) -> None:
        for pipe, below in graph.values():
            applied = before
            if _has(pipe, "apply_sharding"):
                if before is not None:
                    raise RuntimeError(
                        "Sharding twice on a single pipeline is likely unintended and will cause data loss. "
                        f"Sharding already applied to {before} while trying to apply to {pipe}"
                    )
                several = len(inspect.signature(pipe.apply_sharding).parameters) >= 3
                more = {"sharding_group": sharding_group} if several and sharding_group is not None else {}
                pipe.apply_sharding(num_of_instances, instance_id, **more)
                applied = pipe
            shard(below, applied)

    shard(traverse_dps(datapipe), None)
    return datapipe


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Shuffling on or off in each pipe that shuffles; with a warning, a shuffle at the end where there is
    none.
    """
    if shuffle is None:
        return datapipe
    pipes = get_all_graph_pipes(traverse_dps(datapipe))
    shufflers = [pipe for pipe in pipes if _has(pipe, "set_shuffle", "set_seed")]
    if not shufflers and shuffle:
        warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. "
            "Be aware that the default buffer size might not be sufficient for your task."
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for shuffler in shufflers:
        shuffler.set_shuffle(shuffle)
    return datapipe


def apply_shuffle_seed(datapipe: Any, rng: Any) -> Any:
    """apply_random_seed, with a FutureWarning."""
    warn(
        "`apply_shuffle_seed` is deprecated since 1.12 and will be removed in the future releases. "
        "Please use `apply_random_seed` instead.",
        FutureWarning,
    )
    return apply_random_seed(datapipe, rng)


def apply_random_seed(datapipe: Any, rng: Any) -> Any:
    """A seed drawn from `rng` for each pipe with `set_seed`."""
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if _has(pipe, "set_seed"):
            pipe.set_seed(int(torch.empty((), dtype=torch.int64).random_(generator=rng).item()))
    return datapipe
