"""Recording one call of a function: what ran on which memory, in order.

A recorder does not replace anything: the call computes as ever, and everything that runs kernels tells
the recorder so (core/recording.py). Arrays that were made stay alive with the record, so that a replay can
write the same results into the same memory; views need no entry, as they see that memory.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight._engine.autograd import hooks
from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.core.recording import TAPE
from rushlight._engine.dispatch import interpreters
from rushlight._engine.numerics import advanced_indexing
from rushlight._engine.tensors.gradient import LEFT
from rushlight._engine.tensors.tensor import Tensor, wrap

Array = np.ndarray[Any, Any]
# What is no array and holds none.
_PLAIN = frozenset((int, float, bool, str, type(None)))
# Rows whose result's shape depends on values: a record of one call says nothing about the next.
_SHAPED_BY_VALUES = frozenset(
    "_nonzero masked_select unique _unique unique_consecutive unique_dim bincount repeat_interleave "
    "argwhere".split()
)


def shaped_by_values(name: str, operands: Sequence[Any]) -> bool:
    """Whether the shape of what this row gives is told by values: one_hot's, where it counts the classes."""
    return name in _SHAPED_BY_VALUES or (name == "one_hot" and -1 in operands[1:])


_RANDOM = frozenset(
    "_keep dropout _dropout native_dropout alpha_dropout rrelu multinomial bernoulli "
    "rand_like randn_like randint_like gumbel_softmax".split()
)


class Entry:
    """One thing to do again: `function(*operands)`, its result put into `outs` if there are any."""

    __slots__ = ("function", "operands", "outs", "kind", "where", "_read")

    def __init__(
        self,
        kind: str,
        function: Any,
        operands: tuple[Any, ...],
        outs: tuple[Array, ...] = (),
        where: str = "",
    ) -> None:
        self.kind, self.function, self.operands, self.outs, self.where = kind, function, operands, outs, where
        # Of what, and which memory that is.
        self._read: tuple[Any, Any, frozenset[int]] | None = None

    @property
    def given(self) -> tuple[Any, Any]:
        """What the function is called with."""
        return self.operands, getattr(self.function, "args", ())

    def reads(self) -> frozenset[int]:
        """The memory that the entry is given."""
        known = self._read
        if known is None or known[0] is not self.operands or known[1] is not self.function:
            known = self._read = self.operands, self.function, frozenset(roots(self.given))
        return known[2]

    def move(self, moved: Callable[[Any], Any]) -> None:
        """Let arrays be others; of those that they were, nothing is kept."""
        self.operands, self.outs, self._read = moved(self.operands), moved(self.outs), None

    @property
    def acts(self) -> bool:
        """Whether it is code of a program's own, which may do anything beside."""
        return bool(getattr(self.function, "acts", False))

    @property
    def draws(self) -> bool:
        """Whether an op draws random numbers: leaving it out would change the next ones."""
        row = getattr(self.function, "row", None) or next(
            (v for v in self.operands if type(v).__name__ == "Row"), None
        )
        return row is not None and _draws(row)

    @property
    def name(self) -> str:
        """What the entry is called in reports."""
        bound = getattr(self.function, "func", self.function)
        holders = getattr(self.function, "row", None), getattr(bound, "__self__", None), *self.given[1]
        known = [
            getattr(self.function, "label", ""),
            *[getattr(h, fact, None) for h in holders for fact in ("name", "kernel")],
        ]
        return next(
            (name for name in known if name and isinstance(name, str)),
            getattr(bound, "__qualname__", type(bound).__name__),
        )


@lru_cache(4096)
def _draws(row: Any) -> bool:
    return row.name in _RANDOM or any(p.name == "generator" for p in row.params)


def root(a: Array) -> Any:
    """The object that owns an array's memory."""
    while a.base is not None:
        base = a.base
        if not isinstance(base, np.ndarray):
            base = getattr(base, "base", None)  # NumPy's as_strided puts an object of its own in between
            if not isinstance(base, np.ndarray):
                return a.base
        a = base
    return a


class Recorder:
    """What TAPE's writers talk to; `refusal` says why the call cannot be repeated, if so.

    room: how many bytes of results it may keep; with more the call is not repeated, and nothing is kept, as
    `overflowed` is told.
    """

    fuses = True

    def __init__(
        self,
        given: Sequence[Tensor],
        known: Sequence[Tensor],
        room: float = math.inf,
        overflowed: Callable[[], object] = bool,
    ) -> None:
        self.entries: list[Entry] = []
        self.room, self.overflowed = room, overflowed
        # Why the call cannot be repeated; the first reason for which its graph ends early.
        self.refusal = self.broken = ""
        # Why a graph that the call leaves behind cannot be recorded before its backward() comes, if so.
        self.once = ""
        self.inputs_written = False
        self.thread = threading.get_ident()
        # Memory that a replay finds as it was: made here, handed in, or of a tensor that is guarded.
        self.owned: dict[int, Any] = {}
        self.inputs = {id(root(t._memory)) for t in given}
        self.outside = {id(t) for t in (*given, *known)}
        for t in (*given, *known):
            self._own(t._memory)

    def _own(self, a: Array) -> None:
        found = root(a)
        self.owned[id(found)] = found

    # --- what TAPE's writers say ------------------------------------------------------------------

    def run(
        self, function: Callable[..., Any], operands: tuple[Any, ...], result: Any, values: Sequence[Any]
    ) -> None:
        """`result` (tensors) was made by function(*operands)."""
        if not self._mine():
            return
        self._check(values)
        row = getattr(function, "row", None)
        by_mask = (function is advanced_indexing.read or (row is not None and row.name == "index")) and any(
            a.dtype.kind == "b" for a in arrays(operands[1:])
        )
        name = "" if row is None else row.name
        if by_mask or shaped_by_values(name, operands):
            what = "indexing with a mask" if by_mask else f"{name}()"
            self.escape(f"the shape of a result depends on values ({what})", breaks=False)
        outs = tuple([t._array for t in _tensors(result)])
        read = [v for v in flat(operands) if isinstance(v, np.ndarray)]
        fresh = tuple([o for o in outs if not any(np.may_share_memory(o, a) for a in read)])
        self.room -= sum([o.nbytes for o in fresh])
        if self.room < 0:
            self._overflow()
            return
        for out in outs:
            self._own(out)
        if fresh:
            self._add(Entry("run", function, operands, outs if len(fresh) == len(outs) else fresh))
            if len(fresh) != len(outs):
                self.escape("one result of an op is a view and another is not")

    def write(self, function: Callable[..., Any], operands: tuple[Any, ...], values: Sequence[Any]) -> None:
        """Memory was overwritten."""
        first = operands[0] if isinstance(operands[0], np.ndarray) else operands[-1]
        if id(root(first)) in self.inputs and threading.get_ident() == self.thread:
            self.inputs_written = True
            self.escape("an argument is written to", breaks=False)
        if not self._mine():
            return
        self._check(values)
        self._add(Entry("write", function, operands))

    def check(self, function: Callable[..., Any], arrays: tuple[Any, ...]) -> None:
        """Values were looked at."""
        if self._mine():
            self._add(Entry("run", function, arrays))

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Python that is part of every replay (an optimizer's step): done now, unrecorded."""
        if self._mine():
            self._add(Entry("call", function, args))
        with paused(self):
            return function(*args)

    def accumulate(self, function: Callable[..., Any], node: Any, grad: Tensor, create: bool) -> None:
        """A leaf received its gradient."""
        leaf = node.variable
        if not self._mine():
            function(node, grad, create)
            return
        if leaf is None:
            return
        grad = grad.clone() if grad._kind.lazy else grad
        if create:
            self.escape("a gradient is itself tracked (create_graph=True)")
        own = wrap(np.empty_like(leaf._array), leaf._kind)
        self._own(own._array)
        if id(leaf) in self.outside:
            self._add(Entry("call", add_gradient, (leaf, grad, own)))
            with paused(self):
                add_gradient(leaf, grad, own)
        else:  # the call made it: at a replay, too, it begins without a gradient
            operands = (own._array, grad._array, *arrays(getattr(leaf, "_grad", None)))
            self.write(gathered, operands, (grad,))
            gathered(*operands)
            leaf._grad = own
        if node.hooks is not None:
            self.escape("a hook on a gradient runs")
            hooks.accumulated(node, leaf)

    def backward_begins(self) -> None:
        """A graph's gradients are computed from here on."""
        self.entries += [Entry("mark", roots, ())] * self._mine()

    def constant(self, array: Array) -> None:
        """Values that Python made; each replay makes them anew, as they may be written to."""
        if self._mine():
            self._own(array)
            self._add(Entry("run", np.array, (array.copy(),), (array,)))

    def escape(self, what: str, breaks: bool = True) -> None:
        """The call cannot be repeated; the first reason is kept. breaks: as its graph ends early."""
        if self._mine() and not (self.broken if breaks else self.refusal):
            reason = f"{what}, at {place_of()}"
            self.refusal = self.refusal or reason
            self.broken = self.broken or (reason if breaks else "")

    # ----------------------------------------------------------------------------------------------

    def _add(self, entry: Entry) -> None:
        entry.where = place_of()
        self.entries.append(entry)

    def _mine(self) -> bool:
        return threading.get_ident() == self.thread and self.room >= 0

    def _overflow(self) -> None:
        """Too much to be kept: matching keeps nothing."""
        reason = f"its results take more memory than a record may keep, at {place_of()}"
        self.refusal = self.refusal or reason
        self.entries, self.owned = [], {}
        self.overflowed()

    def _check(self, values: Sequence[Any]) -> None:
        for t in _tensors(values):
            if id(root(t._memory)) not in self.owned:
                self.escape(
                    f"a tensor of shape {tuple(t._array.shape)} is read that is neither an argument, nor of "
                    "a module that the function uses, nor one of its variables: pass it as an argument",
                    breaks=False,
                )
                self._own(t._memory)


def add_gradient(leaf: Tensor, grad: Tensor, own: Tensor) -> None:
    """What backward() does at a leaf; `own` is where every replay leaves the leaf's gradient."""
    gathered(own._array, grad._array, *arrays(getattr(leaf, "_grad", None)))
    take([(leaf, own, own._array)])


def take(computed: list[tuple[Tensor, Tensor, Array]]) -> None:
    """Give leaves the gradients that have been computed, each with the array in which it was."""
    for k, (leaf, own, array) in enumerate(computed):
        if own._array is not array:  # it was handed out, and has been given other memory
            own = wrap(array, leaf._kind)
            computed[k] = leaf, own, array
            LEFT[id(own)] = own
        leaf._grad = own
        if own._storage is not None:
            own._storage.version += 1


def gathered(own: Array, grad: Array, held: Array | None = None) -> None:
    """A leaf's gradient: what it holds, if anything, and what comes."""
    if held is None:
        np.copyto(own, grad, "unsafe")
    else:
        np.add(held, grad, own, casting="unsafe")


def flat(*values: Any) -> Iterator[Any]:
    """What lists, tuples and dicts hold, in order."""
    stack = [*reversed(values)]
    while stack:
        value = stack.pop()
        if isinstance(value, (tuple, list, dict)):
            stack.extend(reversed(value.values() if isinstance(value, dict) else value))
        else:
            yield value


def arrays(*values: Any) -> list[Array]:
    """The arrays, and those of the tensors, in trees of lists, tuples and dicts."""
    found: list[Array] = []
    _gather(values, found)
    return found


def _gather(values: Iterable[Any], found: list[Array]) -> None:
    for v in values:
        cls = v.__class__
        if cls is np.ndarray:
            found.append(v)
        elif cls is tuple or cls is list:
            _gather(v, found)
        elif cls in _PLAIN:
            continue
        elif isinstance(v, (tuple, list, dict)):
            _gather(v.values() if isinstance(v, dict) else v, found)
        elif isinstance(a := v._array if isinstance(v, Tensor) else v, np.ndarray):
            found.append(a)


def roots(*values: Any) -> set[int]:
    """Which memory the arrays and tensors in trees of lists, tuples and dicts lie in."""
    return {id(a if a.base is None else root(a)) for a in arrays(*values)}


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [v for v in flat(value) if isinstance(v, Tensor)]


@lru_cache(4096)
def _is_own(file: str) -> bool:
    return file.startswith(("<rushlight", _PACKAGE))


def place_of() -> str:
    """File and line of the program's own code that is running."""
    frame: Any = sys._getframe(1)
    while frame is not None and _is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return "?" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def frames_of() -> tuple[tuple[str, int, str], ...]:
    """File, line and function of the program's own code that is running, down to where it is matched."""
    found: list[tuple[str, int, str]] = []
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != _ENTRANCE:
        if not frame.f_code.co_filename.startswith(("<rushlight", _PACKAGE)):
            found.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return tuple(found[::-1])


_PACKAGE = __file__.rpartition("_engine")[0]
_ENTRANCE = __file__.replace("recorder.py", "choice.py")


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """The recorder at work. A name in MODES makes every op take its general way, which tells TAPE."""
    interpreters.MODES.append(recorder)
    TAPE.append(recorder)
    try:
        yield
    finally:
        TAPE.remove(recorder)
        interpreters.MODES.remove(recorder)


@contextmanager
def paused(recorder: Recorder) -> Iterator[None]:
    """What runs meanwhile is not recorded by it."""
    TAPE.remove(recorder)  # another thread's may have come after it
    interpreters.MODES.remove(recorder)
    try:
        yield
    finally:
        interpreters.MODES.append(recorder)
        TAPE.append(recorder)


def tracked(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether an op on these is recorded for gradients."""
    return LOCAL.enabled and any(
        [
            v._grad_node is not None
            if isinstance(v, Tensor)
            else v.__class__ in (list, tuple)
            and any([isinstance(i, Tensor) and i._grad_node is not None for i in v])
            for v in (*args, *kwargs.values())
        ]
    )
