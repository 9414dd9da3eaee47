"""torch.ops.higher_order: what nodes of exported programs call for a branch or a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import rushlight as torch
from rushlight._engine.core.recording import TAPE, decides, region
from rushlight._engine.dispatch.interpreters import STACK
from rushlight._engine.tensors.tensor import Tensor
from rushlight._ops import HigherOrderOperator


def recorder() -> Any:
    """Who writes functions as graphs of their own, if the program is being exported; else None."""
    return getattr(TAPE[-1], "to", None) if TAPE else None


def holds(condition: Any, op: str) -> bool:
    """Whether the condition of a branch or loop holds: the op looks at it, so no graph of compile() ends.
    Of a tensor that has no data: of a branch the first is taken, for the shapes, and a loop is left.
    """
    if isinstance(condition, Tensor) and (condition.is_meta or hasattr(condition, "fake_mode")):
        return op == "cond"
    plain = isinstance(condition, Tensor) and condition.numel() == 1 and not condition.is_meta
    if not plain or not TAPE or getattr(TAPE[-1], "branch", None) is not None:
        return bool(condition)
    decides(op)
    return bool(condition._array.item())


class Control(HigherOrderOperator):
    """A branch or loop: `run` computes it of functions and tensors, `recorded` tells a program of it, and
    `told` what it is to a graph of compile()'s backends.
    """

    def __init__(
        self,
        name: str,
        run: Callable[..., Any],
        recorded: Callable[..., Any],
        told: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(name)
        self._run, self._recorded, self._told = run, recorded, told
        self._qualified_op_name = f"higher_order::{name}"

    def __str__(self) -> str:
        return f"higher_order.{self._name}"

    __repr__ = __str__

    def __reduce__(self) -> Any:
        return _named, (self._name,)

    def __deepcopy__(self, memo: Any) -> Control:
        return self

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The op of these functions and tensors."""
        listener = recorder()
        if listener is not None:
            return self._recorded(listener, *args, **kwargs)
        if TAPE or STACK.modes:
            found = self._as_one(*args, **kwargs)
            if found is not NotImplemented:
                return found
        return self._run(*args, **kwargs)

    def _as_one(self, *args: Any, **kwargs: Any) -> Any:
        """What it gives, as one op of a graph that is being written for make_fx or a backend of compile();
        NotImplemented where none is, or that cannot be.
        """
        writer = _writer()
        if writer is None or self._told is None:
            return NotImplemented
        made = self._told(*args, **kwargs)
        if made is NotImplemented:
            return made
        told, finish = made
        found = writer(told)
        return found if found is NotImplemented else finish(*found)


class Function(NamedTuple):
    """One of an op's functions. name, traced: of its graph, in graphs of compile()'s backends and of make_fx;
    form: of what that gives: tuple, list, or None where it is one tensor.
    """

    name: str
    traced: str
    call: Callable[..., Any]
    form: Any = tuple


class Told(NamedTuple):
    """An op that a graph can hold. sliced: of each operand that its functions get, the last ones, whether
    they get slices along its first dim. arguments(bodies, operands, more): how it is called with graphs for
    its functions; more: tensors that the functions see without being given them. alike: whether the functions
    give the same. Who writes it into a graph says which tensors it gives, and of what structure its last
    function's results are.
    """

    op: Any
    functions: Sequence[Function]
    operands: Sequence[Tensor]
    sliced: Sequence[bool]
    arguments: Callable[[Any, Any, Any], tuple[Any, ...]]
    alike: bool = False


def _writer() -> Callable[[Told], Any] | None:
    """Who writes what runs into a graph."""
    modes = STACK.modes
    if modes and hasattr(modes[-1], "branching"):
        found: Callable[[Told], Any] = modes[-1].branching
        return found
    recorder = region() if TAPE else None
    within = None if recorder is None else recorder.region
    if within is None or within.program is None or not within.mine() or within.unit is not None:
        return None
    from rushlight._dynamo.graphs import branches  # few programs need torch.fx

    return branches.told


def apart(t: Tensor, others: Sequence[Tensor]) -> Tensor:
    """A result of an op of these, as a tensor in memory of its own."""
    shared = any([np.may_share_memory(t._array, o._array) for o in others])
    return t.clone() if shared else t


def all_tensors(values: Sequence[Any]) -> bool:
    """Whether all of them are."""
    return all([isinstance(v, Tensor) for v in values])


def _named(name: str) -> Any:
    return getattr(torch.ops.higher_order, name)
