"""What needs no work at a replay, or not twice: constants, and what is computed again from the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from rushlight._engine.core.layout import pointer
from rushlight._engine.trace.passes.kernel_nodes import Kernel, Product
from rushlight._engine.trace.passes.memory import Relocation, pinned
from rushlight._engine.trace.recorder import Array, Entry, arrays, root, roots


def fold(
    parts: Sequence[Sequence[Entry]], output: Any, owned: Container[int]
) -> tuple[list[list[Entry]], list[Array], list[Entry]]:
    """The entries without those that give the same at every replay; what these gave; and these.

    output: what callers get, which is theirs to write to. owned: the memory of tensors.
    """
    entries = [e for part in parts for e in part]
    written = Counter(key for e in entries for key in (roots(e.outs) if e.kind == "run" else e.reads()))
    made, live, moved = roots([e.outs for e in entries]), roots(output) | pinned(entries), Relocation({})
    folded: list[Entry] = []

    def constant(e: Entry) -> bool:
        outs = roots(e.outs)
        fixed = (
            e.kind == "run"
            and outs
            and not e.draws
            and not outs & live
            and all(written[key] == 1 for key in outs)
            and not any(key not in moved.places and (key in owned or key in made) for key in e.reads())
        )
        # A copy: the record's is known to whoever called.
        if fixed:
            given = moved(e.operands)
            moved.places.update((id(root(o)), (_bytes(o).copy(), 0)) for o in e.outs)
            folded.append(Entry(e.kind, e.function, given, moved(e.outs), e.where))
        return bool(fixed)

    kept = [[_with(e, moved) for e in part if not constant(e)] for part in parts]
    return kept, [memory for memory, _ in moved.places.values()], folded


def once(entries: Sequence[Entry], output: Any) -> list[Entry]:
    """Kernels and products of the same operands whose results lie alike are computed once.

    Not across the beginning of a backward pass: the backward would keep what the forward made.
    """
    fixed = roots(output).union(pinned(entries), *[e.reads() for e in entries if e.kind != "run"])
    known: dict[Any, tuple[Entry, frozenset[int]]] = {}
    moved = Relocation({})
    kept = []
    for e in entries:
        e = _with(e, moved)
        read = e.reads()
        if e.kind == "run":
            first, _ = known.setdefault(_meaning(e), (e, read))
            if first is not e and not roots(e.outs, first.outs) & fixed:
                moved.places.update(
                    (id(root(o)), (_bytes(a), 0)) for o, a in zip(e.outs, first.outs, strict=True)
                )
                continue
        else:  # it may write to what it is given; a call, to anything
            known = {key: of for key, of in known.items() if e.kind == "write" and not read & of[1]}
        kept.append(e)
    return kept


def shared(entries: Sequence[Entry], output: Any) -> list[Entry]:
    """The entries without copies of results that are written once, as the copies are: these are one memory.

    output: what callers get, which is theirs to write to.
    """
    fixed, made = roots(output) | pinned(entries), set[int]()
    written = Counter(key for e in entries for key in (roots(e.outs) if e.kind == "run" else e.reads()))
    moved, kept = Relocation({}), list[Entry]()
    for e in entries:
        e = _with(e, moved)
        source = _copied(e)
        if source is not None:
            owner, own = root(source), root(e.outs[0])
            if id(owner) in made and id(own) not in fixed and written[id(owner)] == written[id(own)] == 1:
                moved.places[id(own)] = _bytes(owner), pointer(source) - pointer(owner)
                continue
        if e.kind == "run":
            made |= roots(e.outs)
        kept.append(e)
    return kept


def _copied(e: Entry) -> Array | None:
    """Of what an entry makes a copy that lies in the same way, and is all of its memory."""
    row = getattr(e.function, "row", None)
    if e.kind != "run" or len(e.outs) != 1 or row is None or row.name != "clone":
        return None
    a, out = e.operands[0], e.outs[0]
    alike = isinstance(a, np.ndarray) and (a.dtype, a.shape, a.strides) == (out.dtype, out.shape, out.strides)
    return a if alike and out.nbytes == root(out).nbytes else None


def _meaning(e: Entry) -> Any:
    """Equal for entries that compute the same into memory of one order."""
    known = isinstance(e.function, (Kernel, Product)) and all(root(o).nbytes == o.nbytes for o in e.outs)
    return (
        (
            e.name,
            *[(pointer(a), a.dtype, a.shape, a.strides) for a in arrays(e.operands)],
            *[(o.dtype, o.shape, o.strides) for o in e.outs],
        )
        if known
        else id(e)
    )


def _with(e: Entry, moved: Relocation) -> Entry:
    return Entry(e.kind, e.function, moved(e.operands), e.outs, e.where) if moved.places else e


def _bytes(a: Array) -> Array:
    """All of the memory that an array lies in."""
    owner = root(a)
    return np.ndarray(owner.nbytes, np.uint8, owner)
