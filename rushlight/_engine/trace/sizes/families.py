"""The programs of calls that differ in sizes alone.

Where programs at several sizes say the same (`Described`), `Sizes` finds how each number in them follows from
the sizes of the arguments, and makes the program at others. Nothing is assumed of it: its first run is
compared with an eager call, bit by bit (trials.py).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from functools import partial
from types import MethodType
from typing import Any

import numpy as np

from rushlight._engine.core.pytree import flatten
from rushlight._engine.core.settings import settings
from rushlight._engine.ops.creation.filled import Fill
from rushlight._engine.tensors.storages.storage import INFERENCE
from rushlight._engine.tensors.tensor import Tensor, wrap
from rushlight._engine.trace.graph import whole
from rushlight._engine.trace.passes.kernel_nodes import Product
from rushlight._engine.trace.passes.memory import Room
from rushlight._engine.trace.passes.verify import verify
from rushlight._engine.trace.program import Part, Program, replaced, results_of
from rushlight._engine.trace.recorder import Array, Entry, root, roots
from rushlight._engine.trace.sizes.descriptions import Described
from rushlight._engine.trace.sizes.formulas import Unlike, follows, formula
from rushlight._engine.trace.sizes.heard import Heard
from rushlight._engine.trace.stage_planning import prepared
from rushlight._engine.trace.trace import Spec

# How many sizes tell what numbers follow from, and how many are kept.
FEWEST, MOST = 3, 6
# How many programs are made of them: each takes time, and memory for its tables.
MOST_MADE = 64
# How often a program may turn out not to do the same.
_MOST_MISSED = 3


class Family:
    """The programs of calls that differ in sizes alone."""

    def __init__(self) -> None:
        self._samples: list[Described] = []
        self._sizes: Sizes | None = None
        # Why no program is made of them; how many were made, and how many of these did something else than an
        # eager call.
        self.unlike = ""
        self.made = self.missed = 0
        self.room = Room(shared=True)

    def serves(self, sizes: tuple[int, ...]) -> bool:
        """Whether there is, or will be, a program at these sizes."""
        if self.unlike or self.missed > _MOST_MISSED or self.made >= MOST_MADE:
            return False
        return len(self._samples) < MOST if self._sizes is None else self._sizes.vary_alike(sizes)

    @property
    def learns(self) -> bool:
        """Whether one more program would tell something."""
        return not self.unlike and len(self._samples) < MOST

    def described(
        self, program: Program, known: Sequence[Tensor], sizes: tuple[int, ...], heard: Heard
    ) -> Described | None:
        """A program that is about to be settled, if it can be one of the family."""
        try:
            return Described(program, known, sizes, heard)
        except Unlike as why:
            self.unlike = str(why)
            return None

    def add(self, sample: Described) -> None:
        """A program that was compared with an eager call."""
        self._samples.append(sample)
        self._sizes = None
        alike = [s for s in self._samples if s.said == sample.said]
        if len(alike) < FEWEST:
            return
        try:
            self._sizes = Sizes(alike)
        except Unlike as why:
            self.unlike = str(why)

    def miss(self, sizes: tuple[int, ...]) -> None:
        """A program at these sizes did something else than an eager call."""
        self.missed += self._sizes is None or not self._sizes.is_short(sizes)

    def ends(self, sizes: tuple[int, ...]) -> bool:
        """Whether no more programs are made, as one was given the numbers that an eager call was, and left
        other bits: where others, of few values, left the same, that may have been by chance.
        """
        if self._sizes is None or self._sizes.is_short(sizes):
            return False
        self.unlike = "programs at other sizes round otherwise"
        return True

    def confirms(self, sizes: tuple[int, ...], heard: Heard) -> bool:
        """Whether an eager call's ops were given the numbers that programs at these sizes have."""
        return self._sizes is not None and self._sizes.confirms(sizes, heard)

    def at(self, sizes: tuple[int, ...], known: Sequence[Tensor]) -> Program | None:
        """A program at these sizes, settled, if there can be one."""
        if self._sizes is None or not self.serves(sizes):
            return None
        try:
            program = self._sizes.at(sizes, self.room)
            if settings.verify:
                verify(whole(program.parts), "other sizes")
            program.settle(known)
        except Exception:  # there is no such view, say: an eager call at these sizes may well fail, too
            return None
        return program


def resemble(first: Described | None, second: Described | None) -> bool:
    """Whether two programs do the same but for numbers that follow from sizes."""
    if first is None or second is None or first.said != second.said:
        return False
    try:
        Sizes([first, second])
    except Unlike:
        return False
    return True


class Sizes:
    """Programs at any sizes, of what programs at some do. Unlike is raised where there is none."""

    def __init__(self, samples: Sequence[Described]) -> None:
        self.like = like = samples[-1]
        # Constants that are the same at all sizes; gradients' memory that is not.
        self._fixed = {
            n
            for n, held in like.constants.items()
            if all(s.constants[n].tobytes() == held.tobytes() for s in samples)
        }
        self._apart = {n for s in samples for n in like.owners if s.owners[n].nbytes != like.owners[n].nbytes}
        made = {o[1] for _, _, _, outs in like.folded for o in outs if o[0] == "array"}
        if not like.constants.keys() <= self._fixed | made:
            raise Unlike("a constant depends on sizes, or on something else")
        for pair in zip(*[s.windows for s in samples], strict=True):
            if len({before for before, _ in pair}) != len({after for _, after in pair}):
                raise Unlike("windows move by several elements")
        # Sizes that have never differed from each other, or from themselves, are to go on like this.
        self._columns = [*zip(*[s.sizes for s in samples], strict=True)]
        varying: list[tuple[int, ...]] = []
        for column in dict.fromkeys(self._columns):  # strides follow from sizes, as a rule
            if len(set(column)) > 1 and not follows(column, varying):
                varying.append(column)
        firsts = [self._columns.index(c) for c in varying]
        if any(s.heard.said != like.heard.said for s in samples):
            raise Unlike("calls are not given the same")
        rows = [*zip(*[s.numbers for s in samples], strict=True)]
        self._told = [*zip(*[s.heard.numbers for s in samples], strict=True)]
        known = {row: formula(row, varying) for row in dict.fromkeys(rows + self._told) if len(set(row)) > 1}
        self._varying = [(n, row) for n, row in enumerate(rows) if row in known]
        self._formulas = {row: partial(of, tuple(firsts)) for row, of in known.items()}
        self._latest: tuple[Any, dict[tuple[int, ...], int]] = None, {}

    def vary_alike(self, sizes: tuple[int, ...]) -> bool:
        """Whether sizes that have been equal in all programs are so here, and those that were fixed are."""
        if len(sizes) != len(self._columns):
            return False
        known = dict(zip(self._columns, sizes, strict=True))
        return all(
            known[c] == size and (size == c[0] or len(set(c)) > 1)
            for c, size in zip(self._columns, sizes, strict=True)
        )

    def is_short(self, sizes: tuple[int, ...]) -> bool:
        """Whether one is 0 or 1 that no program has: what is copied elsewhere lies in order then."""
        return any(size <= 1 < min(c) for c, size in zip(self._columns, sizes, strict=True))

    def _values(self, sizes: tuple[int, ...]) -> dict[tuple[int, ...], int]:
        """What the numbers are that vary, by what they are in the programs."""
        if self._latest[0] != sizes:
            self._latest = sizes, {row: of(sizes) for row, of in self._formulas.items()}
        return self._latest[1]

    def confirms(self, sizes: tuple[int, ...], heard: Heard) -> bool:
        """Whether an eager call's ops were given what follows from the sizes."""
        values = self._values(sizes)
        expected = [values.get(row, row[0]) for row in self._told]
        return heard.said == self.like.heard.said and heard.confirms(expected)

    def at(self, sizes: tuple[int, ...], room: Room) -> Program:
        """The program at these sizes, not settled, which runs in this memory."""
        values = self._values(sizes)
        numbers = [*self.like.numbers]
        for n, row in self._varying:
            numbers[n] = values[row]
        return _Made(self.like, numbers, self._fixed, self._apart).program(room)


class _Made:
    """A program as one that is described, with other numbers. fixed: the constants that are the same; apart:
    the memory of gradients that is not.
    """

    def __init__(self, like: Described, numbers: Sequence[int], fixed: set[int], apart: set[int]) -> None:
        self.like, self._fixed, self._apart = like, fixed, apart
        self._numbers: Iterator[int] = iter(numbers)
        self._memory: list[Any] = []
        self._arrays: list[Array] = []
        self._tensors: list[Tensor] = []

    def program(self, room: Room) -> Program:
        """It is not settled; where it runs."""
        like, of = self.like, self.like.program
        parts = []
        for known, (inputs, entries) in zip(of.parts, like.parts, strict=True):
            part = copy.copy(known)
            part.inputs = [self._array(a) for a in inputs]
            part.entries = [self._entry(e, own) for e, own in zip(entries, known.entries, strict=True)]
            parts.append(part)
        folded = [self._entry(e, known) for e, known in zip(like.folded, of.folded, strict=True)]
        with np.errstate(all="ignore"):
            for e in folded:
                if not roots(e.outs) <= {id(self._memory[n]) for n in self._fixed}:
                    prepared(e)()
        numbers: dict[int, int] = {}
        for part, described in zip(parts, like.outputs, strict=True):
            part.output = self._output(part, described, numbers)
        laid = copy.copy(of.laid)
        self._lay(laid, results_of(parts[0].output))
        owned = {id(root(m)): root(m) for m in self._memory}
        return of.with_parts(parts, folded, numbers, laid, owned, room)

    def _next(self, count: int) -> tuple[int, ...]:
        return tuple([next(self._numbers) for _ in range(count)])

    def _array(self, described: Any) -> Array:
        if described[0] == "same":
            found: Array = self._arrays[described[1]]
            return found
        self._arrays.append(self._made_array(*described[1:]))
        return self._arrays[-1]

    def _made_array(self, number: int, ndim: int, of: Any) -> Array:
        new = number == len(self._memory)
        if new:
            self._memory.append(self._made_memory(number))
        offset, numbers = next(self._numbers), self._next(2 * ndim)
        shape, strides = numbers[:ndim], numbers[ndim:]
        if new and self._memory[number] is None:
            reach = sum([(n - 1) * abs(step) for n, step in zip(shape, strides, strict=True) if n > 1])
            self._memory[number] = np.empty(reach + of.itemsize, np.uint8)
        owner: Array = self._memory[number]
        if not offset and (shape, strides, of) == (owner.shape, owner.strides, owner.dtype):
            return owner
        return np.ndarray(shape, of, owner, offset, strides)

    def _made_memory(self, number: int) -> Array | None:
        """All of some memory; None for that of an argument, which is as large as the argument needs."""
        kind = self.like.memory[number][0]
        if kind == "known":
            return self.like.holders[number]
        if kind == "input":
            return None
        size = next(self._numbers)
        if kind != "constant":
            if number in self.like.owners and number not in self._apart:
                return self.like.owners[number]
            return np.empty(size, np.uint8)
        held = self.like.constants[number]
        return held if number in self._fixed else np.empty(size, np.uint8)

    def _entry(self, described: Any, known: Entry) -> Entry:
        kind, function, operands, outs = described
        of = self._function(function, known.function)
        given = self._tree(operands)
        return Entry(kind, of, given, tuple([self._array(o) for o in outs]), known.where)

    def _function(self, described: Any, known: Any) -> Any:
        what, *how = described
        if what == "product":
            return Product()
        if what == "partial":
            return partial(how[0].it, *self._tree(how[1]), **self._tree(how[2]))
        if what == "fill":
            func, of, _, described_sizes = how
            sizes, strides = self._tree(described_sizes)
            like: Any = known.__self__
            return MethodType(func.it, Fill(sizes, of, like.value, strides))
        if what == "method":
            return MethodType(how[0].it, how[1].it)
        return how[0].it

    def _tree(self, described: Any) -> Any:
        what, *how = described
        if what == "int":
            return next(self._numbers)
        if what in ("array", "same"):
            return self._array(described)
        if what == "value":
            return how[1]
        if what == "is":
            return how[0].it
        if what == "repeated":
            count, steps = self._next(2)
            return (count,) * steps
        if what == "again":
            return self._tensors[how[0]]
        if what == "tensor":
            made, known = self._array(how[1]), self.like.gradients[len(self._tensors)]
            if how[1][0] == "array" and self._memory[how[1][1]] is root(known._array):
                self._arrays[-1] = known._array
                self._tensors.append(known)
            else:
                self._tensors.append(wrap(made, how[0].it))
            return self._tensors[-1]
        if what is dict:
            return dict(zip(how[0], [self._tree(v) for v in how[1:]], strict=True))
        return what([self._tree(v) for v in how])

    def _output(self, part: Part, described: Sequence[Any], numbers: dict[int, int]) -> Any:
        """What a part gives: its tree with tensors of this program's."""
        like, tensors = flatten(part.output)[0], list[Tensor]()
        for value, of in zip(like, described, strict=True):
            if of[0] != "result":
                found = self._tree(of)
                if not isinstance(found, Tensor) and found != value:
                    raise Unlike("a result is a number that depends on sizes")
                tensors += [found] * isinstance(found, Tensor)
                continue
            kind, inference, number, place = of[1]
            array = self._array(of[2])
            t = wrap(array if place is None else part.inputs[place], kind.it)
            if inference:
                t._storage = INFERENCE
            if number is None:
                t._grad_node, t._output_nr = value._grad_node, value._output_nr
            else:
                numbers[id(t)] = number
            tensors.append(t)
        return replaced(part.output, tensors)

    def _lay(self, laid: Any, results: Sequence[Tensor]) -> None:
        """How results lie in memory that some share."""
        _, _, places, memory = self.like.laid
        laid.places = []
        for t, place in zip(results, places, strict=True):
            if place is None:
                if np.empty_like(t._array).strides != t._array.strides:  # one of its sizes is 1
                    raise Unlike("a copy of a result has other strides")
                laid.places.append(None)
                continue
            group, ndim, of = place
            offset, numbers = next(self._numbers), self._next(2 * ndim)
            laid.places.append(Spec(group, offset, numbers[:ndim], numbers[ndim:], of))
        laid.memory = {n: self._array(a) for n, a in enumerate(memory)}
