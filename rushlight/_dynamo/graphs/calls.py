"""How the program writes the call that is running: by which operator, and what it calls the result."""

from __future__ import annotations

import dis
import operator
import sys
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, NamedTuple

from rushlight._engine.trace.recorder import _PACKAGE

# By the symbols of BINARY_OP and COMPARE_OP: names of the module operator.
_SYMBOLS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "@": "matmul",
    "&": "and_",
    "|": "or_",
    "^": "xor",
    "<<": "lshift",
    ">>": "rshift",
    "==": "eq",
    "!=": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
}
_UNARY = {"UNARY_NEGATIVE": "neg", "UNARY_INVERT": "invert", "UNARY_POSITIVE": "pos"}


class Written(NamedTuple):
    """An instruction: the name in the module operator of the operator that it is, whether that writes into
    its left operand, and the variable that its result becomes.
    """

    operator: str = ""
    writes: bool = False
    variable: str = ""


def program_frame() -> FrameType | None:
    """The innermost frame that is not the framework's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(("<rushlight", _PACKAGE)):
        frame = frame.f_back
    return frame


def written(frame: FrameType | None) -> Written:
    """What the frame's instruction is."""
    return Written() if frame is None else _instructions(frame.f_code).get(frame.f_lasti, Written())


@lru_cache(maxsize=256)
def _instructions(code: CodeType) -> dict[int, Written]:
    every = list(dis.get_instructions(code, show_caches=True))
    steps = [step for step in every if step.opname != "CACHE"]
    found = {}
    for i, step in enumerate(steps):
        skipped = 2 if step.opname == "PRECALL" else 1  # in Python 3.11 CALL is behind it
        after = steps[i + skipped] if i + skipped < len(steps) else None
        name, writes = _UNARY.get(step.opname, ""), False
        if step.opname in ("BINARY_OP", "COMPARE_OP"):
            symbol = step.argrepr.removeprefix("bool(").removesuffix(")")
            writes = step.opname == "BINARY_OP" and symbol.endswith("=")
            name = _SYMBOLS.get(symbol.removesuffix("=") if writes else symbol, "")
        elif step.opname == "BINARY_SUBSCR":
            name = "getitem"
        stored = after is not None and after.opname in ("STORE_FAST", "STORE_DEREF")
        found[step.offset] = Written(name, writes, str(after.argval) if stored and after is not None else "")
    last = 0
    for step in every:  # a frame may point behind its instruction
        last = last if step.opname == "CACHE" else step.offset
        found[step.offset] = found[last]
    return found


# What rows are called that Python's operators run.
_ROWS = {
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "invert": "bitwise_not",
    "pos": "positive",
}
_ROWS |= {"and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor"}
_ROWS |= {"lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift"}


def as_operator(how: Written, name: str, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]] | None:
    """(a function of the module operator, its operands) if the op `name` of these arguments is the operator
    that the program has there.
    """
    if not how.operator or len(args) != (1 if how.operator in _UNARY.values() else 2):
        return None
    own = how.operator.rstrip("_")
    if name == f"__r{own}__":
        return getattr(operator, how.operator), args[::-1]
    row = _ROWS.get(how.operator, own)
    if name not in (own, row, f"__{own}__", f"__i{own}__", f"{own}_", f"{row}_"):
        return None
    return getattr(operator, f"i{own}" if how.writes else how.operator), args
