"""What a module's children(), parameters(), items() and their like give in compiled code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rushlight.jit.compiler.values import Items
from rushlight.jit.program.ir import Value
from rushlight.jit.program.types import ClassType

LISTINGS = frozenset(
    f"{named}{what}" for named in ("", "named_") for what in ("children", "modules", "parameters", "buffers")
)


class Listing:
    """items(), keys() or values() of a container of modules."""

    def __init__(self, name: str, value: Value) -> None:
        self.name, self.value = name, value

    def __compile_call__(self, compiler: Any, node: Any, args: list[Any], kwargs: dict[str, Any]) -> Items:
        if self.name in LISTINGS:
            pairs = list(self._all(compiler, node))
            named = self.name.startswith("named_")
            return Items([Items([compiler.constant(node, n), v]) if named else v for n, v in pairs])
        found = compiler.names.entries(self.value, node, compiler)
        keys, modules = [compiler.constant(node, name) for name in found], list(found.values())
        return Items(
            {"keys": keys, "values": modules}.get(self.name)
            or [Items([k, m]) for k, m in zip(keys, modules, strict=True)]
        )

    def _all(self, compiler: Any, node: Any) -> Iterator[tuple[str, Any]]:
        """The names and values of children, modules, parameters or buffers."""
        kind = self.name.removeprefix("named_")
        if kind == "modules":
            yield "", self.value
        yield from self._inside(self.value, "", kind, compiler, node)

    def _inside(
        self, value: Value, path: str, kind: str, compiler: Any, node: Any
    ) -> Iterator[tuple[str, Any]]:
        owner = value.type.cls
        for name, found in owner.kinds.items():
            if kind != "modules" and (f"{found}s" == kind or (found == "module" and kind == "children")):
                yield path + name, compiler.member(value, owner, name, node)
        for name, found in owner.kinds.items():
            if found == "module" and kind != "children":
                child = compiler.member(value, owner, name, node)
                if kind == "modules":
                    yield path + name, child
                yield from self._inside(child, f"{path}{name}.", kind, compiler, node)


def is_of(owner: ClassType, classes: tuple[type, ...]) -> bool:
    """Whether a module's Python class is one of these."""
    return isinstance(owner.python, type) and issubclass(owner.python, classes)
