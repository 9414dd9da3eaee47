"""break, continue and early return as ifs: afterwards every block runs to its end.

`return x` becomes `$result = x`, what follows is put where it is still reached, and where that is only known
when the program runs, a flag says so. Names that begin with "$" are no names of programs.
"""

from __future__ import annotations

import ast

RESULT, RETURNED = "$result", "$returned"
LEFT = "$exits"  # set where a block has been left: no variable of it is seen behind it
BEHIND = "$behind"  # set in a side of an if, where what follows that if begins
_EXITS = (ast.Return, ast.Break, ast.Continue)


def structured(body: list[ast.stmt]) -> list[ast.stmt]:
    """The body of a function without exits from the middle; it assigns $result."""
    return _Exits().block(body, False)[0]


def returns_in_part(body: list[ast.stmt]) -> bool:
    """Whether the body of a function returns on some ways, and comes to its end on others."""
    return _find(body, (ast.Return,)) and not _Exits().block(body, False)[1]


def _first(nodes: list[ast.stmt]) -> ast.stmt | None:
    """The first break or continue of a loop with this body."""
    for node in nodes:
        if isinstance(node, (ast.Break, ast.Continue)):
            return node
        if isinstance(node, (ast.If, ast.With)):
            inside = _first([*node.body, *getattr(node, "orelse", [])])
            if inside is not None:
                return inside
    return None


def _find(nodes: list[ast.stmt], kinds: tuple[type, ...], loops: bool = True) -> bool:
    """Whether there is such a statement in here, also in loops if they are to be looked into."""
    for node in nodes:
        if isinstance(node, kinds):
            return True
        inside = [*getattr(node, "body", []), *getattr(node, "orelse", [])]
        if isinstance(node, (ast.If, ast.With)) and _find(inside, kinds, loops):
            return True
        if isinstance(node, (ast.For, ast.While)):
            left = kinds if loops else tuple(k for k in kinds if k is ast.Return)
            if _find(inside, left, loops):
                return True
    return False


def _flag(name: str, value: bool, at: ast.AST) -> ast.stmt:
    return _set(name, ast.Constant(value), at)


def _set(name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
    made = ast.Assign([ast.Name(name, ast.Store())], value)
    return ast.fix_missing_locations(ast.copy_location(made, at))


def _behind(rest: list[ast.stmt]) -> list[ast.stmt]:
    return [_flag(BEHIND, True, rest[0]), *rest] if rest else []


class _Exits:
    def __init__(self) -> None:
        self.flags: list[str] = []  # what is set when the rest of a block is left
        self.broken: list[str] = []  # what is set when the loops around are left
        self.count = 0

    def block(self, body: list[ast.stmt], loop: bool) -> tuple[list[ast.stmt], bool]:
        """The statements, and whether their end is never reached."""
        out: list[ast.stmt] = []
        for i, node in enumerate(body):
            rest = body[i + 1 :]
            if isinstance(node, _EXITS):
                return [*out, *self.exit(node, loop)], True
            if isinstance(node, ast.If) and _find([node], _EXITS, loops=False):
                made, left = self.branch(node, rest, loop)
                return [*out, *made], left
            if isinstance(node, (ast.For, ast.While)) and _find(node.body, _EXITS):
                made, left = self.loop(node, rest, loop)
                return [*out, *made], left
            if isinstance(node, ast.With) and _find(node.body, _EXITS, loops=False):
                made, left = self.within(node, rest, loop)
                return [*out, *made], left
            if isinstance(node, (ast.If, ast.With)) and _find([node], _EXITS):
                node = self.around_loops(node, loop)
            out.append(node)
            if isinstance(node, ast.Raise):
                return out, True
        return out, False

    def around_loops(self, node: ast.If | ast.With, loop: bool) -> ast.stmt:
        """An if or a `with` that no way leaves, but loops in it."""
        body = self.block(node.body, loop)[0]
        if isinstance(node, ast.With):
            return ast.copy_location(ast.With(node.items, body), node)
        return ast.copy_location(ast.If(node.test, body, self.block(node.orelse, loop)[0]), node)

    def exit(self, node: ast.stmt, loop: bool) -> list[ast.stmt]:
        """What stands for return, break or continue."""
        made = [_flag(name, True, node) for name in self.flags]
        left = _flag(LEFT, True, node)
        if isinstance(node, ast.Return):
            value = node.value or ast.copy_location(ast.Constant(None), node)
            result = _set(RESULT, value, node)
            setattr(result, "is_return", True)
            return [
                result,
                *([_flag(RETURNED, True, node), _flag(self.broken[-1], True, node)] if loop else []),
                *made,
                left,
            ]
        return [*made, *([_flag(self.broken[-1], True, node)] if isinstance(node, ast.Break) else []), left]

    def branch(self, node: ast.If, rest: list[ast.stmt], loop: bool) -> tuple[list[ast.stmt], bool]:
        """An if that may leave, with all that follows it."""
        ends = [self.block(b, loop)[1] for b in (node.body, node.orelse)]
        if any(ends) or not rest:
            pairs = [
                self.block(b if end else [*b, *_behind(rest)], loop)
                for b, end in zip((node.body, node.orelse), ends, strict=True)
            ]
            made = ast.copy_location(ast.If(node.test, pairs[0][0], pairs[1][0]), node)
            return [made], pairs[0][1] and pairs[1][1]
        self.count += 1
        flag = f"$left{self.count}"
        self.flags.append(flag)
        bodies = [self.block(b, loop)[0] for b in (node.body, node.orelse)]
        self.flags.pop()
        inner = ast.copy_location(ast.If(node.test, *bodies), node)
        after, left = self.after(flag, rest, loop, node, [_flag(LEFT, True, node)])
        return [_flag(flag, False, node), inner, *after], left

    def within(self, node: ast.With, rest: list[ast.stmt], loop: bool) -> tuple[list[ast.stmt], bool]:
        """A `with` that may leave, with all that follows it."""
        if not rest or self.block(node.body, loop)[1]:
            body, left = self.block(node.body, loop)
            return [ast.copy_location(ast.With(node.items, body), node)], left
        self.count += 1
        flag = f"$left{self.count}"
        self.flags.append(flag)
        body = self.block(node.body, loop)[0]
        self.flags.pop()
        after, left = self.after(flag, rest, loop, node, [_flag(LEFT, True, node)])
        return [_flag(flag, False, node), ast.copy_location(ast.With(node.items, body), node), *after], left

    def after(
        self, flag: str, rest: list[ast.stmt], loop: bool, at: ast.AST, done: list[ast.stmt]
    ) -> tuple[list[ast.stmt], bool]:
        """What follows, unless the flag says that it is not reached."""
        more, left = self.block(_behind(rest), loop)
        test = ast.Name(flag, ast.Load())
        made = ast.fix_missing_locations(ast.copy_location(ast.If(test, done, more), at))
        return [made], left

    def loop(
        self, node: ast.For | ast.While, rest: list[ast.stmt], loop: bool
    ) -> tuple[list[ast.stmt], bool]:
        """A loop that may be left, with all that follows it."""
        returns = _find(node.body, (ast.Return,))
        leaves = returns or _find(node.body, (ast.Break,), loops=False)
        kept, self.flags = self.flags, []
        self.count += 1
        self.broken.append(f"$broken{self.count}")
        body = self.block(node.body, True)[0]
        self.flags, broken = kept, self.broken.pop()
        made = (
            ast.While(node.test, body, node.orelse)
            if isinstance(node, ast.While)
            else ast.For(node.target, node.iter, body, node.orelse)
        )
        ast.copy_location(made, node)
        setattr(made, "leaves", broken if leaves else None)
        setattr(made, "left", _first(node.body))
        if not returns:
            after, left = self.block(rest, loop)
            return [made, *after], left
        flags = (*self.flags, *([self.broken[-1], RETURNED] if loop else []), LEFT)
        done = [_flag(name, True, node) for name in flags]
        after, left = self.after(RETURNED, rest, loop, node, done)
        return [_flag(RETURNED, False, node), made, *after], left
