"""A program as text: what its code in TorchScript and its form in Python have in common.

A value that is used once, right where it is made, is written inside what uses it; others get names. Dialects
say how nodes and constants are spelled (`expression`, `constant`) and what else is a statement (`other`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from rushlight.jit.program.ir import Block, Function, Names, Node, Value

_STATEMENTS = frozenset(
    (
        "prim::If",
        "prim::Loop",
        "prim::Print",
        "prim::AddStatValue",
        "prim::SetAttr",
        "prim::TupleUnpack",
        "prim::ListUnpack",
        "prim::With",
    )
)


class Writer(ABC):
    """Writes one function."""

    reserved: tuple[str, ...] = ()

    def __init__(self, function: Function) -> None:
        self.function = function
        self.names, self.spelled = Names(self.reserved), dict[Value, str]()
        self.inline: set[Node] = set()
        self.lines: list[str] = []
        self.places: list[str] = []  # where each line comes from
        self.place = ""
        self.depth = 1

    def write(self) -> str:
        """The body's text."""
        for value in self.function.block.params:
            self.name(value)
        return self.body()

    def body(self) -> str:
        """The body's text, when the arguments have names."""
        block = self.function.block
        self.scan_block(block)
        self.block(block)
        last = block.ending.inputs[0].node
        self.place = last.place if last is not None else ""
        self.line(f"return {self.ref(block.ending.inputs[0])}")
        return "\n".join(self.lines) + "\n"

    # --- what is written inside what --------------------------------------------------------------

    def scan_block(self, block: Block) -> None:
        """Find the nodes that are written inside others."""
        previous = dict[Node, Node | None]()
        last: Node | None = None
        for node in block.nodes:
            previous[node] = last
            last = node if node.kind not in ("prim::Constant", "prim::Uninitialized") else last
        previous[block.ending] = last
        self.scan(block.ending, previous)
        for node in reversed(block.nodes):
            if node not in self.inline:
                self.scan(node, previous)

    def scan(self, node: Node, previous: dict[Node, Node | None]) -> Node | None:
        """Mark what a node's inputs can hold; the node before all of it."""
        for block in node.blocks:
            self.scan_block(block)
        point = previous[node]
        for value in reversed(node.inputs):
            made = value.node
            if made is not None and made is point and self.fits(value):
                point = self.scan(made, previous)
                self.inline.add(made)
        return point

    def fits(self, value: Value) -> bool:
        """Whether a value may be written where it is used."""
        node = value.node
        if node is None or len(node.outputs) != 1 or len(value.uses) != 1 or node.blocks:
            return False
        user, place = value.uses[0]
        if (value.hint and user.kind != "prim::Return") or node.kind == "prim::isinstance":
            return False
        if hasattr(self, f"do_{node.kind[6:]}") and node.kind.startswith("prim::"):
            return False
        return node.kind not in _STATEMENTS and not (user.kind == "prim::Loop" and place >= 1)

    # --- statements -------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """One more line."""
        self.lines.append("  " * self.depth + text)
        self.places.append(self.place)

    def name(self, value: Value) -> str:
        """The name of a value, made now."""
        found = self.spelled[value] = self.names.new(value.hint or "_")
        return found

    def ref(self, value: Value) -> str:
        """A value where it is used."""
        node = value.node
        if node is not None and value not in self.spelled:
            if node.kind == "prim::Constant":
                return self.constant(node)
            if node in self.inline:
                return self.expression(node)
        return self.spelled[value]

    def block(self, block: Block) -> None:
        """The statements of a block."""
        for node in block.nodes:
            if node not in self.inline and node.kind != "prim::Constant":
                self.statement(node)

    def inner(self, block: Block, *after: str) -> None:
        """A block further in; `pass` where it is empty."""
        self.depth += 1
        count = len(self.lines)
        self.block(block)
        for text in after:
            self.line(text)
        if len(self.lines) == count:
            self.line("pass")
        self.depth -= 1

    def statement(self, node: Node) -> None:
        """One node as a statement."""
        self.place = node.place or self.place
        special = getattr(self, f"do_{node.kind[6:]}", None) if node.kind.startswith("prim::") else None
        if special is not None:
            special(node)
        elif len(node.outputs) > 1:
            values = self.expression(node)
            self.line(f"{', '.join(map(self.name, node.outputs))}, = {values}")
        elif node.outputs and node.output.uses:
            text = self.expression(node)
            self.line(f"{self.name(node.output)} = {text}")
        elif node.outputs and node.kind not in ("prim::CallFunction", "prim::CallMethod"):
            self.drop(node)
        else:
            self.line(self.expression(node))

    def drop(self, node: Node) -> None:
        """A node whose result nobody reads: it may have effects."""
        if node.kind.startswith("aten::") or node.kind == "prim::PythonOp":
            text = self.expression(node)
            self.line(f"{self.name(node.output)} = {text}")

    def args(self, values: list[Value]) -> str:
        """Values in a row, each with a comma behind it."""
        return "".join(f"{self.ref(v)}, " for v in values)

    def do_If(self, node: Node) -> None:
        """if and else; each side assigns the outputs."""
        self.line(f"if {self.ref(node.inputs[0])}:")
        names = [self.name(v) for v in node.outputs]
        for i, block in enumerate(node.blocks):
            if i:
                self.line("else:")
            self.finish(block, list(map(self.handed, names, node.outputs, block.ending.inputs)))

    def finish(self, block: Block, names: list[str]) -> None:
        """A block that assigns its outputs to names."""
        self.depth += 1
        count = len(self.lines)
        self.block(block)
        self.hand_on(names, [self.ref(v) for v in block.ending.inputs])
        if len(self.lines) == count:
            self.line("pass")
        self.depth -= 1

    def handed(self, name: str, output: Value, given: Value) -> str:
        """A name that a block assigns as one of the outputs around it."""
        return name

    def hand_on(self, names: list[str], values: list[str]) -> None:
        """names = values, without those that stay."""
        pairs = [(n, v) for n, v in zip(names, values, strict=True) if n != v]
        if pairs:
            self.line(f"{', '.join(n for n, _ in pairs)} = {', '.join(v for _, v in pairs)}")

    def do_Loop(self, node: Node) -> None:
        """`while` or `for` over a range, with the carried values as variables."""
        block, loops = node.blocks[0], node.attrs["while"]
        carried = block.params if loops else block.params[1:]
        for value, initial in zip(carried, node.inputs[1:], strict=True):
            text = self.ref(initial)
            self.line(f"{self.name(value)} = {text}")
        names = [self.spelled[v] for v in carried]
        for value, name in zip(node.outputs, names, strict=True):
            self.spelled[value] = name
        if loops:
            text, again = self.ref(node.inputs[0]), self.names.new("_")
            self.line(f"{again} = {text}")
            self.line(f"while {again}:")
            self.finish(block, [again, *names])
        else:
            number, text = self.name(block.params[0]), self.ref(node.inputs[0])
            self.line(f"for {number} in range({text}):")
            self.finish(block, names)

    def do_With(self, node: Node) -> None:
        """with, around a block."""
        given = f" as {self.name(node.output)}" if node.outputs and node.output.uses else ""
        self.line(f"with {self.manager(node)}{given}:")
        self.inner(node.blocks[0])

    def manager(self, node: Node) -> str:
        """The manager of a `with`; an object that was entered is one of its own."""
        named, inputs = node.attrs.get("named"), ", ".join(map(self.ref, node.inputs))
        return inputs if named is None else f"{named}({inputs})"

    def do_Print(self, node: Node) -> None:
        """print(...)."""
        self.line(f"print({', '.join(map(self.ref, node.inputs))})")

    def do_SetAttr(self, node: Node) -> None:
        """`object.name = value`."""
        self.line(f"{self.attribute(node.inputs[0], node.attrs['name'])} = {self.ref(node.inputs[1])}")

    def do_TupleUnpack(self, node: Node) -> None:
        """`a, b, = value`."""
        text = self.ref(node.inputs[0])
        if node.outputs:
            self.line(f"{', '.join(map(self.name, node.outputs))}, = {text}")

    do_ListUnpack = do_TupleUnpack

    # --- what dialects say ------------------------------------------------------------------------

    def expression(self, node: Node) -> str:
        """A node's text."""
        special = getattr(self, f"at_{node.kind[6:]}", None) if node.kind.startswith("prim::") else None
        return str(special(node)) if special is not None else self.op(node)

    @abstractmethod
    def constant(self, node: Node) -> str:
        """A constant's text."""

    @abstractmethod
    def op(self, node: Node) -> str:
        """An op of the table."""

    def attribute(self, value: Value, name: str) -> str:
        """value.name."""
        return f"{self.ref(value)}.{name}" if name.isidentifier() else f'getattr({self.ref(value)}, "{name}")'

    def at_GetAttr(self, node: Node) -> str:
        """`object.name`."""
        return self.attribute(node.inputs[0], node.attrs["name"])

    def at_EnumName(self, node: Node) -> str:
        """`value.name`."""
        return f"{self.ref(node.inputs[0])}.name"

    def at_EnumValue(self, node: Node) -> str:
        """`value.value`."""
        return f"{self.ref(node.inputs[0])}.value"

    def at_ListConstruct(self, node: Node) -> str:
        """`[a, b]`."""
        return f"[{', '.join(map(self.ref, node.inputs))}]"

    def at_TupleConstruct(self, node: Node) -> str:
        """`(a, b)`."""
        return f"({', '.join(map(self.ref, node.inputs))}{',' * (len(node.inputs) == 1)})"

    def at_DictConstruct(self, node: Node) -> str:
        """`{a: b}`."""
        texts = list(map(self.ref, node.inputs))
        return "{" + ", ".join(f"{k}: {v}" for k, v in zip(texts[::2], texts[1::2], strict=True)) + "}"

    def at_TupleIndex(self, node: Node) -> str:
        """`(value)[index]`."""
        return f"({self.ref(node.inputs[0])})[{self.ref(node.inputs[1])}]"
