"""What is heard of a call beside its ops: memory that is written, and numbers that leave for Python."""

from __future__ import annotations

from typing import Any

import numpy as np

import rushlight as torch
from rushlight._engine.core.recording import BY_VALUES
from rushlight._engine.dispatch import methods
from rushlight._engine.numerics import advanced_indexing
from rushlight.export import overloads
from rushlight.export.errors import GuardOnDataDependentSymNode


class Tape:
    """Hears what has no row, as compile()'s recorder does (core/recording.py), and tells the listener."""

    fuses, once, exports = False, "", True

    def __init__(self, to: Any) -> None:
        self.to = to

    def write(self, function: Any, operands: Any, values: Any) -> None:
        """Memory was overwritten by something that is no op."""
        if self.to.depth:
            return
        into = values[0]
        if function is methods.assign:
            given: tuple[Any, ...] = (into, values[1])
            name = "copy_.default"
        elif function is np.copyto and len(operands) == 2:
            name, given = "fill_.Scalar", (into, np.asarray(operands[1]).item())
        elif function is advanced_indexing.write and len(operands) == 3:
            by_array = {id(t._memory): t for t in self.to.kept}
            indices = [
                None if a is None else by_array.get(id(a), torch.from_numpy(np.array(a))) for a in operands[1]
            ]
            name, given = "index_put_.default", (into, indices, values[1])
        else:
            return
        self.to.record(overloads.named(f"torch.ops.aten.{name}"), given, {}, into)

    def alias(self, t: Any, other: Any) -> None:
        """A tensor of the program was detached: gradients end there in the exported program, too."""
        if not self.to.depth and other._grad_node is None and id(t) in self.to.known:
            other._array = t._array
            name = "alias" if self.to.decomposes else "detach"
            self.to.record(overloads.named(f"torch.ops.aten.{name}.default"), (t,), {}, other)

    def cut_off(self, t: Any) -> None:
        """A tensor of the program was detached in place."""
        if not self.to.depth and not self.to.decomposes and id(t) in self.to.known:
            self.to.record(overloads.named("torch.ops.aten.detach_.default"), (t,), {}, t)

    def contiguous(self, t: Any, memory_format: Any) -> Any:
        """A copy in another order, which is an op of its own until it is told in others."""
        if self.to.depth or self.to.decomposes or id(t) not in self.to.known:
            return NotImplemented
        given = {} if memory_format is torch.contiguous_format else {"memory_format": memory_format}
        return self.to.told(overloads.named("torch.ops.aten.contiguous.default"), (t,), given)

    def escape(self, what: str, breaks: bool = True) -> None:
        """A value leaves for Python; what is only shown changes nothing, and an op's body is no program."""
        if what.startswith("printing") or what.endswith(BY_VALUES):
            return
        trace = self.to.place().get("stack_trace", "").strip()
        if self.to.failures is not None:
            self.to._excused(what, trace)
            return
        raise GuardOnDataDependentSymNode(
            f"Could not guard on data-dependent expression {what} asks for a tensor's number, which an "
            "exported program does not know.\n\nconsider torch.where, torch.clamp or another op of tensors "
            f"instead.\n\nThe following call raised this error:\n  {trace}\n"
        )

    def off_host(self, what: str) -> None:
        """Ops on another device are ops of the program."""

    def number(self, t: Any) -> Any:
        """A tensor's one element, for Python."""
        return self.to.number(t)

    def converted(self, t: Any, whole: bool) -> Any:
        """A tensor converted to what it is."""
        return self.to.converted(t, whole)

    def of_numbers(self, data: Any, dtype: Any) -> Any:
        """A tensor that is made of numbers."""
        return self.to.of_numbers(data, dtype)

    def branch(self, t: Any) -> bool:
        """The same, as True or False."""
        return bool(self.to.branch(t))

    def call(self, function: Any, *args: Any) -> Any:
        """Python that compile() would call again at each replay."""
        return function(*args)

    def ignored(self, *args: Any) -> None:
        """What compile() hears of kernels, gradients and graphs says nothing new here."""

    run = check = constant = accumulate = backward_begins = ignored
