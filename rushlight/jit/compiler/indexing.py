"""Subscripts: parts of tensors, lists, tuples, text, and modules of a container."""

from __future__ import annotations

import ast
from typing import Any

from rushlight.jit.compiler.expressions import Expressions
from rushlight.jit.compiler.values import Items, Method
from rushlight.jit.program.ir import Value
from rushlight.jit.program.types import INT, NONE, STR, TENSOR, list_of, optional


def plain_index(index: Any) -> Any:
    """An index in which slice(a, b, c) and Ellipsis, as torch.fx writes them, are a:b:c and `...`."""
    if isinstance(index, ast.Tuple):
        return ast.copy_location(ast.Tuple([plain_index(e) for e in index.elts], ast.Load()), index)
    if isinstance(index, ast.Name) and index.id == "Ellipsis":
        return ast.copy_location(ast.Constant(...), index)
    if isinstance(index, ast.Call) and isinstance(index.func, ast.Name) and index.func.id == "slice":
        parts = [None if isinstance(a, ast.Constant) and a.value is None else a for a in index.args]
        parts = [None, *parts] if len(parts) == 1 else parts
        return ast.copy_location(ast.Slice(*[*parts, None][:3]), index)
    return index


class Indexing(Expressions):
    """The compiler's part for subscripts."""

    def at_Subscript(self, node: ast.Subscript) -> Any:
        """`value[index]` of a tuple, list, dict, str, module list or tensor."""
        self.refuse_named_bounds(node.slice)
        base, index = self.sugar(node.value), plain_index(node.slice)
        if isinstance(base, Items):
            return self.item_of(base, index, node)
        value = self.value(base, node)
        if value.type.kind == "Class" and self.names.by_name(value.type.cls):
            return self.named_item(value, index, node)
        if value.type.kind == "Class" and value.type.cls.is_module:
            return self.item_of(Items(self.names.children(value, node, self)), index, node)
        if value.type == TENSOR:
            return self.indexed(value, index, node)
        if isinstance(index, ast.Slice):
            return self.sliced(value, index, node)
        if value.type.kind == "Tuple":
            return self.any_item(value, index, node)
        if value.type.kind == "Class" and value.type.cls.method("__getitem__") is not None:
            return self.call_method(
                Method(value, value.type.cls, "__getitem__"), [self.expr(index)], {}, node
            )
        if value.type.kind not in ("List", "Dict", "str"):
            raise self.error(node, f"'{value.type}' object is not subscriptable")
        kind = "prim::StringIndex" if value.type == STR else "aten::__getitem__"
        return self.call_builtin(kind, [value, self.expr(index)], {}, node)

    def any_item(self, value: Value, index: Any, node: Any) -> Value:
        """An item of a tuple; by a number that is not known where all items are of one type."""
        place = self.expr(index)
        if place.node is not None and place.node.kind == "prim::Constant":
            return self.tuple_item(value, int(place.node.attrs["value"]), node)
        if place.type != INT or len(set(value.type.args)) != 1:
            raise self.error(
                node,
                f"Cannot index into a {value.type} with a non-integer literal because we cannot resolve the "
                "output type",
            )
        return self.emit(node, "prim::TupleIndex", [value, place], value.type.args[0]).output

    def refuse_named_bounds(self, index: Any) -> None:
        """Raise for slice(1, stop=2)."""
        if isinstance(index, ast.Call) and getattr(index.func, "id", "") == "slice" and index.keywords:
            raise self.error(index.func, "Slice does not accept any keyword arguments")

    def named_item(self, value: Value, index: Any, node: Any) -> Any:
        """A module or parameter of a container by its name, which stands there."""
        if not isinstance(index, ast.Constant):
            raise self.error(
                node,
                "Unable to extract string literal index. ModuleDict indexing is only supported with string "
                "literals. For example, 'i = \"a\"; self.layers[i](x)' will fail because i is not a literal. "
                "Enumeration of ModuleDict is supported, e.g. 'for k, v in self.items(): out = v(inp)'",
            )
        entries = self.names.entries(value, node, self)
        if index.value not in entries:
            raise self.error(node, "Key Error, " + str(index.value))
        return entries[index.value]

    def place(self, index: Any, node: Any) -> int:
        """The index of a module in a container: a number that stands there."""
        if isinstance(index, ast.Name) and not self.source.ours:
            raise self.error(
                node,
                "Expected integer literal for index but got a variable or non-integer. ModuleList/Sequential "
                "indexing is only supported with integer literals. For example, 'i = 4; self.layers[i](x)' "
                "will fail because i is not a literal. Enumeration is supported, e.g. 'for index, v in "
                "enumerate(self): out = v(inp)'",
            )
        return self.fixed(index)

    def fixed(self, node: Any) -> int:
        """An index that is known now."""
        found = self.expr(node).node
        if found is None or found.kind != "prim::Constant":
            raise self.error(node, "Tuple and module indices must be integer constants")
        return int(found.attrs["value"])

    def item_of(self, base: Items, index: Any, node: Any) -> Any:
        """An element, or some, of what the compiler knows one by one."""
        if isinstance(index, ast.Slice):
            bounds = [None if e is None else self.fixed(e) for e in (index.lower, index.upper, index.step)]
            return Items(base.items[slice(*bounds)])
        place = self.place(index, node)
        if not -len(base.items) <= place < len(base.items):
            raise self.error(node, f"Index {place} out of range for {len(base.items)} elements")
        return base.items[place]

    def sliced(self, value: Value, index: ast.Slice, node: Any, dim: int | None = None) -> Value:
        """value[a:b:c], of a tensor along `dim`."""
        if value.type.kind == "Tuple":
            bounds = [None if e is None else self.fixed(e) for e in (index.lower, index.upper, index.step)]
            places = range(len(value.type.args))[slice(*bounds)]
            return self.value(Items([self.tuple_item(value, i, node) for i in places]), node)
        parts = [self.constant(node, None) if e is None else self.expr(e) for e in (index.lower, index.upper)]
        parts.append(self.constant(node, 1) if index.step is None else self.expr(index.step))
        before = [] if dim is None else [self.constant(node, dim)]
        return self.call_builtin("aten::slice", [value, *before, *parts], {}, node)

    def indexed(self, value: Value, index: Any, node: Any) -> Value:
        """A part of a tensor: numbers, slices, None and ... are views; tensors gather."""
        index = plain_index(index)
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        made: list[Any] = [p if _is_slice(p) else self.expr(p) for p in parts]
        dots = next((i for i, p in enumerate(made) if _is_dots(p)), len(made))
        gathered: dict[int, Value] = {}
        dim, given = 0, value
        for part in made[:dots]:
            value, dim = self.part_at(value, part, dim, 1, gathered, node)
        dim = -1  # what is behind ... counts from the last dim, which comes first
        for part in reversed(made[dots + 1 :]):
            value, dim = self.part_at(value, part, dim, -1, gathered, node)
        whole = next((p for p in made if isinstance(p, ast.Slice)), None)
        if value is given and not gathered and whole is not None:  # x[:] is another tensor than x
            return self.sliced(value, whole, node, 0)
        return self.gather(value, gathered, node) if gathered else value

    def part_at(
        self, value: Value, part: Any, dim: int, step: int, gathered: dict[int, Value], node: Any
    ) -> tuple[Value, int]:
        """One element of an index at a dim: the value, and the dim of the next (`step` further)."""
        if isinstance(part, ast.Slice):
            whole = part.lower is None and part.upper is None and part.step is None
            return (value if whole else self.sliced(value, part, node, dim)), dim + step
        if part.type == NONE:
            place = self.constant(node, dim)
            return self.call_builtin("aten::unsqueeze", [value, place], {}, node), dim + step
        if part.type == INT:
            return self.call_builtin("aten::select", [value, self.constant(node, dim), part], {}, node), dim
        known = part.type == list_of(INT)
        gathered[dim] = self.call_builtin("aten::tensor", [part], {}, node) if known else part
        return value, dim + step

    def gather(self, value: Value, gathered: dict[int, Value], node: Any) -> Value:
        """value[..., index, ...] with tensors at some dims."""
        if min(gathered) < 0:
            raise self.error(node, "Ellipses followed by tensor indexing is currently not supported")
        none, t = self.constant(node, None), optional(TENSOR)
        indices = [gathered.get(i, none) for i in range(max(gathered) + 1)]
        listed = self.emit(node, "prim::ListConstruct", indices, list_of(t)).output
        return self.call_builtin("aten::index", [value, listed], {}, node)


def _is_dots(part: Any) -> bool:
    return isinstance(part, ast.Constant) and part.value is Ellipsis


def _is_slice(part: Any) -> bool:
    return isinstance(part, ast.Slice) or _is_dots(part)
