"""Where an epoch stands, so that a loader in another process can go on from there.

An epoch's order follows from the states that the random generators had when it began. So a state keeps
these, and how many batches were given out; to resume, the epoch is begun again and that many index
lists are passed over, without loading anything. An IterableDataset's own state is kept where it has one
(state_dict, in this process); else that many of its batches are made and dropped.
"""

from __future__ import annotations

from typing import Any

import rushlight as torch

_KEYS = ("version", "num_yielded", "batches", "start", "now", "epochs")


class Progress:
    """One epoch: the generators' states at its start, batches given out, and whether it has ended."""

    def __init__(self, loader: Any, yielded: int = 0) -> None:
        self.start, self.yielded, self.ended = _states(loader), yielded, False


def state_of(loader: Any, progress: Progress | None) -> dict[str, Any]:
    """The state of a loader: in the middle of the epoch `progress`, or before the next one."""
    running = progress is not None and not progress.ended
    if running and not loader.in_order and loader.num_workers:
        raise ValueError(
            "DataLoader.state_dict() in the middle of an epoch needs in_order=True: batches "
            "that overtake others leave no single place to resume from"
        )
    own = {"dataset": loader.dataset.state_dict()} if _dataset_keeps_its_place(loader) else {}
    return own | {
        "version": 1,
        "num_yielded": progress.yielded if running and progress is not None else None,
        "batches": _length(loader),
        "start": progress.start if running and progress is not None else None,
        "now": _states(loader),
        "epochs": [s.epoch for s in _samplers(loader) if hasattr(s, "epoch")],
    }


def check(loader: Any, state: Any) -> None:
    """ValueError or TypeError unless `state` is of a loader like this one."""
    if not isinstance(state, dict) or any(key not in state for key in _KEYS):
        raise TypeError(
            "DataLoader.load_state_dict: expected what state_dict() gave, a dict with the keys "
            f"{', '.join(_KEYS)}; got {type(state).__name__}"
        )
    if state["batches"] != _length(loader):
        raise ValueError(
            "DataLoader.load_state_dict: expected a state of a loader with as many batches as "
            f"this one ({_length(loader)}), got one with {state['batches']}; use the same "
            "dataset and batch size, or begin a new epoch"
        )
    if len(state["now"]) != len(_generators(loader)):
        raise ValueError(
            f"DataLoader.load_state_dict: expected the states of {len(_generators(loader))} "
            f"generators, got {len(state['now'])}; use the same sampler and generator="
        )


def begin(loader: Any, state: dict[str, Any] | None) -> tuple[Progress, int]:
    """The progress of a new epoch, and how many index lists to pass over; `state` is a loaded one."""
    if state is None:
        return Progress(loader), 0
    for sampler, epoch in zip(
        [s for s in _samplers(loader) if hasattr(s, "epoch")], state["epochs"], strict=True
    ):
        sampler.epoch = epoch
    running = state["num_yielded"] is not None
    for generator, saved in zip(_generators(loader), state["start" if running else "now"], strict=True):
        generator.set_state(saved)
    yielded = state["num_yielded"] if running else 0
    if "dataset" in state and _dataset_keeps_its_place(loader):
        loader.dataset.load_state_dict(state["dataset"])
        return Progress(loader, yielded), 0
    return Progress(loader, yielded), yielded


def _dataset_keeps_its_place(loader: Any) -> bool:
    """Whether an IterableDataset says where it stands; one in worker processes is a copy."""
    return (
        loader._iterable
        and not loader.num_workers
        and all(hasattr(loader.dataset, name) for name in ("state_dict", "load_state_dict"))
    )


def restore_default(state: dict[str, Any]) -> None:
    """After an epoch was begun again: the default generator as the program had it."""
    if state["num_yielded"] is not None:
        torch.default_generator.set_state(state["now"][0])


def _samplers(loader: Any) -> list[Any]:
    found = [loader.sampler, loader.batch_sampler, getattr(loader.batch_sampler, "sampler", None)]
    return [s for k, s in enumerate(found) if s is not None and not any(s is t for t in found[:k])]


def _generators(loader: Any) -> list[Any]:
    """The default generator, then those of the loader and of its samplers."""
    found = [torch.default_generator]
    for holder in (loader, *_samplers(loader)):
        g = getattr(holder, "generator", None)
        if isinstance(g, torch.Generator) and not any(g is f for f in found):
            found.append(g)
    return found


def _states(loader: Any) -> list[Any]:
    return [g.get_state() for g in _generators(loader)]


def _length(loader: Any) -> int | None:
    if loader._iterable:  # its length is a guess
        return None
    try:
        return len(loader._index_sampler)
    except (TypeError, NotImplementedError):
        return None
