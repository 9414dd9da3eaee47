"""Whether a program does what a second record did; a kernel that does not give what eager gives, written down
so that anybody can run it again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rushlight._engine.tensors.generator import default_generator
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.guards import Guards
from rushlight._engine.trace.passes import gradients
from rushlight._engine.trace.passes.kernel_nodes import Kernel
from rushlight._engine.trace.program import Part, Program, Recorded
from rushlight._engine.trace.recorder import Entry, root, roots
from rushlight._engine.trace.regions import generators_of

_SCRIPT = '''"""A compiled kernel and what eager computed; made by rushlight.compile(verify=True)."""
from pathlib import Path

import numpy as np

from rushlight._engine.trace.passes.kernel_nodes import Kernel

kernel = Kernel.parse("""{kernel}""")
saved = np.load(Path(__file__).with_suffix(".npz"))
found = kernel.made(*[saved[name] for name, _, _ in kernel.inputs])
for number, one in enumerate(found if isinstance(found, tuple) else (found,)):
    expected = saved[f"out{{number}}"].reshape(np.shape(one)).astype("float64")
    print(number, "largest difference:", np.abs(np.asarray(one, "float64") - expected).max())
'''


def write_script(entry: Entry, expected: tuple[Any, ...]) -> str:
    """Write a script and its arrays into a new temporary directory: the script's path, "" for no kernel."""
    kernel = entry.function
    if not isinstance(kernel, Kernel):
        return ""
    script = Path(tempfile.mkdtemp(prefix="rushlight-difference-")) / "kernel.py"
    arrays = {name: a for (name, _, _), a in zip(kernel.inputs, entry.operands[0], strict=True)}
    arrays.update({f"out{i}": a for i, a in enumerate(expected)})
    np.savez(script.with_suffix(".npz"), **arrays)
    script.write_text(_SCRIPT.format(kernel=kernel.text()))
    return str(script)


class State:
    """Memory and random numbers as they were before a call."""

    def __init__(self, guards: Sequence[Guards], program: Program | None) -> None:
        """program: that writes what is to be found again."""
        known = [a for g in guards for _, a, _ in g.tensors]
        arrays = [] if program is None else [*known, *program.written]
        # Memory without elements may be one that NumPy only lets read.
        self.held = [(a, a.copy()) for a in {id(a): a for a in arrays}.values() if a.size]
        drawn = [default_generator, *generators_of(program.entries if program is not None else ())]
        self.random = [(g, g.get_state()) for g in {id(g): g for g in drawn}.values()]

    def knows(self, program: Program) -> bool:
        """Whether all that a program writes to, and draws from, is here."""
        written = [a for a in program.written if a.size]
        return roots(written) <= roots([a for a, _ in self.held]) and all(
            any(g is v for v, _ in self.random) for g in generators_of(program.entries)
        )

    def difference(self, program: Program, second: Recorded, tensors: list[Tensor], write: bool) -> str:
        """How the program's results differ from the second record's; empty if they do not."""
        if program.names != second.names:
            return "two calls with arguments of one kind did different things"
        if [a.tobytes() for a in program.constants] != [a.tobytes() for a in second.constants]:
            return "what seemed to be constant depends on something that cannot be repeated"
        after = [(a, a.copy()) for a, _ in self.held]
        drawn = [(g, g.get_state()) for g, _ in self.random]
        try:
            for a, values in self.held:
                a[...] = values
            for g, state in self.random:
                g.set_state(state)
            given = [[t._array for t in tensors], *[p.inputs for p in second.parts[1:]]]
            for part, other, arrays in zip(program.parts, second.parts, given, strict=True):
                for own, a in zip(part.inputs, arrays, strict=True):
                    own[...] = a
                why = _compared(part, other, second.known, write)
                if why:
                    return why
            if not any(e.kind == "call" for e in program.entries) and any(
                a.tobytes() != values.tobytes() for a, values in after
            ):
                return "what it leaves in buffers or variables depends on something that cannot be repeated"
            return ""
        finally:
            for a, values in after:
                a[...] = values
            for g, state in drawn:
                g.set_state(state)


def _compared(part: Part, other: Any, known: Container[int], write: bool) -> str:
    """How a part's results differ from another record's, up to the first step of an optimizer.

    Memory that is written to later is looked at after the last write: the record has no earlier state.
    """
    last = {key: i for i, e in enumerate(other.entries) if e.kind == "write" for key in e.reads()}
    changed = gradients.scaled(other.entries)
    due: dict[int, list[tuple[Entry, Any, Any]]] = {}
    for i, (entry, step, second) in enumerate(zip(part.entries, part.steps, other.entries, strict=True)):
        if gradients.is_about_leaves(entry):
            continue  # who holds a gradient; the leaves are the second call's now
        if entry.kind == "call":
            return ""
        with np.errstate(all="ignore"):
            step()
        for out, values in zip(entry.outs, second.outs, strict=True):
            if id(root(values)) in changed or id(root(values)) not in known:
                continue
            due.setdefault(max(i, last.get(id(root(values)), i)), []).append((entry, out, values))
        for made, out, values in due.pop(i, ()):
            if out.tobytes() != values.tobytes():
                script = write_script(made, second.outs) if write else ""
                return f"{made.name} at {made.where} depends on something that cannot be repeated" + (
                    f", or its kernel is wrong: {script} shows the difference" if script else ""
                )
    return ""
