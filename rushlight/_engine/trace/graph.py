"""The graph IR as text, and read back: entries in order, each with its results and operands.

    memory 5120, 2048, 640, 2304, 32
    run %0:float32[64,20] = given()  #
    run %1:float32[64,8] = matmul(%0:float32[64,20], %2:float32[20,8]/4,80)  # train.py:12
    run %3+256:float32[64,8] = pointwise(%1:float32[64,8], %4:float32[8])  # train.py:12
      pointwise each 0 vector,vector
      (x0: float32, x1: float32) work float32
      ...
    write returned(%3+256:float32[64,8])  #

%n is memory, in the order of its first appearance (an arena is one memory); +bytes says where in it an array
lies, /bytes,... its strides where it is not contiguous. What entries read back are called with is arrays and
words; their kernels and products can be run again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import SimpleNamespace as Op
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.layout import pointer
from rushlight._engine.kernels.emit.meaning import InvalidIR
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.passes.kernel_nodes import Kernel, Product
from rushlight._engine.trace.recorder import Array, Entry, arrays, flat, root

_ENTRY = re.compile(r"(run|write|call) (?:(%.*) = )?([^(]*)\((.*)\)  # ?(.*)")
_ARRAY = re.compile(r"%(\d+)(?:\+(\d+))?:(\w+)\[([\d,]*)\](?:/([-\d,]+))?")
_WORD = re.compile(r"[\w.+-]+|<[\w.]*>")
_PLAIN = (bool, int, float, type(None), dt.dtype)


def whole(parts: Sequence[Any], entries: Sequence[Sequence[Entry]] = ()) -> list[Entry]:
    """A program's parts, one after the other, each with what it is given and what it leaves.

    entries: theirs, where they are not (yet) what the parts have.
    """
    return [
        e
        for k, part in enumerate(parts)
        for e in (
            Entry("run", Op(label="given"), (), tuple(part.inputs)),
            *(entries[k] if entries else part.entries),
            Entry("write", Op(label="returned"), (arrays(part.output),)),
        )
        if e.kind != "mark"
    ]


def extent(a: Array) -> tuple[int, int]:
    """The addresses between which an array's elements lie."""
    return byte_bounds(a) if a.size else (pointer(a), pointer(a))


def text(entries: Sequence[Entry]) -> str:
    """The entries' text: the same for the same things done in the same order on memory laid out alike."""
    bounds: dict[int, tuple[int, int]] = {}
    for e in entries:
        for a in (*e.outs, *arrays(e.given)):
            (low, high), (start, end) = extent(a), bounds.get(id(root(a)), extent(a))
            bounds[id(root(a))] = min(low, start), max(high, end)
    names = {key: f"%{number}" for number, key in enumerate(bounds)}

    def shown(value: Any) -> str:
        a = value._array if isinstance(value, Tensor) else value
        if not isinstance(a, np.ndarray):
            word = a if isinstance(a, str) else repr(a) if isinstance(a, _PLAIN) else ""
            return word if _WORD.fullmatch(word) else f"<{type(a).__name__}>"
        offset = pointer(a) - bounds[id(root(a))][0]
        steps = "" if a.flags.c_contiguous else "/" + ",".join(map(str, a.strides))
        place, shape = f"{names[id(root(a))]}{f'+{offset}' * (offset > 0)}", ",".join(map(str, a.shape))
        return f"{place}:{a.dtype.name}[{shape}]{steps}"

    lines = [f"memory {', '.join(str(end - start) for start, end in bounds.values())}"]
    for e in entries:
        kernel = e.function if isinstance(e.function, Kernel) else None
        outs = ", ".join(map(shown, e.outs))
        body = "".join(f"\n  {line}" for line in kernel.text().splitlines()) if kernel else ""
        name, given = kernel.form if kernel else e.name, ", ".join(map(shown, flat(e.given)))
        first = f"{e.kind} {outs and f'{outs} = '}{name}({given})  # {e.where}"
        lines.append(first.rstrip() + body)
    return "\n".join(lines)


def parse(source: str) -> list[Entry]:
    """Entries with this text, on memory of their own. InvalidIR for what is no such text."""
    head, *blocks = re.split(r"\n(?!  )", source)
    memory = [np.zeros(int(size), np.uint8) for size in re.findall(r"\d+", head)]

    def value(word: str) -> Any:
        found = _ARRAY.fullmatch(word)
        if found is None:
            return word
        of = dt.BY_NAME[found[3]].np if found[3] in dt.BY_NAME else np.dtype(found[3])
        shape, strides = (tuple(map(int, part.split(","))) if part else () for part in (found[4], found[5]))
        return np.ndarray(shape, of, memory[int(found[1])], int(found[2] or 0), strides or None)

    entries = []
    for block in blocks:
        first, _, body = block.partition("\n")
        found = _ENTRY.fullmatch(first)
        if found is None:
            raise InvalidIR(f"{first!r}: expected {_ENTRY.pattern}")
        outs, given = ([value(word) for word in (found[k] or "").split(", ") if word] for k in (2, 4))
        function: Any = Product() if found[3] == Product.label else Op(label=found[3])
        if body:
            function, given = Kernel.parse(re.sub("(?m)^  ", "", body)), [given]
        entries.append(Entry(found[1], function, tuple(given), tuple(outs), found[5]))
    return entries
