"""Selective activation checkpointing: which ops' results a checkpoint keeps, and which it computes again.

Two interpreters share what is kept. The first stands in the dispatcher during the call: of a kept op it holds
the results, and which of its operands and results the op's node saved. The second stands there during the
repetition: it gives the results out instead of computing them, and saves the same operands and results, so
that the checkpoint's places fill in the same order.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable
from typing import Any, Self

import rushlight as torch
from rushlight._engine.autograd.node import Node
from rushlight._engine.autograd.saved_tensor_hooks import HOOKS, only_repeats
from rushlight._engine.core.pytree import flatten
from rushlight._engine.core.recording import backward_only
from rushlight._engine.dispatch import interpreters
from rushlight._engine.dispatch.dispatcher import function
from rushlight._engine.dispatch.spellings import public
from rushlight._engine.tensors.tensor import storage
from rushlight._engine.trace.program import mapped
from rushlight._engine.trace.recorder import _RANDOM


class CheckpointPolicy(enum.Enum):
    """What to do with an op's results. There is no other memory to offload to: offloading is keeping."""

    MUST_SAVE, PREFER_SAVE, MUST_RECOMPUTE, PREFER_RECOMPUTE, MUST_CPU_OFFLOAD, PREFER_CPU_OFFLOAD = range(6)


_COMPUTED = (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE, False)
SAC_IGNORED_OPS: set[Any] = set()  # detach, PyTorch's one, is no op here


class SelectiveCheckpointContext:
    """Tells a policy whether the op runs again for backward; `op_output` in the first call: its result."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute, self.op_output = is_recompute, op_output


class _Kept:
    """An op's results, where its node's saved tensors come from, and the random state after it."""

    def __init__(self, found: Any, saved: list[Any], operands: list[Any], random: Any) -> None:
        self.tracked = [t.requires_grad for t in _tensors(found)]
        self.result, self.random = mapped(found, lambda t: t.detach()), random
        self.versions = self._versions()
        places = {id(t._memory): i for i, t in enumerate(_tensors([operands, found]))}
        self.saved = [places.get(id(t._memory), t.detach()) for t in saved]

    def _versions(self) -> list[int]:
        return [storage(t).version for t in _tensors(self.result)]

    def again(self, operands: list[Any], changed: bool) -> Any:
        """The results once more, as the op would have left them in the graph."""
        if self._versions() != self.versions and not changed:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        found = mapped(self.result, lambda t: t.detach())
        for t, tracked in zip(_tensors(found), self.tracked, strict=True):
            t._grad_node = (
                Node() if tracked else None
            )  # nobody goes backward here: what follows is to be recorded
        known = _tensors([operands, found])
        for source in self.saved:
            HOOKS.stack[-1][0](known[source] if isinstance(source, int) else source)
        if self.random is not None:
            torch.random._restore(self.random)
        return found


def _tensors(tree: Any) -> list[Any]:
    return [t for t in flatten(tree)[0] if isinstance(t, torch.Tensor)]


class _Selector(interpreters.Interpreter):
    """A context and an interpreter. `again`: this is the repetition."""

    def __init__(
        self, policy: Callable[..., Any], kept: dict[Any, list[_Kept]], again: bool, changed: bool
    ) -> None:
        self.policy, self.kept, self.again, self.changed = policy, kept, again, changed

    def __enter__(self) -> Self:
        super().__enter__()
        if not self.again:
            backward_only("selective activation checkpointing gives its results out once")
        return self

    def run(self, row: Any, call: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Ask the policy; give out, keep, or just run. Of composites, the ops inside are asked about."""
        if row.kind == "composite" and row.vjp is None:
            return interpreters.within(self, call, args, kwargs)
        op, operands = _named(row, args, kwargs), [list(args), list(kwargs.values())]
        if (
            op in SAC_IGNORED_OPS
            or getattr(call, "writes", False)
            or (
                self.again
                and self._computes(row, op, SelectiveCheckpointContext(is_recompute=True), args, kwargs)
            )
        ):
            return interpreters.interpret(row, call, args, kwargs)
        if self.again:
            if op not in self.kept:
                raise RuntimeError(f"{row.name} encountered during backward, but not found in storage")
            if not self.kept[op]:
                raise RuntimeError(
                    "Trying to backward an extra time. You are only allowed to backward once "
                    "on any region computed under selective activation checkpoint."
                )
            return self.kept[op].pop(0).again(operands, self.changed)
        pack, unpack = HOOKS.stack[-1] if HOOKS.stack else (only_repeats(lambda t: t),) * 2
        saved: list[Any] = []  # what the op's nodes hand to the checkpoint's hook

        @only_repeats
        def noting(t: Any) -> Any:
            saved.append(t)
            return pack(t)

        with torch.autograd.graph.saved_tensors_hooks(noting, unpack):
            found = interpreters.interpret(row, call, args, kwargs)
        context = SelectiveCheckpointContext(is_recompute=False, op_output=found)
        if not self._computes(row, op, context, args, kwargs):
            draws = row.name in _RANDOM or any(p.name == "generator" for p in row.params)
            self.kept.setdefault(op, []).append(
                _Kept(found, saved, operands, torch.random._states() if draws else None)
            )
        return found

    def _computes(self, row: Any, op: Any, context: Any, args: Any, kwargs: dict[str, Any]) -> bool:
        """What the policy says; it is asked with positional arguments, and without those left at defaults."""
        given = dict(zip([p.name for p in row.params], args), **kwargs)
        values = [(p, given[p.name]) for p in row.params if given.get(p.name, p.default) is not p.default]
        return (
            self.policy(
                context,
                op,
                *[v for p, v in values if not p.keyword_only],
                **{p.name: v for p, v in values if p.keyword_only},
            )
            in _COMPUTED
        )


def _named(row: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The op as policies know it: PyTorch's linear is an addmm, or an mm without bias."""
    if row.name == "linear":
        biased = (len(args) > 2 and args[2] is not None) or kwargs.get("bias") is not None
        return torch.addmm if biased else torch.mm
    return public(function(row))


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """The two contexts of a checkpoint that keeps some ops' results; for checkpoint's context_fn.

    policy_fn_or_list: ops (torch.mm, torch.addmm, ...) whose results are kept, or a function of
    (SelectiveCheckpointContext, op, *args, **kwargs) that answers with a CheckpointPolicy, or a bool: keep?
    allow_cache_entry_mutation: let kept results be written to afterwards. TypeError or ValueError for others.
    """
    policy = policy_fn_or_list
    if isinstance(policy, list):
        ops = policy
        for op in ops:
            if not inspect.isroutine(op):
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {op} of type "
                    f"{type(op)}. Please update the OpOverloadPacket to a specific OpOverload: "
                    "torch.mm, or torch.ops.aten.mm.default instead of torch.ops.aten.mm"
                )
        wanted = {id(op) for op in ops}

        def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> bool:
            return id(op) in wanted
    elif not callable(policy):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept: dict[Any, list[_Kept]] = {}
    first = _Selector(policy, kept, False, allow_cache_entry_mutation)
    return first, _Selector(policy, kept, True, allow_cache_entry_mutation)
