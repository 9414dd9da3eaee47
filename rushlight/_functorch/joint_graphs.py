"""Graphs of a function for compilers of programs' own: of the forward alone, or of forward and backward.

The function is run once to see what it gives and what it writes into, then recorded by make_fx. Writes become
new values, so that what the graph gives first are the inputs that were written into, as they are afterwards.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import rushlight as torch
from rushlight._engine.core.pytree import tree_map
from rushlight.export import overloads
from rushlight.export.functional import Functional
from rushlight.fx.experimental.proxy_tensor import make_fx, own_copy
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node

Flat = Callable[..., list[Any]]


class Output(NamedTuple):
    """A result: a tensor or not; whether it has a gradient; which input it is, or is a view of, and how."""

    value: Any
    requires_grad: bool
    input: int | None = None
    view: tuple[Any, ...] | None = None


class Facts(NamedTuple):
    """What is known of a function: its results, the inputs that it writes into, and which of these have a
    gradient then.
    """

    outputs: list[Output]
    written: list[int]
    tracked: list[int]
    training: bool


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _own(value: Any) -> Any:
    """A copy of an argument, with its layout; a number as it is."""
    if not _is_tensor(value):
        return value
    copy = value.detach().clone(memory_format=torch.preserve_format)
    return copy.requires_grad_(value.requires_grad)


def seen(function: Flat, args: Sequence[Any]) -> Facts:
    """Run a function on copies of its arguments, and say what it did. Random numbers are not used up."""
    state = torch.get_rng_state()
    leaves = [_own(a) for a in args]
    shared = _sharing(args)
    given = [a.clone() if _is_tensor(a) and a.requires_grad else a for a in leaves]
    before = [a._version if _is_tensor(a) else 0 for a in given]
    try:
        found = function(*given)
    finally:
        torch.set_rng_state(state)
    outputs = [_output(value, given) for value in found]
    written = [i for i, a in enumerate(given) if _is_tensor(a) and a._version != before[i]]
    if shared & set(written):
        raise NotImplementedError(
            "the function writes into an argument that shares memory with another argument, which graphs of "
            "values cannot say: give it a clone of one of them"
        )
    grads = torch.is_grad_enabled() and any(_is_tensor(a) and a.requires_grad for a in leaves)
    after = [*(given[i] for i in written), *(o.value for o in outputs)]
    training = grads and any(_is_tensor(v) and v.requires_grad for v in after)
    return Facts(outputs, written, [i for i in written if given[i].requires_grad], training)


def _sharing(args: Sequence[Any]) -> set[int]:
    """The places of the arguments that lie in the memory of others."""
    places: dict[int, list[int]] = {}
    for i, arg in enumerate(args):
        if _is_tensor(arg) and arg.numel():
            places.setdefault(arg.untyped_storage().data_ptr(), []).append(i)
    return {i for several in places.values() if len(several) > 1 for i in several}


def _output(value: Any, given: Sequence[Any]) -> Output:
    if not _is_tensor(value):
        return Output(value, False)
    for i, arg in enumerate(given):
        if value is arg:
            return Output(value, value.requires_grad, i)
        if _is_tensor(arg) and value.numel() and value.dtype is arg.dtype and _shares(value, arg):
            view = tuple(value.shape), value.stride(), value.storage_offset() - arg.storage_offset()
            return Output(value, value.requires_grad, i, view)
    return Output(value, value.requires_grad)


def _shares(value: Any, arg: Any) -> bool:
    return bool(value.untyped_storage().data_ptr() == arg.untyped_storage().data_ptr())


class Joint(NamedTuple):
    """A graph, and how many of its results are the forward's; `tangents`: which of these have gradients."""

    module: GraphModule
    forward_results: int
    tangents: list[int]
    tangent_values: list[Any]


def inference(function: Flat, args: Sequence[Any], facts: Facts, table: Any = None) -> Joint:
    """The graph of the forward alone."""

    def run(*given: Any) -> list[Any]:
        with torch.no_grad():
            found = function(*given)
        return [*(given[i] for i in facts.written), *found]

    plain = [a.detach() if _is_tensor(a) else a for a in args]
    return Joint(recorded(run, plain, table), len(facts.written) + len(facts.outputs), [], [])


def joint(function: Flat, args: Sequence[Any], facts: Facts, table: Any = None) -> Joint:
    """The graph of forward and backward, of (primals, tangents)."""
    results = [*(None for _ in facts.written), *facts.outputs]
    places = [i for i, i_in in enumerate(facts.written) if i_in in facts.tracked]
    places += [i for i, o in enumerate(results) if o is not None and o.requires_grad and o.input is None]
    values = [
        torch.ones_like(args[facts.written[i]] if results[i] is None else results[i].value).detach()  # type: ignore[union-attr]
        for i in places
    ]

    def run(primals: list[Any], tangents: list[Any]) -> list[Any]:
        given = [p.clone() if i in facts.tracked else p for i, p in enumerate(primals)]
        own = [_is_tensor(p) and p.requires_grad for p in primals]
        found = function(*given)
        forward = [*(given[i] for i in facts.written), *found]
        sources = [p for p, has in zip(primals, own, strict=True) if has]
        wanted = [(forward[i], t) for i, t in zip(places, tangents, strict=True)]
        grads: Any = [None] * len(sources)
        if wanted and sources:
            grads = torch.autograd.grad(
                [f for f, _ in wanted], sources, [t for _, t in wanted], allow_unused=True
            )
        left = iter(grads)
        return [
            *forward,
            *(next(left) if has else None for has in own),
        ]

    with torch.enable_grad():
        module = recorded(run, [list(args), values], table)
    return Joint(module, len(results), places, values)


def recorded(run: Callable[..., Any], args: Sequence[Any], table: Any) -> GraphModule:
    """The graph of values that `run` computes of these arguments."""
    state = torch.get_rng_state()
    own = tree_map(
        lambda a: own_copy(a) if _is_tensor(a) else a, args
    )  # what it writes is written by its runs
    try:
        made = make_fx(run, table)(*own)
    finally:
        torch.set_rng_state(state)
    _refuse_written_constants(_Functional(made.graph))
    for node in list(made.graph.nodes):
        if node.op == "call_function" and str(node.target) == "aten.detach.default":
            node.replace_all_uses_with(node.args[0])
            made.graph.erase_node(node)
    made.graph.eliminate_dead_code()
    end = made.graph.output_node()
    end.args = (tuple(end.args[0]),)
    return GraphModule(made, made.graph)


def _refuse_written_constants(functional: Functional) -> None:
    """What a graph of values writes into its constants would be lost."""
    for node, count in functional.versions.items():
        if node.op == "get_attr" and count:
            raise NotImplementedError(
                f"the function writes into {node.target}, a tensor that it was not given, which graphs of "
                "values cannot say: give it that tensor as an argument"
            )


class _Functional(Functional):
    """A graph without writes, where the statistics of batch_norm are results as well."""

    def _node(self, node: Node) -> None:
        trains = str(node.target) == "aten.native_batch_norm.default" and node.args[5] is True
        if trains and isinstance(node.args[3], Node):
            self._with_statistics(node)
        else:
            super()._node(node)

    def _with_statistics(self, node: Node) -> None:
        """batch_norm with its statistics as results, which are from here on what it would have written."""
        op = overloads.anyone("_native_batch_norm_legit_functional.default")
        made = self.graph.call_function(op, node.args, name=op._schema.op_name)
        made.meta.update(node.meta)
        Functional._node(self, made)
        for place in (3, 4):
            own: Any = node.args[place]
            part = self.graph.call_function(operator.getitem, (made, place))
            part.meta["val"] = own.meta["val"]
            self._becomes(own, part)
        node.replace_all_uses_with(made)
        self.graph.erase_node(node)

    def _becomes(self, node: Node, value: Node) -> None:
        alias = self.aliases[node]
        version = self.versions[alias.base] = self.versions[alias.base] + 1
        self.current[alias.base] = self.made[node, version] = value
        self.aliases[value], self.seen[value] = alias, version
