"""Branches and loops over tensors in the graphs that a backend is given: one op, whose functions are graphs
of their own. Their ops are heard while they run on tensors of the same shapes that hold no data of the call.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

import rushlight as torch
from rushlight import fx
from rushlight._dynamo.exc import UncapturedHigherOrderOpError
from rushlight._dynamo.graphs.writing import CLOSING, Opening, Writer
from rushlight._dynamo.kinds import Said
from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.core.pytree import flatten
from rushlight._engine.core.recording import escape, region as heard_region
from rushlight._engine.dispatch.interpreters import PLAIN
from rushlight._engine.numerics.rng import default_engine
from rushlight._engine.tensors.tensor import Tensor, wrap
from rushlight._engine.trace.effects.stores import storing
from rushlight._engine.trace.matching import Region
from rushlight._engine.trace.region_recorder import Suspended
from rushlight._engine.trace.shells import makers
from rushlight._engine.trace.trace import Node, Trace
from rushlight._higher_order_ops.operators import Function, Told, apart

_STORES = "Mutating a variable not in the current scope (SideEffects)"


class _Inert:
    """What stands for the program of a function that was only heard."""

    def prepare(self, arrays: Any) -> None:
        """Nothing."""

    def run(self, arrays: Any, region: Any) -> None:
        """Nothing: all has its values."""


def _stand_in(t: Tensor, sliced: bool) -> Tensor:
    """A tensor like that one, or like a slice of it, without its data."""
    shape, strides = tuple(t.shape)[sliced:], t.stride()[sliced:]
    like = torch.empty_strided(shape, strides, dtype=t.dtype, device=t.device)
    return like.fill_(1 if t.is_floating_point() else 0)


class _Hearing(Region):
    """Hears a function. Tensors that it sees of the program stand for themselves in its ops with memory of
    their own, so that nothing of the program's is written to, or waited for, and no other thread meets that.
    """

    def __init__(self, trace: Trace, own: Sequence[Tensor]) -> None:
        super().__init__(trace)
        self.own = {id(t) for t in own}
        # By ids of tensors that are seen: these, and what stands for them; the first by ids of the second.
        self.stood: dict[int, tuple[Tensor, Tensor]] = {}
        self.seen: dict[int, Tensor] = {}

    def _match_op(self, row: Any, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = super()._match_op(row, call, self._standing(args), self._standing(kwargs))
        return self.seen.get(id(found), found)

    def _standing(self, tree: Any) -> Any:
        """Arguments with what stands for the tensors that are seen."""
        cls = tree.__class__
        if cls in (list, tuple):
            return cls([self._standing(v) for v in tree])
        if cls is dict:
            return {name: self._standing(v) for name, v in tree.items()}
        if cls not in PLAIN or id(tree) in self.own or id(tree) in self.seen:
            return tree
        known = self.stood.get(id(tree))
        if known is None:
            of = tree._kind
            if of.special or of.device.type != "cpu" or self.place_of(tree) is not None:
                return tree
            known = self.stood[id(tree)] = tree, _unread(tree)
            self.seen[id(known[1])] = tree
        return known[1]

    def forget(self) -> None:
        """Let what was seen go: a region is part of a cycle, and what lives is a result of the graph."""
        self.stood.clear()
        self.seen.clear()


def _unread(t: Tensor) -> Tensor:
    """A tensor like that one, at its place in autograd's graph, without its data."""
    array = makers().peek(t)
    like = wrap(_like(t._hidden.layout if array is None else array), t._kind)
    like._grad_node, like._output_nr = t._grad_node, t._output_nr
    return like


def _like(a: Any) -> Any:
    """An array that lies as that one does."""
    size = a.itemsize + sum([(n - 1) * s for n, s in zip(a.shape, a.strides, strict=True)])
    return np.ndarray(a.shape, a.dtype, np.zeros(max(size, 1), np.uint8), 0, a.strides)


class Body:
    """The ops of a function, heard. inputs: of each tensor that came in, its place, and which of the given
    ones it is, or the tensor that the function saw; gives: the structure of what it gave, kinds and sizes.
    """

    def __init__(self, of: Function, path: list[Node], inputs: list[tuple[int, Any]], gives: Any) -> None:
        self.name, self.form = of.name, of.form
        self.path, self.inputs, self.gives = path, inputs, gives
        self.results = path[-1].args
        self.grad_mode = LOCAL.enabled

    def resolve(self, more: dict[int, Any], whole: Sequence[Any]) -> None:
        """Number the tensors that the function saw: those that it was given whole, by their ids, and behind
        all that it was given, others, which are noted in `more`.
        """
        for i, (place, t) in enumerate(self.inputs):
            if isinstance(t, Tensor):
                seen = id(t) in whole
                number = (
                    whole.index(id(t)) if seen else more.setdefault(id(t), (len(whole) + len(more), t))[0]
                )
                self.inputs[i] = place, number

    def graph(
        self, said: Said, names: Sequence[str], numbers: Counter[str], stack: Sequence[Any] = ()
    ) -> Callable[[], fx.GraphModule]:
        """What makes a module of the ops. names: of its inputs; numbers, stack: as of a Writer."""
        writer = Writer(said, numbers, self.grad_mode, stack)
        nodes = [writer.graph.placeholder(name) for name in names]
        for place, what in self.inputs:
            said.add(place, what)
            writer.made[place] = nodes[what]
        writer.write(self.path)
        said.add(*self.results)
        found = [writer.made[p] for p in self.results]
        return partial(writer.end, found[0] if self.form is None else self.form(found))


def heard(of: Function, given: Sequence[Tensor], sliced: Sequence[bool]) -> Body | None:
    """A function's ops; None where they are no single graph, write to what they get, or give no tensors."""
    trace = Trace()
    trace.program = lambda *which: _Inert()
    own = list(map(_stand_in, given, sliced))
    region: Any = _Hearing(trace, own)
    engine = default_engine()
    state, enabled = engine.get_state(), LOCAL.enabled
    try:
        with region.at(trace.root):
            number = region.number
            with storing() as watch:
                leaves, spec = flatten(of.call(*own))
            plain = all([t.__class__ in PLAIN for t in leaves])
            if not plain or region.told(CLOSING, leaves) is NotImplemented or region.number != number:
                return None
            path = region.node.path()
            inputs = _inputs(region, own)
            gives = str(spec), [(t._kind, t.shape) for t in leaves]
            made = [ref for place, ref in region.places.values() if place not in region.inputs]
    except Exception:  # of whatever kind: the program meets it where the function runs on its own tensors
        return None
    finally:
        region.forget()
        engine.set_state(state)
        LOCAL.enabled = enabled
    leaves.clear()  # and with them what they are views of, and what their nodes keep
    handed = _alive(made)
    if handed or watch.found:
        raise UncapturedHigherOrderOpError(
            f"{of.name}: a function of a branch or loop hands "
            f"{'a tensor' if handed else 'something'} on by something else than what it returns. {_STORES}"
            + (f": {watch.found}" if watch.found else "")
        )
    places = {place for place, _ in inputs or ()}
    if inputs is None or any([p in places for n in path for p in n.origins().values()]):
        return None
    return Body(of, path, inputs, (spec, gives))


def _alive(made: Sequence[Callable[[], Any]]) -> bool:
    """Whether somebody holds a tensor of a function that is through."""
    if all([ref() is None for ref in made]):
        return False
    gc.collect()
    return any([ref() is not None for ref in made])


def _inputs(region: Any, own: list[Tensor]) -> list[tuple[int, Any]] | None:
    """What came in: places, with which of the given tensors it is, or the tensor itself."""
    region.met()
    given = {id(t): k for k, t in enumerate(own)}
    found = []
    for place, (ref, _) in sorted(region.inputs.items()):
        t = ref()
        if t is None:
            return None
        found.append((place, given.get(id(t), region.seen.get(id(t), t))))
    return found


class Branching:
    """An op of functions that were heard, of tensors alone: a branch or a loop, as a node. more: how many
    tensors the functions see without being given them.
    """

    acts = True

    def __init__(self, told: Told, bodies: list[Body], more: int) -> None:
        self.op, self._arguments, self.name = told.op, told.arguments, str(told.op)
        self.bodies = bodies
        self._split, self._first = len(told.operands), len(told.operands) - len(told.sliced)
        said, names = Said(), [f"arg{i}_1" for i in range(len(told.sliced) + more)]
        self._graphs = [b.graph(said, names, Counter()) for b in bodies]
        self._key = told.op, self._split, more, tuple(said.numbers), said.key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Branching) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def modules(self) -> list[fx.GraphModule]:
        """The functions: made when they are to run, as most calls only ask whether the op is a known one."""
        return [made() for made in self._graphs]

    def write(self, writer: Writer, operands: list[fx.Node]) -> fx.Node:
        """The node of the op, and its bodies, in a graph."""
        names = [n.name for n in operands[self._first :]]
        stack = [*writer.stack, (self.op.name(), self.op)]
        graphs = [b.graph(Said(), names, writer.numbers, stack)() for b in self.bodies]
        nodes = [writer.body(b.name, g) for b, g in zip(self.bodies, graphs, strict=True)]
        args = self._arguments(nodes, operands[: self._split], operands[self._split :])
        return writer.graph.call_function(self.op, args)

    def run(self, *tensors: Tensor) -> list[Tensor]:
        """What the op gives, as tensors."""
        found = self.op._run(*self._arguments(self.modules, tensors[: self._split], tensors[self._split :]))
        return [apart(t, tensors) for t in found]

    def __call__(self, *tensors: Tensor) -> list[Tensor]:
        """The same, of which the region that listens hears nothing else."""
        recorder = heard_region()
        region = None if recorder is None else recorder.region
        if region is None or region.unit is None:
            return self.run(*tensors)
        with Suspended(region):
            out = self.run(*tensors)
        region.unit.nodes.clear()
        region.recorder.run(self, tuple([t._array for t in tensors]), out, None)
        return out


class _Through(torch.autograd.Function):
    """The op with gradients: its backward runs the op's functions again."""

    @staticmethod
    def forward(ctx: Any, region: Any, op: Branching, *tensors: Tensor) -> Any:
        """What the op gives."""
        ctx.op = op
        ctx.save_for_backward(*tensors)
        return tuple(region.told(op, tensors))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients of the tensors."""
        own = [t.detach().requires_grad_(t.requires_grad) for t in ctx.saved_tensors]
        with torch.enable_grad():
            found = ctx.op.run(*own)
        pairs = [(t, g) for t, g in zip(found, grads, strict=True) if t.requires_grad and g is not None]
        asked = [t for t in own if t.requires_grad]
        outs, given = [t for t, _ in pairs], [g for _, g in pairs]
        made = torch.autograd.grad(outs, asked, given, allow_unused=True) if pairs else [None] * len(asked)
        left = iter(made)
        return None, None, *[_or_zeros(next(left), t) if t.requires_grad else None for t in own]


def _or_zeros(grad: Any, t: Tensor) -> Tensor:
    """The gradient of a tensor; zeros of one that the branch that was taken does not see."""
    return torch.zeros_like(t) if grad is None else grad


def told(of: Told) -> Any:
    """(the tensors that an op gives, the structure of what its last function gave), of an op that a backend's
    graph holds as one; NotImplemented where the functions cannot be graphs of their own.
    """
    recorder = heard_region()
    region = recorder.region
    if region.trail is not None or any([t.__class__ not in PLAIN for t in of.operands]):
        return NotImplemented
    given = of.operands[len(of.operands) - len(of.sliced) :]
    with Suspended(region):
        found = [heard(f, given, of.sliced) for f in of.functions]
    bodies = [b for b in found if b is not None]
    if len(bodies) < len(found) or (of.alike and bodies[0].gives[1] != bodies[1].gives[1]):
        return NotImplemented
    whole = [None if s else id(t) for t, s in zip(given, of.sliced, strict=True)]
    more: dict[int, Any] = {}
    for b in bodies:
        b.resolve(more, whole)
    made = Branching(of, bodies, len(more))
    tensors = [*of.operands, *[t for _, t in more.values()]]
    if LOCAL.enabled and any([t.requires_grad for t in tensors]):
        results = _Through.apply(region, made, *tensors)
    else:
        results = region.told(made, tensors)
    return list(results), bodies[-1].gives[0]


def wrapped(op: Any, body: str, kwargs: dict[str, Any], call: Callable[[], Any]) -> Any:
    """call(), whose ops are a graph of its own for an op, where a backend is given graphs; not where it
    stores into what was there before: the graph ends then.
    """
    region = getattr(heard_region(), "region", None)
    if region is None or region.told(Opening(op, body, kwargs), ()) is NotImplemented:
        return call()
    known, begin = region.trace.stores, region.node
    if region.recording or begin not in known:
        with storing() as watch:
            found = call()
        known[begin] = watch.found
    else:
        found = call()
    if known[begin]:
        escape(f"{op}: {_STORES}: {known[begin]}")
        return found
    leaves = [t for t in flatten(found)[0] if isinstance(t, Tensor)]
    region.told(CLOSING, leaves)
    return found
