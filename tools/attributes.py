"""Attributes that first appear outside of __init__: a class says what its objects have where they are made.

python tools/attributes.py        prints each attribute that a method assigns to `self` and that neither the
                                  class, nor a base of the package, nor what its __init__ runs has named;
                                  exit 1 if any
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from statements import parsed, statements

PACKAGE = "rushlight"
# Where objects are made; a context's `__enter__` begins what its `__exit__` ends.
MAKERS = ("__init__", "__new__", "__post_init__", "__setstate__", "__enter__")


class Class:
    """A class of the package: the bases as they are written, and what its body and its makers name."""

    def __init__(self, node: ast.ClassDef) -> None:
        self.name = node.name
        self.bases = [ast.unparse(b).partition("[")[0].rpartition(".")[2] for b in node.bases]
        self.methods = {f.name: f for f in node.body if isinstance(f, ast.FunctionDef)}
        self.named = {name for part in node.body for name in _named(part)}

    def made(self, bases: list[Class]) -> set[str]:
        """What objects have once they are made: what is named, and assigned by makers or what these call."""
        methods = {name: f for c in reversed([self, *bases]) for name, f in c.methods.items()}
        waiting = [f for c in (self, *bases) for name, f in c.methods.items() if name in MAKERS]
        found = set().union(*[c.named for c in (self, *bases)])
        seen: set[str] = set()
        while waiting:
            f = waiting.pop()
            attributes, calls = _of_maker(f)
            found |= attributes
            for name in calls - seen:
                seen.add(name)
                waiting += [methods[name]] if name in methods else []
        return found


def _named(part: ast.stmt) -> Iterator[str]:
    """The names that a statement of a class's body declares, slots among them."""
    if isinstance(part, (ast.FunctionDef, ast.ClassDef)):
        yield part.name
    if isinstance(part, (ast.Assign, ast.AnnAssign)):
        for target in part.targets if isinstance(part, ast.Assign) else [part.target]:
            names = [n.id for n in ast.walk(target) if isinstance(n, ast.Name)]
            yield from names
            if names == ["__slots__"] and part.value is not None:
                yield from (str(n.value) for n in ast.walk(part.value) if isinstance(n, ast.Constant))


def _objects(f: ast.FunctionDef) -> list[str]:
    """What a maker calls the object: its first parameter; in __new__, all that it may have made."""
    if f.name == "__new__":
        return sorted({n.id for n in ast.walk(f) if isinstance(n, ast.Name)})
    return [a.arg for a in f.args.args[:1]]


def assigned(f: ast.FunctionDef, *objects: str) -> Iterator[tuple[str, int]]:
    """(attribute, line) of what a function assigns to an object."""
    for node in ast.walk(f):
        stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if isinstance(node, ast.Attribute) and stored and _object(node.value) in objects:
            yield node.attr, node.lineno


def _object(value: ast.expr) -> str:
    """A name, or "super()", as it is written; "" for other expressions."""
    if isinstance(value, ast.Call) and not value.args and _object(value.func) == "super":
        return "super()"
    return value.id if isinstance(value, ast.Name) else ""


@cache
def _of_maker(f: ast.FunctionDef) -> tuple[set[str], set[str]]:
    """What a function assigns to the object, and the object's methods that it calls or hands on."""
    objects = _objects(f)
    attributes = [n for n in ast.walk(f) if isinstance(n, ast.Attribute)]
    own = {n.attr for n in attributes if isinstance(n.ctx, ast.Store) and _object(n.value) in objects}
    return own, {n.attr for n in attributes if _object(n.value) in (*objects, "super()")}


def late(root: Path) -> list[str]:
    """`file:line: Class.attribute` of each attribute that first appears in a method."""
    trees = ((path, parsed(path.read_text(encoding="utf-8"))) for path in sorted(root.rglob("*.py")))
    classes = [
        (path, Class(n)) for path, tree in trees for n in statements(tree) if isinstance(n, ast.ClassDef)
    ]
    known: dict[str, list[Class]] = {}
    for _, own in classes:
        known.setdefault(own.name, []).append(own)
    found = []
    for path, own in classes:
        bases = _above(own, known)
        if bases is None:
            continue
        made = own.made(bases)
        for name, f in own.methods.items():
            static = any(ast.unparse(d) in ("staticmethod", "classmethod") for d in f.decorator_list)
            if name in MAKERS or static or not f.args.args:
                continue
            for attribute, line in assigned(f, f.args.args[0].arg):
                if attribute not in made and attribute != "__class__":
                    made.add(attribute)
                    found.append(f"{path.relative_to(root.parent)}:{line}: {own.name}.{attribute}")
    return found


def _above(own: Class, known: dict[str, list[Class]]) -> list[Class] | None:
    """All bases of the package; None where one is of elsewhere, whose attributes nobody knows here."""
    found: list[Class] = []
    waiting = [*own.bases]
    while waiting:
        name = waiting.pop()
        if name in ("object", "Generic", "Protocol", "ABC"):
            continue
        if name not in known:
            return None
        for base in known[name]:
            if base not in found and base.name != own.name:
                found.append(base)
                waiting += base.bases
    return found


def main() -> int:
    """Print what was found; the exit status says whether there was anything."""
    found = late(Path(__file__).resolve().parent.parent / PACKAGE)
    print("\n".join(found) or "attributes: every class names what its objects have")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
