"""LLVM IR as text, written by functions that look like the arithmetic they mean.

A `Function` collects instructions; a `Lane` is a value of `width` lanes (a vector, whose element
type is `kind`: float, double, i1, i8 ... i64) with Python's operators. Instructions go to the
current section: loop-invariant ones can be written before the loop while its body is built.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rushlight._engine.kernels.emit.lanes import Lane, Number, is_float

BITS = {"float": 32, "double": 64, "half": 16, **{f"i{n}": n for n in (1, 8, 16, 32, 64, 128)}}


def literal(kind: str, value: Number) -> str:
    """A scalar constant in LLVM's notation; floats by their bits, so that nothing is rounded."""
    if kind == "i1":
        return "true" if value else "false"
    if not is_float(kind):
        # LLVM reads integers as signed; 255 is -1 in eight bits.
        half = 1 << (BITS[kind] - 1)
        return str((int(value) + half) % (2 * half) - half)
    if kind == "half":
        return "0xH" + struct.pack(">e", value).hex().upper()
    if kind == "float":
        value = struct.unpack(
            "f",
            struct.pack("f", max(min(value, _F32_MAX), -_F32_MAX) if abs(value) != float("inf") else value),
        )[0]
    return "0x" + struct.pack(">d", value).hex().upper()


_F32_MAX = 3.4028234663852886e38


class Module:
    """The text of a module: declarations appear once, functions in order."""

    def __init__(self, fma: bool = True, arm: bool = False) -> None:
        self.fma, self.arm = fma, arm
        self._declared: dict[str, str] = {}
        self.functions: list[str] = []

    def declare(self, name: str, text: str) -> str:
        """Note an external function; gives its name."""
        self._declared[name] = text
        return name

    def text(self) -> str:
        """The whole module."""
        rare = '!0 = !{!"branch_weights", i32 1, i32 100000}'
        return "\n".join([*self._declared.values(), *self.functions, rare])


class Function:
    """One function being written."""

    def __init__(self, module: Module, header: str, width: int = 1) -> None:
        self.module, self.header, self.width = module, header, width
        # Text, and lists of lines that are still being written.
        self._lines: list[str | list[str]] = ["entry:"]
        self._early: list[str] = []
        self._placed = False
        self._variables: list[str] = []
        self._count = 0
        self._in_early = False
        self._phis_at = 0
        self.block = "entry"

    # --- instructions ---------------------------------------------------------------------------

    def emit(self, text: str) -> None:
        """An instruction without a result."""
        (self._early if self._in_early else self._lines).append("  " + text)

    def op(self, text: str) -> str:
        """An instruction with a result, whose name is given back."""
        self._count += 1
        name = f"%v{self._count}"
        self.emit(f"{name} = {text}")
        return name

    def fresh(self, stem: str) -> str:
        """A label that is not taken."""
        self._count += 1
        return f"{stem}{self._count}"

    def start(self, block: str) -> None:
        """Begin a basic block."""
        self._lines.append(f"{block}:")
        self.block = block

    def mark_early(self) -> None:
        """Instructions written within `early()`, before and from now on, go here."""
        if self._placed:
            self._early = []
        self._lines.append(self._early)
        self._placed = True

    def mark_phis(self) -> None:
        """The phis of a loop go here, at the start of its block."""
        self._phis_at = len(self._lines)

    def phi(self, kind: str, name: str, initial: str, following: str) -> None:
        """What the loop that began at `mark_phis` carries, from the entry and from here."""
        self._lines.insert(
            self._phis_at, f"  {name} = phi {kind} [{initial}, %entry], [{following}, %{self.block}]"
        )

    @contextmanager
    def early(self, on: bool = True) -> Iterator[None]:
        """Write loop-invariant instructions, before the loop (unless `on` is False)."""
        before, self._in_early = self._in_early, self._in_early or on
        yield
        self._in_early = before

    def finish(self) -> None:
        """Close the function and put it into the module."""
        if not self._placed:
            self._lines.append(self._early)
        lines = [line for part in self._lines for line in ([part] if isinstance(part, str) else part)]
        self.module.functions.append(
            f"{self.header} {{\n" + "\n".join(lines[:1] + self._variables + lines[1:]) + "\n}"
        )

    # --- scalar code: pointers, counters, control flow -------------------------------------------

    def load(self, kind: str, pointer: str, offset: str | int = 0) -> str:
        """Read a scalar at a byte offset."""
        return self.op(f"load {kind}, ptr {self.at(pointer, offset)}, align 1")

    def store(self, kind: str, value: str | int, pointer: str, offset: str | int = 0) -> None:
        """Write a scalar at a byte offset."""
        self.emit(f"store {kind} {value}, ptr {self.at(pointer, offset)}, align 1")

    def at(self, pointer: str, offset: str | int) -> str:
        """The pointer moved by bytes."""
        if offset == 0:
            return pointer
        return self.op(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def i64(self, op: str, a: str | int, b: str | int) -> str:
        """An i64 operation, such as add or `icmp ult`."""
        return self.op(f"{op} i64 {a}, {b}")

    def var(self, init: str | int, kind: str = "i64") -> Variable:
        """A mutable variable (LLVM's passes make it a register)."""
        name = f"%v{self._count + 1}"
        self._count += 1
        self._variables.append(f"  {name} = alloca {kind}, align 8")
        made = Variable(self, kind, name)
        made.set(init)
        return made

    @contextmanager
    def loop(self, count: str, start: str | int = 0) -> Iterator[str]:
        """Run the block with an i64 counter from `start` below `count`."""
        i = self.var(start)
        with self.endless() as done:
            value = i.get()
            self.leave(self.i64("icmp sge", value, count), done)
            yield value
            i.set(self.i64("add", value, 1))

    @contextmanager
    def vectors(self, count: str, initial: Sequence[Lane]) -> Iterator[tuple[str, list[Lane], list[Lane]]]:
        """Run the block with a counter below `count`; gives it, running values, a list for their next ones.

        After it the running values are the last ones.
        """
        head, body, done = self.fresh("head"), self.fresh("body"), self.fresh("done")
        self.emit(f"br label %{head}")
        before, phis = self.block, list[str]()
        self.start(head)
        self._lines.append(phis)
        i, names = f"%{self.fresh('i')}", [f"%{self.fresh('acc')}" for _ in initial]
        running, updated = [Lane(self, a.kind, n) for a, n in zip(initial, names, strict=True)], list[Lane]()
        self.emit(f"br i1 {self.i64('icmp ult', i, count)}, label %{body}, label %{done}")
        self.start(body)
        yield i, running, updated
        following = self.i64("add", i, 1)
        self.emit(f"br label %{head}")
        phis.append(f"  {i} = phi i64 [0, %{before}], [{following}, %{self.block}]")
        for a, name, value in zip(initial, names, updated, strict=True):
            phis.append(f"  {name} = phi {a.type} [{a.name}, %{before}], [{value.name}, %{self.block}]")
        self.start(done)

    @contextmanager
    def counted(self, count: str) -> Iterator[str]:
        """`loop`, its counter in a register."""
        with self.vectors(count, ()) as (i, _, _):
            yield i

    @contextmanager
    def endless(self) -> Iterator[str]:
        """Run the block again and again; gives the label behind it, for `leave`."""
        body, done = self.fresh("body"), self.fresh("done")
        self.emit(f"br label %{body}")
        self.start(body)
        yield done
        self.emit(f"br label %{body}")
        self.start(done)

    def leave(self, condition: str, label: str) -> None:
        """Go to a label if an i1 is set."""
        on = self.fresh("on")
        self.emit(f"br i1 {condition}, label %{label}, label %{on}")
        self.start(on)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Run the block if an i1 is set."""
        body, done = self.fresh("then"), self.fresh("end")
        self.emit(f"br i1 {condition}, label %{body}, label %{done}")
        self.start(body)
        yield
        self.emit(f"br label %{done}")
        self.start(done)

    @contextmanager
    def changed(self, condition: str, values: Sequence[Lane]) -> Iterator[tuple[list[Lane], list[Lane]]]:
        """Run the block if an i1 is set; gives what `values` are after it, and a list for their new ones."""
        body, done, before = self.fresh("then"), self.fresh("end"), self.block
        results, updated = [Lane(self, v.kind, f"%{self.fresh('phi')}") for v in values], list[Lane]()
        self.emit(f"br i1 {condition}, label %{body}, label %{done}")
        self.start(body)
        yield results, updated
        after = self.block
        self.emit(f"br label %{done}")
        self.start(done)
        for r, old, new in zip(results, values, updated, strict=True):
            self.emit(f"{r.name} = phi {r.type} [{old.name}, %{before}], [{new.name}, %{after}]")

    # --- lanes ----------------------------------------------------------------------------------

    def type(self, kind: str) -> str:
        """The type of `width` lanes of `kind`."""
        return f"<{self.width} x {kind}>"

    def const(self, kind: str, value: Number) -> Lane:
        """A number in every lane."""
        return Lane(self, kind, f"splat ({kind} {literal(kind, value)})")

    def splat(self, kind: str, scalar: str) -> Lane:
        """A scalar register in every lane."""
        vec = self.type(kind)
        one = self.op(f"insertelement {vec} poison, {kind} {scalar}, i64 0")
        return Lane(
            self,
            kind,
            self.op(f"shufflevector {vec} {one}, {vec} poison, <{self.width} x i32> zeroinitializer"),
        )

    def lanes(self, kind: str, text: str) -> Lane:
        """The Lane of an instruction's result."""
        return Lane(self, kind, self.op(text))

    def intrinsic(self, name: str, *operands: Lane, kind: str | None = None) -> Lane:
        """LLVM's `name` (such as llvm.sqrt) applied lane by lane; `kind` of the result."""
        first = operands[0].kind
        result = kind or first
        full = f"@{name}.v{self.width}{SUFFIX[first]}"
        types = ", ".join(o.type for o in operands)
        self.module.declare(full, f"declare {self.type(result)} {full}({types})")
        arguments = ", ".join(map(repr, operands))
        return self.lanes(result, f"call {self.type(result)} {full}({arguments})")

    def scalars(self, name: str, *operands: Lane) -> Lane:
        """A C function called once per lane."""
        kind = operands[0].kind
        types = ", ".join([kind] * len(operands))
        self.module.declare("@" + name, f"declare {kind} @{name}({types})")
        vec, total = self.type(kind), "poison"
        for i in range(self.width):
            parts = [self.op(f"extractelement {o!r}, i64 {i}") for o in operands]
            called = self.op(f"call {kind} @{name}({', '.join(f'{kind} {p}' for p in parts)})")
            total = self.op(f"insertelement {vec} {total}, {kind} {called}, i64 {i}")
        return Lane(self, kind, total)

    def any(self, mask: Lane) -> str:
        """An i1 register: whether any lane of a mask is set."""
        name = f"@llvm.vector.reduce.or.v{self.width}i1"
        self.module.declare(name, f"declare i1 {name}({mask.type})")
        return self.op(f"call i1 {name}({mask!r})")


class Variable:
    """A mutable scalar."""

    def __init__(self, f: Function, kind: str, name: str) -> None:
        self.function, self.kind, self.name = f, kind, name

    def get(self) -> str:
        """Its value now."""
        return self.function.op(f"load {self.kind}, ptr {self.name}, align 8")

    def set(self, value: str | int) -> None:
        """Change it."""
        self.function.emit(f"store {self.kind} {value}, ptr {self.name}, align 8")


SUFFIX = {
    "float": "f32",
    "double": "f64",
    "half": "f16",
    "i1": "i1",
    "i8": "i8",
    "i16": "i16",
    "i32": "i32",
    "i64": "i64",
}
