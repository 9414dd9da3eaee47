"""compile() on a CUDA device: a kind of calls as a captured graph, whose replay is one launch.

The first call runs as it is. The second is looked at: what it did in Python, whether values left for the
host. The third is captured: its Python runs once more while the driver notes the work, on copies of its
arguments; so are the gradients of results whose backward() comes later. From then on a call copies its
arguments there, launches the graph and copies the results, while the guards hold. Steps of optimizers are in
the graph, too; the numbers of each (its rate, its count) are put into the device's memory before the launch.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple, cast

from rushlight._engine.autograd.engine import grad
from rushlight._engine.core.errors import Unsupported
from rushlight._engine.core.pytree import flatten
from rushlight._engine.core.recording import TAPE
from rushlight._engine.devices.cuda.graphs import CUDAGraph, graph
from rushlight._engine.tensors.storages.storage import Storage, address
from rushlight._engine.tensors.tensor import Tensor, storage, wrap, wrap_view
from rushlight._engine.trace.effects.purity import watched
from rushlight._engine.trace.guards import Guards
from rushlight._engine.trace.passes.memory import Room, uncollected
from rushlight._engine.trace.program import holders, mapped, replaced, results_of, tracked_of
from rushlight._engine.trace.recorder import place_of, recording, roots
from rushlight._engine.trace.regions import BoundaryNode, CompiledBackward, leaves_of, saved

# What ops on a device tell of themselves, which is no escape here.
_OURS = "on a CUDA device"
# How often a kind of calls is captured again, as gradients were held otherwise than before.
MOST_CAPTURES = 4


class Tape:
    """What a call says of itself while it is looked at, or captured; `why` it cannot be replayed, if so."""

    fuses, once = False, ""

    def __init__(self, captures: bool) -> None:
        self.captures, self.why = captures, ""
        self.thread = threading.get_ident()
        # What Python does after the last step of an optimizer, at every replay.
        self.tail: list[Callable[[], Any]] = []

    def escape(self, what: str, breaks: bool = True) -> None:
        """A value left for Python, or something cannot be repeated."""
        if not self.why and not what.endswith(_OURS) and threading.get_ident() == self.thread:
            self.why = f"{what}, at {place_of()}"

    def run(self, function: Any, operands: Any, result: Any, values: Sequence[Any]) -> None:
        """An op was done."""
        self._on_device(values)

    def write(self, function: Any, operands: Any, values: Sequence[Any]) -> None:
        """Memory was written."""
        self._on_device(values)

    def _on_device(self, values: Sequence[Any]) -> None:
        if any(
            [
                isinstance(v, Tensor) and v._kind.backend is None and v._geometry.ndim
                for v in flatten(values)[0]
            ]
        ):
            self.escape("an op on the CPU")

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Python that is part of every replay: an optimizer's step, or what follows it."""
        plain = getattr(function, "func", function)
        given = (getattr(plain, "__self__", None), *getattr(function, "args", ()), *args)
        owner = next((g for g in given if g is not None), None)
        if hasattr(owner, "param_groups") or isinstance(owner, Tensor):
            if self.tail:
                self.escape("an optimizer steps after a scheduler has")
        elif hasattr(owner, "last_epoch"):
            self.tail.append(lambda: function(*args))
            if self.captures:
                return None  # when the captured work is done
        else:
            self.escape(f"{getattr(plain, '__qualname__', plain)} decides in Python")
        TAPE.remove(self)
        try:
            return function(*args)
        finally:
            TAPE.append(self)

    def accumulate(self, function: Callable[..., Any], node: Any, given: Tensor, create: bool) -> None:
        """A leaf receives its gradient."""
        function(node, given, create)

    def backward_begins(self) -> None:
        """Gradients are computed from here on."""

    def constant(self, array: Any) -> None:
        """Values that Python made."""


class Result(NamedTuple):
    """What stands for one of a captured call's results at a replay."""

    first: int  # the first result that is the same tensor
    argument: int | None  # the argument that it is
    held: Tensor | None  # the function's own tensor that it is, or is a view of
    whole: Any  # the bytes of its memory, where others lie in it, too, or gaps; None: it is all of that


class DeviceProgram:
    """A kind of calls, captured; `run` has the methods' names of a Program (program.py)."""

    # What a capture makes: copies of the arguments that it works on, and the call that has them; the leaves
    # that receive gradients, and these before and after; memory that is written; the graph, its results, and
    # what Python does behind it.
    inputs: list[Tensor]
    call: Any  # (args, kwargs)
    leaves: list[Tensor]
    begins: list[Tensor | None]
    ends: list[Tensor | None]
    written: list[Storage]
    writes: set[int]  # the arrays that this memory is, by identity: an argument there is read as it is then
    graph: CUDAGraph
    output: Any
    results: list[Result]
    tail: list[Callable[[], Any]]
    # What the backward's capture makes: results that require a gradient, and theirs; the leaves, each with
    # its place among the inputs (None: it is none), and their gradients.
    tracked: list[Tensor]
    seeds: list[Tensor]
    reached: list[Tensor]
    places: list[int | None]
    grads: Sequence[Tensor | None]

    def __init__(self, function: Callable[..., Any], guards: Guards, device: Any) -> None:
        self.function, self.guards, self.device = function, guards, device
        self.room = Room()
        self.captures = 0
        self.refusal = ""
        # Of a graph's gradients nobody looks how they lie.
        self.orders: list[tuple[int, ...] | None] = []
        self.backward: CUDAGraph | None = None

    # --- capturing ----------------------------------------------------------------------------------

    def capture(self, tensors: Sequence[Tensor], args: Any, kwargs: Any) -> str:
        """Capture a call, without doing its work; why it cannot be, "" if it was."""
        device, known = self.device, self.guards.known()
        self.captures += 1
        self.inputs = [_copied(t) for t in tensors]
        place = {id(t): k for k, t in enumerate(tensors)}
        self.call = mapped((args, kwargs), lambda t: self.inputs[place[id(t)]])
        self.leaves = [p for p in known if p._grad_node is not None and p.is_leaf]
        self.begins = [getattr(p, "_grad", None) for p in self.leaves]
        state = [t for t in known if t._kind.backend is not None]
        self.written = [storage(t) for t in state]
        versions = [s.version for s in self.written]
        self.graph, self.backward = CUDAGraph(), None
        tape = Tape(True)
        try:
            with graph(self.graph), recording(cast(Any, tape)):
                device.capture.live = device.capture.fuses = True
                self.output = self.function(*self.call[0], **self.call[1])
            self.results = self._placed()
            why = tape.why or self._backward()
        except (RuntimeError, NotImplementedError) as error:
            why = f"it cannot be captured: {str(error).splitlines()[0]}"
        finally:
            ends = [getattr(p, "_grad", None) for p in self.leaves]
            for p, begin in zip(self.leaves, self.begins, strict=True):
                p._grad = begin
        self.ends, self.tail = ends, tape.tail
        changed = [s.version != v for s, v in zip(self.written, versions, strict=True)]
        self.writes = roots([t for t, new in zip(state, changed, strict=True) if new])
        self.written = [s for s, new in zip(self.written, changed, strict=True) if new]
        return why

    def _backward(self) -> str:
        """Capture the gradients of results whose backward() comes later."""
        self.tracked = tracked_of(self.output)
        if not self.tracked:
            return ""
        self.reached = leaves_of(self.tracked)
        own = {id(t): k for k, t in enumerate(self.inputs)}
        known = {id(t) for t in self.guards.known()}
        if any(id(leaf) not in own and id(leaf) not in known for leaf in self.reached):
            return (
                "a tensor requires grad that is neither an argument nor one that the function's guards know"
            )
        self.places = [own.get(id(leaf)) for leaf in self.reached]
        self.seeds = [
            wrap(self.device.empty(t._array.shape, t._array.dtype, poison=False), t._kind)
            for t in self.tracked
        ]
        self.backward = backward = CUDAGraph()
        with graph(backward, pool=self.graph.pool()):
            self.device.capture.live = self.device.capture.fuses = True
            self.grads = grad(self.tracked, self.reached, self.seeds, retain_graph=True, allow_unused=True)
        return ""

    def _placed(self) -> list[Result]:
        """How each result is to lie in memory."""
        tensors, firsts = results_of(self.output), dict[int, int]()
        arguments = {id(t): k for k, t in enumerate(self.inputs)}
        known = {id(t): t for t in self.guards.known()}
        owners = {id(t._storage): t for t in known.values() if t._storage is not None}
        members = holders(tensors)
        found = []
        for n, t in enumerate(tensors):
            held = known[id(t)] if id(t) in known else owners.get(id(t._storage))
            a: Any = t._array
            whole = storage(t).bytes(a) if t._kind.backend is not None else None
            if whole is not None and members[id(t._storage)] == 1 and a.dense and whole.nbytes == a.nbytes:
                whole = None
            found.append(Result(firsts.setdefault(id(t), n), arguments.get(id(t)), held, whole))
        return found

    # --- replays ------------------------------------------------------------------------------------

    def run(self, tensors: Sequence[Tensor]) -> Any:
        """The results for these inputs."""
        if not self._held_as_before() or not self.graph.holds():
            return self._otherwise(tensors)
        for own, t in zip(self.inputs, tensors, strict=True):
            self.device.duplicate(own._array, t._array)
        self.graph.replay()
        for p, end in zip(self.leaves, self.ends, strict=True):
            p._grad = end
        for s in self.written:
            s.version += 1
        node = None if self.backward is None else self._node(tensors)
        found = self._results(tensors, node)
        for each in self.tail:
            each()
        return found

    def _held_as_before(self) -> bool:
        """Whether gradients are held as the captured work takes for granted."""
        for p, begin, end in zip(self.leaves, self.begins, self.ends, strict=True):
            now = getattr(p, "_grad", None)
            # Added up in place, or made anew where there was none; what was there else is replaced.
            if (end is begin or begin is None) and now is not begin:
                return False
        return True

    def _otherwise(self, tensors: Sequence[Tensor]) -> Any:
        """A call that finds gradients held in another way, or an optimizer's switches changed: captured
        again, or run as it is.
        """
        args, kwargs = self._called(tensors)
        if not self.refusal and self.captures < MOST_CAPTURES:
            self.refusal = self.capture(tensors, args, kwargs)
            if not self.refusal:
                return self.run(tensors)
        return self.function(*args, **kwargs)

    def _called(self, tensors: Sequence[Tensor]) -> Any:
        """The arguments that hold these tensors."""
        place = {id(t): k for k, t in enumerate(self.inputs)}
        return mapped(self.call, lambda t: tensors[place[id(t)]])

    def _node(self, tensors: Sequence[Tensor]) -> CompiledBackward:
        ends = [leaf if k is None else tensors[k] for leaf, k in zip(self.reached, self.places, strict=True)]
        guarded = self.guards.known()
        node = CompiledBackward(
            tuple([None if t._grad_node is None else (t._grad_node, t._output_nr) for t in ends]),
            (self, saved(guarded)),
        )
        self.room.latest = weakref.ref(node)
        return node

    def run_backward(self, grads: Sequence[Tensor | None]) -> list[Tensor | None]:
        """The leaves' gradients, for those of the tracked results."""
        for own, given in zip(self.seeds, grads, strict=True):
            if given is None:
                own._array[...] = 0
            else:
                self.device.duplicate(own._array, given._array)
        if self.backward is not None:
            self.backward.replay()
        return [None if g is None else self._apart(g) for g in self.grads]

    def _apart(self, t: Tensor) -> Tensor:
        """A copy: the graph's own memory is written by the next replay."""
        a: Any = t._array
        made = self.device.empty(a.shape, a.dtype, a.strides if a.dense else None, poison=False)
        self.device.duplicate(made, a)
        found: Tensor = wrap(made, t._kind)
        return found

    def _results(self, tensors: Sequence[Tensor], node: CompiledBackward | None) -> Any:
        """The output's tree with tensors of its own, which lie in memory as the captured ones do."""
        numbers = {id(t): k for k, t in enumerate(self.tracked)}
        made: list[Tensor] = []
        memory: dict[int, tuple[Any, Storage]] = {}
        for t, place in zip(results_of(self.output), self.results, strict=True):
            if place.first < len(made):
                made.append(made[place.first])
            elif place.argument is not None:
                made.append(tensors[place.argument])
            elif place.held is t or t._kind.backend is None:
                made.append(t)
            else:
                made.append(self._handed(t, place, memory))
                number = numbers.get(id(t)) if node is not None else None
                made[-1]._grad_node, made[-1]._output_nr = (
                    (t._grad_node, t._output_nr) if number is None else (node, number)
                )
        return replaced(self.output, made)

    def _handed(self, t: Tensor, place: Result, memory: dict[int, tuple[Any, Storage]]) -> Tensor:
        """A result: a view of what the function holds, or a copy, with what shares its memory (`memory`)."""
        if place.held is not None:
            return wrap_view(t._array, place.held, t._kind)
        if place.whole is None:
            return self._apart(t)
        key, a = id(t._storage), t._array
        flat, shared = memory.get(key, (None, None))
        if flat is None:
            flat = self.device.empty(place.whole.shape, place.whole.dtype, poison=False)
            self.device.duplicate(flat, place.whole)
        made: Tensor = wrap(
            flat.relaid(a.shape, a.strides, address(a) - address(place.whole), a.dtype), t._kind
        )
        if shared is not None:
            made._storage = shared
        memory[key] = flat, storage(made)
        return made


def _copied(t: Tensor) -> Tensor:
    made: Tensor = wrap(t._array.copy("K"), t._kind)
    if t._grad_node is not None:
        made._grad_node, made._output_nr = BoundaryNode(t, made), 0
    return made


def slowly(
    compiled: Any,
    plan: Any,
    device: Any,
    tensors: list[Tensor],
    args: Any,
    kwargs: Any,
    unlike: Callable[[Any, list[Tensor]], str],
) -> Any:
    """A call of a kind that is not captured yet."""
    first = 1 if compiled.fullgraph else 2
    if plan.calls < first or device.captures:
        return compiled.function(*args, **kwargs)
    if plan.guards is None or plan.guards.failure():
        plan.guards = Guards(compiled.function)
        found, why = _looked(compiled, plan.guards, tensors, args, kwargs, unlike)
    else:
        found, why = None, ""
        guards = plan.guards
        program = DeviceProgram(compiled.function, guards, device)
        why = program.capture(tensors, args, kwargs) or guards.failure()
        if not why:
            plan.program, plan.ready = program, True
            return program.run(tensors)
        found = compiled.function(*args, **kwargs)
    if why:
        plan.refuse(why)
        plan.broken = why
        if compiled.fullgraph:
            raise Unsupported(f"fullgraph=True, but the call cannot be compiled whole: {why}")
    return found


def _looked(
    compiled: Any,
    guards: Guards,
    tensors: list[Tensor],
    args: Any,
    kwargs: Any,
    unlike: Callable[[Any, list[Tensor]], str],
) -> tuple[Any, str]:
    """(a call's results, why calls like it cannot be captured)."""
    tape = Tape(False)
    versions = [storage(t).version for t in tensors]
    look = watched(guards) if compiled.careful else nullcontext()
    with uncollected(), recording(cast(Any, tape)), look as watch:
        found = compiled.function(*args, **kwargs)
    why = tape.why or (watch and (watch.found or guards.unguarded(flatten([args, kwargs])[0])))
    if not why and any(storage(t).version != v for t, v in zip(tensors, versions, strict=True)):
        why = "an argument is written to"
    if not why and any(t._kind.backend is None for t in tensors):
        why = "an argument lies on the CPU"
    return found, why or unlike(found, tensors)
