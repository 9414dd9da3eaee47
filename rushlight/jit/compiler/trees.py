"""The trees that PyTorch's own compiler begins with, which programs print: frontend.get_jit_def."""

from __future__ import annotations

import ast
from typing import Any, NoReturn

from rushlight.jit.frontend import NotSupportedError, Source, UnsupportedNodeError, check_parameters

_COLUMNS = 40  # what fits before these stands in one line


class SourceRange:
    """Where a tree stands in a program."""

    def __init__(self, source: Source, node: Any) -> None:
        self._source, self._node = source, node

    def highlight(self) -> str:
        """The lines, underlined."""
        return self._source.show(self._node)

    def __str__(self) -> str:
        return f"SourceRange at:\n{self.highlight()}"


class Tree:
    """A kind and what belongs to it: trees, and words."""

    def __init__(self, kind: str, *parts: Tree | str, place: SourceRange | None = None) -> None:
        self._kind, self._parts, self._place = kind, parts, place

    def kind(self) -> str:
        """What it is: "def", "apply", ..."""
        return self._kind

    def range(self) -> SourceRange | None:
        """Where it stands."""
        return self._place

    def _flat(self) -> str:
        parts = (part if isinstance(part, str) else part._flat() for part in self._parts)
        return f"({' '.join((self._kind, *parts))})"

    def _lines(self, indent: int) -> str:
        flat = self._flat()
        if indent + len(flat) < _COLUMNS:
            return flat
        pad = "\n" + " " * (indent + 2)
        parts = (part if isinstance(part, str) else part._lines(indent + 2) for part in self._parts)
        return f"({pad.join((self._kind, *parts))})"

    def __str__(self) -> str:
        return self._lines(0) + "\n"

    __repr__ = __str__


_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "floordiv",
    ast.Mod: "%",
    ast.Pow: "pow operator",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.Not: "not",
    ast.USub: "unary minus",
    ast.Invert: "~",
    ast.And: "and",
    ast.Or: "or",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "<",
    ast.Gt: ">",
    ast.LtE: "le",
    ast.GtE: "ge",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
}


class _Builder:
    """Makes trees of Python's."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def made(self, node: Any) -> Tree:
        """The tree of a statement or expression."""
        method = getattr(self, f"of_{type(node).__name__}", None)
        if method is None:
            raise UnsupportedNodeError(self.source, node)
        tree: Tree = method(node)
        tree._place = tree._place or SourceRange(self.source, node)
        return tree

    def refuse(self, node: Any, told: str) -> NoReturn:
        """Raise for what TorchScript has not."""
        raise NotSupportedError(self.source, node, told)

    def several(self, nodes: Any) -> Tree:
        """A list of trees."""
        return Tree("list", *map(self.made, nodes))

    def perhaps(self, node: Any) -> Tree:
        """What may be left out."""
        return Tree("option", *([] if node is None else [self.made(node)]))

    def function(self, node: ast.FunctionDef, name: str) -> Tree:
        """A function under a name."""
        check_parameters(node, self.source)
        args = node.args
        params = [self.param(a, False) for a in (*args.posonlyargs, *args.args)]
        params += [self.param(a, True) for a in args.kwonlyargs]
        decl = Tree("decl", Tree("list", *params), self.perhaps(node.returns))
        place = SourceRange(self.source, node)
        return Tree("def", _ident(name), decl, self.several(node.body), place=place)

    def param(self, arg: ast.arg, by_name: bool) -> Tree:
        """One parameter; its default is not in the tree."""
        return Tree(
            "param", _ident(arg.arg), self.perhaps(arg.annotation), Tree("option"), Tree(str(by_name))
        )

    def of_Assign(self, node: ast.Assign) -> Tree:
        return Tree("assign", self.several(node.targets), self.perhaps(node.value), Tree("option"))

    def of_AnnAssign(self, node: ast.AnnAssign) -> Tree:
        if node.value is None:
            raise UnsupportedNodeError(
                self.source, node, "annotated assignments without assigned value aren't supported"
            )
        return Tree(
            "assign", self.several([node.target]), self.perhaps(node.value), self.perhaps(node.annotation)
        )

    def of_AugAssign(self, node: ast.AugAssign) -> Tree:
        kind: type[ast.AST] = type(node.op)
        if kind in (ast.FloorDiv, ast.MatMult):
            self.refuse(node, f"unsupported kind of augmented assignment: {kind.__name__}")
        return Tree("aug_assign", self.made(node.target), Tree(_OPERATORS[kind]), self.made(node.value))

    def of_Expr(self, node: ast.Expr) -> Tree:
        return Tree("expression statement", self.made(node.value))

    def of_Return(self, node: ast.Return) -> Tree:
        return Tree("return", Tree("None") if node.value is None else self.made(node.value))

    def of_Raise(self, node: ast.Raise) -> Tree:
        return Tree("raise", self.made(node.exc))

    def of_Assert(self, node: ast.Assert) -> Tree:
        return Tree("assert", self.made(node.test), self.perhaps(node.msg))

    def of_If(self, node: ast.If) -> Tree:
        return Tree("if", self.made(node.test), self.several(node.body), self.several(node.orelse))

    def of_While(self, node: ast.While) -> Tree:
        if node.orelse:
            self.refuse(node, "else branches of while loops aren't supported")
        return Tree("while", self.made(node.test), self.several(node.body))

    def of_For(self, node: ast.For) -> Tree:
        if node.orelse:
            self.refuse(node, "else branches of for loops aren't supported")
        return Tree("for", self.several([node.target]), self.several([node.iter]), self.several(node.body))

    def of_With(self, node: ast.With) -> Tree:
        return Tree("with", self.several(node.items), self.several(node.body))

    def of_withitem(self, node: ast.withitem) -> Tree:
        return Tree("withitem", self.made(node.context_expr), self.perhaps(node.optional_vars))

    def of_Delete(self, node: ast.Delete) -> Tree:
        return Tree("del", self.several(node.targets))

    def of_Pass(self, node: ast.Pass) -> Tree:
        return Tree("pass")

    def of_Break(self, node: ast.Break) -> Tree:
        return Tree("break")

    def of_Continue(self, node: ast.Continue) -> Tree:
        return Tree("continue")

    def of_Name(self, node: ast.Name) -> Tree:
        return Tree("variable", _ident(node.id))

    def of_Constant(self, node: ast.Constant) -> Tree:
        value = node.value
        if value is None or isinstance(value, bool):
            return Tree(str(value))
        if value is Ellipsis:
            return Tree("dots")
        return Tree("string_literal", value) if isinstance(value, str) else Tree("const", repr(value))

    def of_Attribute(self, node: ast.Attribute) -> Tree:
        return Tree(".", self.made(node.value), _ident(node.attr))

    def of_Call(self, node: ast.Call) -> Tree:
        named = []
        for k in node.keywords:
            if k.arg is None:
                self.refuse(k, "keyword-arg expansion is not supported")
            named.append(Tree("attribute", _ident(k.arg), self.made(k.value)))
        return Tree("apply", self.made(node.func), self.several(node.args), Tree("list", *named))

    def of_Starred(self, node: ast.Starred) -> Tree:
        return Tree("starred", self.made(node.value))

    def of_BinOp(self, node: ast.BinOp) -> Tree:
        return Tree(_OPERATORS[type(node.op)], self.made(node.left), self.made(node.right))

    def of_UnaryOp(self, node: ast.UnaryOp) -> Tree:
        if isinstance(node.op, ast.UAdd):
            self.refuse(node, "unsupported unary operator: UAdd")
        return Tree(_OPERATORS[type(node.op)], self.made(node.operand))

    def of_BoolOp(self, node: ast.BoolOp) -> Tree:
        return _joined(_OPERATORS[type(node.op)], list(map(self.made, node.values)))

    def of_Compare(self, node: ast.Compare) -> Tree:
        sides = [node.left, *node.comparators]
        parts = []
        for op, a, b in zip(node.ops, sides, sides[1:], strict=False):
            if isinstance(op, ast.NotIn):
                parts.append(Tree("not", Tree("in", self.made(a), self.made(b))))
            else:
                parts.append(Tree(_OPERATORS[type(op)], self.made(a), self.made(b)))
        return _joined("and", parts)

    def of_IfExp(self, node: ast.IfExp) -> Tree:
        return Tree("if", self.made(node.test), self.made(node.body), self.made(node.orelse))

    def of_Tuple(self, node: ast.Tuple) -> Tree:
        return Tree("tuple-literal", self.several(node.elts))

    def of_List(self, node: ast.List) -> Tree:
        return Tree("list-literal", self.several(node.elts))

    def of_Dict(self, node: ast.Dict) -> Tree:
        return Tree("dict-literal", self.several(node.keys), self.several(node.values))

    def of_ListComp(self, node: ast.ListComp) -> Tree:
        return Tree("list comprehension", self.made(node.elt), *self.source_of(node))

    def of_DictComp(self, node: ast.DictComp) -> Tree:
        return Tree("dict comprehension", self.made(node.key), self.made(node.value), *self.source_of(node))

    def source_of(self, node: ast.ListComp | ast.DictComp) -> tuple[Tree, Tree]:
        """What a comprehension assigns to, and of what."""
        first = node.generators[0]
        if len(node.generators) != 1:
            self.refuse(node, "Only a single generator is currently supported")
        if first.ifs:
            self.refuse(node, "Comprehension ifs are not supported yet")
        return self.made(first.target), self.made(first.iter)

    def of_JoinedStr(self, node: ast.JoinedStr) -> Tree:
        text, args = "", []
        parts: list[Any] = node.values
        for part in parts:
            if isinstance(part, ast.Constant):
                text += str(part.value)
                continue
            if part.conversion != -1 or part.format_spec is not None:
                self.refuse(node, "Format specifiers and conversions in f-strings are not supported")
            text += "{}"
            args.append(self.made(part.value))
        form = Tree(".", Tree("string_literal", text), _ident("format"))
        return Tree("apply", form, Tree("list", *args), Tree("list"))

    def of_Subscript(self, node: ast.Subscript) -> Tree:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return Tree("subscript", self.made(node.value), self.several(parts))

    def of_Slice(self, node: ast.Slice) -> Tree:
        return Tree("slice expr", *map(self.perhaps, (node.lower, node.upper, node.step)))


def tree_of(node: ast.FunctionDef, source: Source, name: str) -> Tree:
    """The tree of a function under a name."""
    return _Builder(source).function(node, name)


def _ident(name: str) -> Tree:
    return Tree("ident", name)


def _joined(kind: str, parts: list[Tree]) -> Tree:
    """`a and b and c`: from the left."""
    found = parts[0]
    for part in parts[1:]:
        found = Tree(kind, found, part)
    return found
