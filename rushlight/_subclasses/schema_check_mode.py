"""torch._subclasses.schema_check_mode: whether ops write to and share what their signatures say."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any, NamedTuple

import rushlight as torch
from rushlight._engine.core.pytree import flatten
from rushlight.ops._schemas import AliasInfo, Schema
from rushlight.utils._python_dispatch import TorchDispatchMode

# Ops that write to arguments of which their signatures say nothing, where the other argument is true.
_TRAINING = {
    "aten::batch_norm": "training",
    "aten::native_batch_norm": "training",
    "aten::_batch_norm_impl_index": "training",
    "aten::cudnn_batch_norm": "training",
    "aten::miopen_batch_norm": "training",
    "aten::instance_norm": "use_input_stats",
}
_STATISTICS = ("running_mean", "running_var")
# Their results share memory though their signatures deny it: that is what they are for.
_UNSAFE = ("aten::_unsafe_view", "aten::unsafe_split")
_LIFTS = ("aten::lift", "aten::lift_fresh")


class Mutation(NamedTuple):
    """An argument that an op has written to."""

    op_name: str
    arg_name: str


class Aliasing(NamedTuple):
    """An argument whose memory a result shares."""

    op_name: str
    arg_name: str
    output_number: str


def is_iterable_of_tensors(iterable: Any) -> bool:
    """Whether it is a list, or another iterable, of one tensor or more and of nothing else."""
    if isinstance(iterable, torch.Tensor):
        return False
    try:
        return len(iterable) > 0 and all(isinstance(item, torch.Tensor) for item in iterable)
    except TypeError:
        return False


def clone_inputs(args: Iterable[Any]) -> list[Any]:
    """The arguments, tensors and lists of them copied."""
    return [
        arg.detach().clone()
        if isinstance(arg, torch.Tensor)
        else [item.detach().clone() for item in arg]
        if is_iterable_of_tensors(arg)
        else arg
        for arg in args
    ]


def _tensors(value: Any) -> list[torch.Tensor]:
    """The tensors of a value; of a subclass that wraps another as `elem`, that one."""
    found = [leaf for leaf in flatten(value)[0] if isinstance(leaf, torch.Tensor)]
    return [getattr(x, "elem", x) if type(x) is not torch.Tensor else x for x in found]


def _memory(x: torch.Tensor) -> Any:
    """What is the same object for all tensors of one memory; None for those without one, such as sparse."""
    return x.untyped_storage()._cdata if x.layout is torch.strided else None


def overlap(one: Any, other: Any) -> bool:
    """Whether tensors of two values share memory."""
    ours, theirs = ({_memory(x) for x in _tensors(value)} - {None} for value in (one, other))
    return bool(ours & theirs)


class _State:
    """A tensor as it was before a call: where it lies, and its numbers."""

    def __init__(self, x: torch.Tensor) -> None:
        self.place = (x.shape, x.stride(), _memory(x)) if x.layout is torch.strided else None
        self.values = x.detach().clone()

    def changed(self, x: torch.Tensor) -> bool:
        """Whether the tensor is another now."""
        if self.place is None or type(x) is not torch.Tensor:
            return False
        same = self.place == (x.shape, x.stride(), _memory(x))
        return not (same and torch.allclose(self.values, x.detach(), equal_nan=True))


class _Declared:
    """What a signature says of memory, for a call's arguments."""

    def __init__(self, schema: Schema, given: dict[str, Any]) -> None:
        self.arguments, self.returns = schema.arguments, schema.returns
        names = [p.name for p in schema.arguments]
        # Arguments that share memory are one: what may be done with one may be with the other.
        self._together = [
            [j for j, other in enumerate(names) if j == i or overlap(given[name], given[other])]
            for i, name in enumerate(names)
        ]
        training = given.get(_TRAINING.get(schema.name, ""))
        self._written = [p.is_written or (bool(training) and p.name in _STATISTICS) for p in schema.arguments]

    def is_mutable(self, argument: int) -> bool:
        """Whether the op may write to an argument."""
        return any(self._written[i] for i in self._together[argument])

    def may_share(self, result: int, argument: int) -> bool:
        """Whether a result may share an argument's memory."""
        own = self.returns[result].alias_info
        return any(_meet(own, self.arguments[i].alias_info) for i in self._together[argument])

    def may_meet(self, result: int, other: int) -> bool:
        """Whether two results may share memory."""
        if _meet(self.returns[result].alias_info, self.returns[other].alias_info):
            return True
        places = range(len(self.arguments))
        return any(self.may_share(result, i) and self.may_share(other, i) for i in places)


def _meet(one: AliasInfo | None, other: AliasInfo | None) -> bool:
    """Whether two types may be of the same memory."""
    if one is None or other is None:
        return False
    names = [info.sets[0] | info.sets[1] for info in (one, other)]
    return bool(names[0] & names[1])


class SchemaCheckMode(TorchDispatchMode):
    """Inside of the context each op is held to its signature: RuntimeError where it writes to an argument or
    results share memory, and the signature does not say so. `ops`, `mutated` and `aliasing` tell what ran.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[str] = []
        self.mutated: list[Mutation] = []
        self.aliasing: list[Aliasing] = []

    def reset_cache(self) -> None:
        """Forget what ran."""
        self.ops.clear()
        self.mutated.clear()
        self.aliasing.clear()

    def display_ops(self) -> None:
        """Print the names of the ops that ran, with commas between."""
        print(*self.ops, sep=",")

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run the op and compare."""
        schema: Schema = func._schema
        self.ops.append(schema.name)
        given = func.bound(args, kwargs or {})
        before = {name: [_State(x) for x in _tensors(value)] for name, value in given.items()}
        declared = _Declared(schema, given)
        found = func(*args, **(kwargs or {}))
        several = isinstance(found, tuple) and len(schema.returns) != 1  # a list of tensors is one result
        results = found if several else (found,)
        for i, parameter in enumerate(schema.arguments):
            name, value = parameter.name, given[parameter.name]
            own = (schema.name, "input" if name == "self" else name)
            if value is None:
                continue
            self._compare_results(declared, i, own, value, results)
            if any(old.changed(x) for old, x in zip(before[name], _tensors(value), strict=False)):
                if not declared.is_mutable(i):
                    raise RuntimeError(f"Argument {own[1]} is not defined as mutable but was mutated")
                self.mutated.append(Mutation(*own))
        for i, j in combinations(range(min(len(schema.returns), len(results))), 2):
            if overlap(results[i], results[j]) and not declared.may_meet(i, j):
                raise RuntimeError(f"Outputs {i} and {j} alias unexpectedly")
        return found

    def _compare_results(
        self, declared: _Declared, i: int, own: tuple[str, str], value: Any, results: tuple[Any, ...]
    ) -> None:
        """Whether results share an argument's memory, or are the argument itself."""
        op, name = own
        for j, result in enumerate(results):
            if op not in _UNSAFE and overlap(result, value):
                if not declared.may_share(j, i):
                    raise RuntimeError(f"Argument {name} is not defined to alias output but was aliasing")
                self.aliasing.append(Aliasing(op, name, f"output_{j}"))
            same = result is value and isinstance(value, torch.Tensor)
            if same and not declared.is_mutable(i) and op not in _LIFTS:
                raise RuntimeError(
                    "Dispatcher operators below autograd are not allowed to directly return inputs.\n"
                    f"However, we found that `outputs[{j}] is {name}"
                )
