"""What a program that is not settled does, apart from the numbers in it: places, shapes, integers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import MethodType
from typing import Any

import numpy as np

from rushlight._engine.core.device import device
from rushlight._engine.core.dtype import dtype
from rushlight._engine.core.layout import pointer
from rushlight._engine.core.pytree import flatten
from rushlight._engine.core.size import Size
from rushlight._engine.ops.creation.filled import Fill
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.effects.contents import SIMPLE
from rushlight._engine.trace.guards import is_tensor
from rushlight._engine.trace.passes.kernel_nodes import Product
from rushlight._engine.trace.program import Part, Program
from rushlight._engine.trace.recorder import Array, Entry, arrays, root, roots
from rushlight._engine.trace.sizes.formulas import Unlike
from rushlight._engine.trace.sizes.heard import RECURRENT, Heard
from rushlight._engine.trace.sizes.trials import after_a_step

# Constants of more bytes are not compared.
_LARGE = 1 << 20
# Rows whose windows may move by several elements.
_WINDOWS = frozenset(
    "_convolution _convolution_input _convolution_weight _max_pool _greatest _spread".split()
)


class _Same:
    """Stands for an object that is to be the same one."""

    def __init__(self, it: Any) -> None:
        self.it = it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.it is self.it

    __hash__ = None  # type: ignore[assignment]


def _plain(value: Any) -> Any:
    """What is equal for equal numbers, of Python's or in arrays."""
    return (value.dtype, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else repr(value)


def sizes_of(key: tuple[Any, ...]) -> tuple[int, ...]:
    """The numbers by which kinds of arguments may differ that one program is made for (guards.outline)."""
    found: list[int] = []
    steps: list[int] = []
    for part in key:
        if is_tensor(part):
            found += part[2]
            steps += part[3]
        elif type(part) is tuple and len(part) == 2 and part[0] is int:
            found.append(part[1])
    return *found, *steps


def _holder(a: Array) -> Array:
    """The array that has all of the memory that another lies in, as far as NumPy knows it."""
    while isinstance(a.base, np.ndarray):
        a = a.base
    return a


class Described:
    """What a program that is not settled does. Unlike is raised for one that cannot be made again.

    said: equal for programs that differ in `numbers` alone. known: the tensors that the function may use.
    """

    def __init__(
        self, program: Program, known: Sequence[Tensor], sizes: tuple[int, ...], heard: Heard
    ) -> None:
        self.program, self.sizes, self.heard = program, sizes, heard
        self.numbers: list[int] = []
        # Tensors that the function may use, and their memory, by their ids.
        self._known = {id(root(t._memory)) for t in known} | {id(t) for t in known}
        self._roots: dict[int, int] = {}
        self._arrays: dict[int, int] = {}
        self._tensors: dict[int, int] = {}
        # Gradients that leaves are given, and by its number the memory of their own: programs at all sizes
        # may leave the same ones, as a program does at each run.
        self.gradients: list[Tensor] = []
        self.owners: dict[int, Array] = {}
        # Of ops whose windows move: sizes before and after.
        self.windows: list[tuple[int, int]] = []
        # Of memory, in order, what it is, and all of it as an array; and of constants, what they hold.
        self.memory: list[Any] = []
        self.holders: list[Array] = []
        self.constants: dict[int, Array] = {}
        entries = program.entries
        if after_a_step(program.forward.entries):
            raise Unlike("something is computed after the step of an optimizer")
        self._kept = set(map(id, program.constants))
        # What is written to, or stands where that may be.
        self._made = {key for e in entries for key in (roots(e.outs) if e.kind == "run" else e.reads())}
        self._inputs = {
            id(root(a)): (k, n) for k, part in enumerate(program.parts) for n, a in enumerate(part.inputs)
        }
        self.parts = [
            ([self._array(a) for a in part.inputs], [self._entry(e) for e in part.entries])
            for part in program.parts
        ]
        self.folded = [self._entry(e) for e in program.folded]
        self.outputs = [self._output(part) for part in program.parts]
        self.laid = self._laid()
        self.rest = (
            program.share,
            program.orders,
            program.read_of_inputs,
            program.read_of_results,
            [(place, _Same(leaf) if place is None else None) for leaf, place in program.leaves],
        )
        self.said = self.parts, self.folded, self.outputs, self.laid, self.memory, self.rest

    def _array(self, a: Array) -> Any:
        if id(a) in self._arrays:
            return "same", self._arrays[id(a)]
        self._arrays[id(a)] = len(self._arrays)
        owner = root(a)
        number = self._roots.get(id(owner))
        if number is None:
            number = self._roots[id(owner)] = len(self._roots)
            self.memory.append(self._memory(number, owner))
            self.holders.append(_holder(a))
        self.numbers += pointer(a) - pointer(self.holders[number]), *a.shape, *a.strides
        return "array", number, a.ndim, a.dtype

    def _memory(self, number: int, owner: Any) -> Any:
        if id(owner) in self._inputs:
            return "input", self._inputs[id(owner)]
        if id(owner) in self._known or not isinstance(owner, np.ndarray):
            return "known", _Same(owner)
        self.numbers.append(owner.nbytes)
        if id(owner) in self._kept or id(owner) not in self._made:
            if owner.nbytes > _LARGE:
                raise Unlike("a constant is large")
            self.constants[number] = owner
            return "constant", owner.dtype, owner.ndim
        return "made", owner.dtype

    def _entry(self, e: Entry) -> tuple[Any, ...]:
        if e.name in _WINDOWS:
            given = arrays(e.operands)
            other = given[1] if e.name == "_convolution_weight" else e.outs[0]
            self.windows += zip(given[0].shape[2:], other.shape[2:], strict=True)
        of = self._function(e.function)
        operands = self._spans(e.operands) if e.name in RECURRENT else self._tree(e.operands)
        return e.kind, of, operands, tuple([self._array(o) for o in e.outs])

    def _spans(self, operands: tuple[Any, ...]) -> Any:
        """A recurrence's operands. Among them is the count of sequences at each step, the same as a rule."""
        found: list[Any] = [tuple]
        for value in operands:
            if value.__class__ is tuple and len(set(value)) == 1 and type(value[0]) is int:
                self.numbers += value[0], len(value)
                found.append(("repeated",))
            else:
                found.append(self._tree(value))
        return tuple(found)

    def _function(self, function: Any) -> Any:
        if isinstance(function, Product):
            return ("product",)
        if isinstance(function, partial):
            return "partial", _Same(function.func), self._tree(function.args), self._tree(function.keywords)
        if isinstance(function, MethodType) and isinstance(function.__self__, Fill):
            made = function.__self__
            sizes, strides = tuple(made.sizes), made.strides and tuple(made.strides)
            return "fill", _Same(function.__func__), made.np, _plain(made.value), self._tree((sizes, strides))
        if isinstance(function, MethodType):
            return "method", _Same(function.__func__), _Same(function.__self__)
        return "is", _Same(function)

    def _tree(self, value: Any) -> Any:
        cls = value.__class__
        if cls is int:
            self.numbers.append(value)
            return ("int",)
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, Tensor):
            return self._tensor(value)
        if cls is tuple or cls is list or cls is Size:
            return cls, *[self._tree(v) for v in value]
        if cls is dict:
            return dict, tuple(value), *[self._tree(v) for v in value.values()]
        if cls in SIMPLE or cls is dtype or cls is device:
            return "value", cls, value
        return "is", _Same(value)

    def _tensor(self, t: Tensor) -> Any:
        if id(t) in self._known:
            return "is", _Same(t)
        number = self._tensors.get(id(t))
        if number is not None:
            return "again", number
        if t.__class__ is not Tensor or t._grad_node is not None:
            raise Unlike("an entry is given a tensor of its own")
        self._tensors[id(t)] = len(self._tensors)
        self.gradients.append(t)
        found = self._array(t._array)
        if found[0] == "array" and self.memory[found[1]][0] == "made":
            self.owners[found[1]] = root(t._array)
        return "tensor", _Same(t._kind), found

    def _output(self, part: Part) -> list[Any]:
        """The results, in order; which of them is an argument, or has which number."""
        found: list[Any] = []
        places = {id(a): n for n, a in enumerate(part.inputs)}
        for value in flatten(part.output)[0]:
            if not isinstance(value, Tensor):
                if value.__class__ not in SIMPLE:
                    raise Unlike("a result is neither a tensor nor a number")
                found.append(self._tree(value))
            elif id(value) in self._known:
                found.append(("is", _Same(value)))
            else:
                inference = value._storage is not None and value._storage.inference
                number, place = self.program.numbers.get(id(value)), places.get(id(value._array))
                how = _Same(value._kind), inference, number, place
                found.append(("result", how, self._array(value._array)))
        return found

    def _laid(self) -> Any:
        laid = self.program.laid
        groups = {key: n for n, key in enumerate(laid.memory)}
        places: list[Any] = []
        for place in laid.places:
            if place is None:
                places.append(None)
                continue
            self.numbers += place.offset, *place.shape, *place.strides
            places.append((groups[place.memory], len(place.shape), place.dtype))
        return laid.firsts, laid.plain, places, [self._array(a) for a in laid.memory.values()]
