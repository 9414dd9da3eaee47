"""The graph IR as text, and read back: entries in order, each with its results and operands.

    run %0:float32[64,20] = given()  #
    run %1:float32[64,8] = matmul(%0:float32[64,20], %2:float32[20,8]/4,80)  # train.py:12
    run %3+256:float32[64,8] = pointwise(%1:float32[64,8], %4:float32[8])  # train.py:12
      pointwise (vector, vector)
      (x0: float32, x1: float32) work float32
      ...
    write returned(%3+256:float32[64,8])  #

%n is memory, in the order of its first appearance (an arena is one memory); +bytes says where in it an array
lies, /bytes,... its strides where it is not contiguous. What entries read back are called with is arrays and
words; their kernels and products can be run again.
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.capture.kernelnode import Array, Kernel, Product
from rushlight.capture.recorder import Entry, arrays, flat, root
from rushlight.compiler.meaning import InvalidIR
from rushlight.compiler.team import pointer
from rushlight.tensor.tensor import Tensor

_ENTRY = re.compile(r"(inner )?(run|write|call) (?:(%.*) = )?([^(]*)\((.*)\)  # ?(.*)")
_ARRAY = re.compile(r"(%\d+)(?:\+(\d+))?:(\w+)\[([\d,]*)\](?:/([-\d,]+))?")
_WORD = re.compile(r"[\w.+-]+|<[\w.]*>")
_PLAIN = (bool, int, float, type(None), dt.dtype)


class Named:
    """What an entry read back stands for, where its text is only a name."""

    def __init__(self, label: str) -> None:
        self.label = label

    def __call__(self, *operands: Any) -> Any:
        raise NotImplementedError(f"{self.label} was read from a text: expected a kernel or a product to run")


def whole(parts: Sequence[Any], entries: Sequence[Sequence[Entry]] = ()) -> list[Entry]:
    """A program's parts, one after the other, each with what it is given and what it leaves.

    entries: theirs, where they are not (yet) what the parts have.
    """
    return [e for k, part in enumerate(parts) for e in (
        Entry("run", Named("given"), (), tuple(part.inputs)), *(entries[k] if entries else part.entries),
        Entry("write", Named("returned"), (part.output,))) if e.kind != "mark"]


def extent(a: Array) -> tuple[int, int]:
    """The addresses between which an array's elements lie."""
    low = high = pointer(a)
    if not a.size:
        return low, low
    for n, step in zip(a.shape, a.strides, strict=True):
        low, high = low + min(0, (n - 1) * step), high + max(0, (n - 1) * step)
    return low, high + a.itemsize


def lines(entries: Sequence[Entry]) -> Iterator[str]:
    """The text of each entry in turn."""
    starts, names = dict[int, int](), dict[int, str]()
    for e in entries:
        for a in (*e.outs, *arrays(e.given)):
            key, low = id(root(a)), extent(a)[0]
            starts[key] = min(starts.get(key, low), low)
            names.setdefault(key, f"%{len(names)}")

    def shown(value: Any) -> str:
        a = value._a if isinstance(value, Tensor) else value
        if not isinstance(a, np.ndarray):
            word = a if isinstance(a, str) else repr(a) if isinstance(a, _PLAIN) else ""
            return word if _WORD.fullmatch(word) else f"<{type(a).__name__}>"
        key = id(root(a))
        offset, strides = pointer(a) - starts[key], ",".join(map(str, a.strides))
        return (f"{names[key]}{f'+{offset}' if offset else ''}:{a.dtype.name}[{','.join(map(str, a.shape))}]"
                f"{'' if a.flags.c_contiguous else '/' + strides}")
    for e in entries:
        kernel = e.function if isinstance(e.function, Kernel) else None
        outs = ", ".join(map(shown, e.outs))
        body = "".join(f"\n  {line}" for line in kernel.text().splitlines()) if kernel else ""
        yield (f"{'inner ' if e.inner else ''}{e.kind} {outs and f'{outs} = '}{kernel.form if kernel else e.name}"
               f"({', '.join(map(shown, flat(e.given)))})  # {e.where}".rstrip() + body)


def text(entries: Sequence[Entry]) -> str:
    """The entries' text: the same for the same things done in the same order on memory laid out alike."""
    return "\n".join(lines(entries))


def parse(source: str) -> list[Entry]:
    """Entries with this text, on memory of their own. InvalidIR for what is no such text."""
    sizes, memory = dict[str, int](), dict[str, Array]()
    views = {found[0]: _View(found) for found in _ARRAY.finditer(source)}
    for view in views.values():
        sizes[view.memory] = max(sizes.get(view.memory, 0), view.end)
    memory = {name: np.zeros(size, np.uint8) for name, size in sizes.items()}

    def value(word: str) -> Any:
        return views[word].on(memory) if word in views else word
    entries = []
    for block in re.split(r"\n(?!  )", source):
        first, _, body = block.partition("\n")
        found = _ENTRY.fullmatch(first)
        if found is None:
            raise InvalidIR(f"{first!r}: expected {_ENTRY.pattern}")
        inner, kind, outs, name, given, where = found.groups()
        operands = tuple([value(word) for word in given.split(", ") if word])
        function: Any = Product() if name == Product.label else Named(name)
        if body:
            function, operands = Kernel.parse(re.sub("(?m)^  ", "", body)), ([*operands],)
        results = tuple([value(word) for word in (outs or "").split(", ") if word])
        entries.append(Entry(kind, function, operands, results, where, bool(inner)))
    return entries


class _View:
    """An array as it is written."""

    def __init__(self, found: re.Match[str]) -> None:
        self.memory, offset, name, shape, strides = found.groups()
        self.dtype = dt.BY_NAME[name].np if name in dt.BY_NAME else np.dtype(name)
        self.offset, self.shape = int(offset or 0), tuple(map(int, shape.split(",") if shape else ()))
        self.strides = tuple(map(int, strides.split(","))) if strides else None
        steps = self.strides or np.empty(self.shape, self.dtype).strides
        self.end = self.offset + np.dtype(self.dtype).itemsize + sum(
            max(0, (n - 1) * s) for n, s in zip(self.shape, steps, strict=True))

    def on(self, memory: dict[str, Array]) -> Array:
        return np.ndarray(self.shape, self.dtype, memory[self.memory], self.offset, self.strides)
