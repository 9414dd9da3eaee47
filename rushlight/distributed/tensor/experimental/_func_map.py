"""Functions of tensors for DTensors: each rank calls them with its parts (local_map)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten
from rushlight.distributed.tensor.dtensor import DTensor


def local_map(
    func: Callable[..., Any] | None = None,
    out_placements: Any = None,
    in_placements: Any = None,
    in_grad_placements: Any = None,
    device_mesh: Any = None,
    *,
    redistribute_inputs: bool = False,
) -> Any:
    """`func`, which works on tensors, for DTensors: it gets this rank's parts of them.

    out_placements: how what it gives lies; None for what is no tensor. in_placements: how each of the
    positional arguments has to lie (None: is no DTensor); others are a ValueError, or are redistributed.
    in_grad_placements: likewise of their gradients. device_mesh: by default the first DTensor's. Without
    `func`, a decorator.
    """
    if func is None:
        return functools.partial(
            local_map,
            out_placements=out_placements,
            in_placements=in_placements,
            in_grad_placements=in_grad_placements,
            device_mesh=device_mesh,
            redistribute_inputs=redistribute_inputs,
        )

    def run(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten(args)
        if in_placements is not None and len(in_placements) != len(leaves):
            raise AssertionError(
                f"in_placements length {len(in_placements)} does not match the number of input args "
                f"{len(leaves)}!"
            )
        first = next((leaf for leaf in leaves if isinstance(leaf, DTensor)), None)
        parts = [
            _part(leaf, _at(in_placements, n), _at(in_grad_placements, n), redistribute_inputs)
            for n, leaf in enumerate(leaves)
        ]
        found = func(*structure.unflatten(parts), **kwargs)
        if first is None:
            return found
        return _whole(found, out_placements, device_mesh or first.device_mesh)

    return functools.wraps(func)(run) if hasattr(func, "__name__") else run


_NOT_SAID = object()


def _at(placements: Sequence[Any] | None, number: int) -> Any:
    """What is said of an argument."""
    return _NOT_SAID if placements is None else placements[number]


def _part(leaf: Any, wanted: Any, of_grad: Any, redistribute: bool) -> Any:
    """What a function gets of an argument."""
    if not isinstance(leaf, DTensor):
        if wanted is not _NOT_SAID and wanted is not None and not isinstance(leaf, torch.Tensor):
            raise AssertionError(f"Non-Tensor input {leaf} expects None placements but received {wanted}!")
        return leaf
    if wanted is None:
        raise AssertionError(f"DTensor input {leaf} expects placements but received {wanted}!")
    if wanted is not _NOT_SAID and leaf.placements != tuple(wanted):
        if not redistribute:
            raise ValueError(
                f"arg {leaf} in local_map has a mismatched placements: arg placements is {leaf.placements} "
                f"but the input placements is {tuple(wanted)}! If redistribute_inputs is wanted, set "
                "redistribute_inputs=True to local_map."
            )
        leaf = leaf.redistribute(placements=tuple(wanted))
    if of_grad is None:
        raise AssertionError(f"DTensor input {leaf} expects in grad placements but received {of_grad}!")
    return leaf.to_local() if of_grad is _NOT_SAID else leaf.to_local(grad_placements=tuple(of_grad))


def _whole(found: Any, placements: Any, mesh: Any) -> Any:
    """What a function gives, as DTensors."""
    leaves, structure = flatten(found)
    lying = placements if isinstance(placements, tuple) else (placements,)
    if len(leaves) != len(lying):
        raise AssertionError(
            "local_map requires one PlacementType be provided for each output value, received "
            f"{len(lying)} out_placements but {len(leaves)} is expected!"
        )
    return structure.unflatten(_placed(leaf, each, mesh) for leaf, each in zip(leaves, lying, strict=True))


def _placed(leaf: Any, placements: Any, mesh: Any) -> Any:
    if isinstance(leaf, DTensor):
        raise AssertionError(f"torch.Tensor output expected but received {type(leaf)}: {leaf}")
    if isinstance(leaf, torch.Tensor):
        return DTensor.from_local(leaf, mesh, placements)
    if placements is not None:
        raise AssertionError(f"Non-tensor output {leaf} expects None placements but received {placements}!")
    return leaf
