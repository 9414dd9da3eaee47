"""What a graph's values may share: graph.alias_db()."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from rushlight.jit.program.ir import Block, Node, Value, walk
from rushlight.jit.program.memory import ELSEWHERE, Memory, written_arguments


class AliasDb:
    """Asks what program/memory.py knows of one block."""

    def __init__(self, block: Block, frozen: bool = False, descend: bool = False) -> None:
        self._memory = Memory(block)
        self._values = [*block.params, *(v for node in walk(block) for v in node.outputs)]
        self._written: set[Hashable] = set()
        for node in walk(block):
            known = descend and node.attrs.get("function") is not None
            self._written |= self._of_call(node) if known else self._memory.written(node)

    def _of_call(self, node: Node) -> set[Hashable]:
        """The roots of those arguments that a compiled function writes to."""
        called: Block = node.attrs["function"].block
        found: set[Hashable] = set()
        for parameter, value in zip(called.params, node.inputs, strict=True):
            if any(parameter in written_arguments(inner) for inner in walk(called)):
                found |= self._memory.of(value)
        return found

    def _roots(self, given: Any) -> set[Hashable]:
        values: Any = given if isinstance(given, Sequence) else [given]
        return {root for value in values for root in self._memory.of(getattr(value, "_of", value))}

    def may_contain_alias(self, one: Any, other: Any) -> bool:
        """Whether two values, or lists of values, may be or hold the same memory."""
        return bool(self._roots(one) & self._roots(other))

    may_alias = may_contain_alias

    def has_writers(self, value: Any) -> bool:
        """Whether anything writes to a value."""
        return bool(self._roots(value) & self._written)

    def _groups(self) -> dict[Hashable, list[Value]]:
        found: dict[Hashable, list[Value]] = {}
        for value in self._values:
            for root in self._memory.of(value):
                found.setdefault(root, []).append(value)
        return found

    def __str__(self) -> str:
        lines = ["===1. GRAPH===", "===2. ALIAS DB==="]
        for root, values in self._groups().items():
            name = "WILDCARD" if root == ELSEWHERE else repr(root)
            lines += [f"{value!r} points to: {name}" for value in values]
        return "\n".join([*lines, "===3. Writes===", *map(repr, self._written)]) + "\n"

    def to_graphviz_str(self) -> str:
        """A picture's text for graphviz."""
        lines = [
            f'  "{value!r}" -> "{"WILDCARD" if root == ELSEWHERE else root!r}"'
            for root, values in self._groups().items()
            for value in values
        ]
        return "\n".join(["digraph alias_db {", *lines, "}"]) + "\n"
