"""Functions as compile's `backend`: each segment of a matched call is handed to them as an fx graph."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

from numpy import full

from rushlight._dynamo import config
from rushlight._dynamo.exc import BackendCompilerFailed, FailOnRecompileLimitHit, Unsupported
from rushlight._dynamo.graphs.writing import graph_of, private
from rushlight._dynamo.inputs import Call, examples, tell_shapes
from rushlight._dynamo.kinds import Said, Sizes, SizesOfKind, but_for_twins, kind_of, nodes_of
from rushlight._dynamo.marks import marked
from rushlight._dynamo.utils import counters, note_graph
from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.core.recording import unfollowed
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.tensor import Tensor, wrap
from rushlight._engine.trace import choice
from rushlight._engine.trace.eager_backends import Reads, code_of
from rushlight._engine.trace.trace import Node, Trace
from rushlight._numpy._ndarray import Given
from rushlight._numpy._readers import reads_memory

# PyTorch's is a package: its modules are found by names (names/alternatives.tsv, names/placeholders.tsv).
__path__: list[str] = []


class CompiledByBackend:
    """Calls a function, its ops matched; a segment's values are what `backend` makes of its graph.

    The ops of a segment are computed once while it is recorded; from then on by what the backend gave. What
    is known of a function's code and a backend is shared by all that are compiled of these.
    """

    # As of Compiled: calls always come here, and may ask.
    rests, asked = (), False

    def __init__(
        self, function: Callable[..., Any], backend: Callable[..., Any], fullgraph: bool, dynamic: bool | None
    ) -> None:
        self.function, self.backend = function, backend
        self.fullgraph, self.dynamic = fullgraph, dynamic
        self._known: Known | None = None
        self._reads_memory: bool | None = None
        self.key = Reads(function).key

    @property
    def known(self) -> Known:
        """What the backend has made of the function."""
        if self._known is None:
            self._known = known_of(self.function, self.backend)
        return self._known

    @property
    def plans(self) -> dict[Any, Any]:
        """The kinds of arguments that have come."""
        return self.known.plans

    @property
    def reads_memory(self) -> bool:
        """Whether the function may need NumPy's own arrays."""
        if self._reads_memory is None:
            self._reads_memory = reads_memory(self.function)
        return self._reads_memory

    def reset(self) -> None:
        """Forget what the backend has made: of all functions, forget() does."""
        self._known = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        known = self.known
        known.plans[self.key(args, kwargs)] = None
        known.sizes.dynamic = self.dynamic
        kind = kind_of(args, kwargs)
        marks = () if kind is None else marked((args, kwargs))  # None: a container holds itself
        trace = known.trace(kind, marks, config.recompile_limit)
        if trace is None:
            if self.fullgraph or config.fail_on_recompile_limit_hit:
                why = (
                    "fail_on_recompile_limit_hit" if config.fail_on_recompile_limit_hit else "fullgraph=True"
                )
                raise FailOnRecompileLimitHit(f"Hard failure due to {why}")
            return self.function(*args, **kwargs)
        new = not trace.nodes
        trace.ends = [] if self.fullgraph or new else None
        before, known.sizes.call = known.sizes.call, Call(self.function, args, kwargs)
        refused = kind is None or self._reads_memory or not config.trace_numpy
        given = None if refused else Given(args, kwargs)
        if given is not None and given.arrays and not self.reads_memory:
            args, kwargs = given.args, given.kwargs  # NumPy's functions of these are ops of tensors
        else:
            given = None
        try:
            found = choice.call(trace, self.function, args, kwargs)
        finally:
            known.sizes.call = before
        found = found if given is None else given.result(found)
        breaks = [(why, where) for why, where, is_break in trace.ends or () if is_break]
        for why, _ in breaks if new else ():
            counters["graph_break"][why] += 1
        if self.fullgraph and breaks:
            raise Unsupported("fullgraph=True, but the graph ends early: {}, at {}".format(*breaks[0]))
        return found


class Known:
    """What a backend has made of one function's code, of each kind of arguments."""

    def __init__(self, backend: Callable[..., Any]) -> None:
        self.backend, self.sizes = backend, Sizes()
        self.plans: dict[Any, Any] = {}
        # By kinds of arguments: traces, with the dims that were marked to be free.
        self.traces: dict[Any, list[tuple[Any, Trace]]] = {}
        # By the same, but for which tensors are one: graphs.
        self.kinds: dict[Any, SizesOfKind] = {}

    def trace(self, kind: Any, marks: Any, most: int) -> Trace | None:
        """That of a kind of arguments, for which no other dims were marked; None of what comes after many
        other kinds.
        """
        for known, trace in self.traces.get(kind, ()):
            if all(map(frozenset.issubset, marks, known)):
                return trace
        if sum(map(len, self.traces.values())) >= most:
            return None
        trace = Trace()
        sizes = self.kinds.setdefault((but_for_twins(kind), marks), SizesOfKind(self.sizes))
        trace.program = partial(Segment, self.backend, sizes)
        self.traces.setdefault(kind, []).append((marks, trace))
        return trace


# By the ids of code objects, and of backends: as PyTorch does, for whoever compiles the function next.
_KNOWN: dict[int, dict[int, Known]] = {}
# With how many backends' graphs one function is remembered.
MOST_BACKENDS = 8


def known_of(function: Callable[..., Any], backend: Callable[..., Any]) -> Known:
    """What is known of a function's code and a backend, kept while the code lives."""
    code = code_of(function)
    if code is None:
        return Known(backend)
    if id(code) not in _KNOWN:
        weakref.finalize(code, _KNOWN.pop, id(code), None)
    of_code = _KNOWN.setdefault(id(code), {})
    if id(backend) not in of_code and len(of_code) >= MOST_BACKENDS:
        del of_code[next(iter(of_code))]
    return of_code.setdefault(id(backend), Known(backend))


def forget() -> None:
    """Forget what backends have made of functions."""
    for of_code in _KNOWN.values():
        of_code.clear()


class Segment:
    """A segment for a set of wanted results."""

    def __init__(
        self,
        backend: Callable[..., Any],
        sizes: SizesOfKind,
        node: Node,
        path: Any,
        wanted: tuple[int, ...],
    ) -> None:
        self.backend, self.sizes, self.path, self.wanted = backend, sizes, path, wanted
        self.said = Said()
        call = sizes.sizes.call
        enabled = None if call is None else call.enabled
        self.inputs, self.module = graph_of(node.path(), wanted, self.said, enabled)
        self.compiled: Callable[..., Any] | None = None

    def at_once(self, arrays: dict[int, Any], aside: Any) -> None:
        """Nothing: the backend's graphs are called."""

    def run(self, arrays: dict[int, Any], region: Any) -> list[Any]:
        """The arrays at the wanted places; `arrays`: what lies at the places that came in."""
        compiled = self.prepare(arrays)
        before, LOCAL.enabled = LOCAL.enabled, False
        try:
            found = compiled(*[wrap(arrays[p]) for p in self.inputs])
        finally:
            LOCAL.enabled = before
        return [self._array(p, t) for p, t in zip(self.wanted, found, strict=False)]

    def _array(self, place: int, value: Any) -> Any:
        """What a backend gave for a place: a number is all that the tensor holds which the program has."""
        if isinstance(value, Tensor):
            return value._array
        spec = self.path.specs[place]
        return full(spec.shape, value, spec.dtype)

    def prepare(self, arrays: dict[int, Any]) -> Callable[..., Any]:
        """What the backend makes of the graph, which it is given once, with these inputs as examples."""
        if self.compiled is not None:
            return self.compiled
        given = [wrap(arrays[p]) for p in self.inputs]
        self.compiled = self.sizes.known(self.said, self.module, given)
        if self.compiled is not None:
            return self.compiled
        before, LOCAL.enabled, nodes = LOCAL.enabled, False, list[Any]()
        began, failed = perf_counter(), None
        try:
            call = self.sizes.sizes.call
            own = examples(call, self.module, given)
            tell_shapes(self.module, own)
            nodes = nodes_of(self.module)
            LOCAL.enabled = before if call is None else call.enabled  # as the program has it
            self.compiled = unfollowed(self.backend, self.module, own)
        except Exception as error:
            if not config.suppress_errors:
                raise BackendCompilerFailed(self.backend, error) from error
            self.compiled, failed = self.module, error
        finally:
            LOCAL.enabled = before
        calls = [n for n in self.module.graph.nodes if n.op.startswith("call")]
        note_graph(len(calls), perf_counter() - began, failed)
        self.sizes.note(self.module, self.said, given, nodes, self.compiled)
        return self.compiled


def __getattr__(name: str) -> Any:
    row = ROWS.get(name)
    if row is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return private(row)
