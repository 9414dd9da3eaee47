"""What the instructions of a Python function do beside computing: which of them store, and into what.

`noted(code)` reads the code once. The holder of what is stored (the object of an attribute, a container) is
told by the local variable that it comes from, so that whoever follows the call can look at the object itself.
"""

from __future__ import annotations

import dis
from collections.abc import Sequence
from functools import lru_cache
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType
from typing import Any, NamedTuple

# What is stored, and how far below the top of the stack its holder lies then.
_HELD = {
    "STORE_ATTR": ("an attribute is stored", 1),
    "DELETE_ATTR": ("an attribute is stored", 1),
    "STORE_SUBSCR": ("an item is stored", 2),
    "DELETE_SUBSCR": ("an item is stored", 2),
    "STORE_SLICE": ("an item is stored", 3),
}
_DISPLAYS = ("BUILD_MAP", "BUILD_CONST_KEY_MAP")
# What a function stores for itself alone.
_LOCAL = ("STORE_FAST", "DELETE_FAST", "STORE_DEREF", "DELETE_DEREF")
# Attributes by which something is stored in another way than by an instruction.
_STORING = frozenset(
    "__setattr__ __delattr__ __setitem__ __delitem__ __setstate__ __init_subclass__ __iadd__ __ior__".split()
)
# What optimizers and schedulers hold, which no guard looks at.
OPTIONS = ("param_groups", "last_epoch", "state")


class Noted(NamedTuple):
    """An instruction that does more than compute.

    kind: "store" into what the local `variable` holds ("" where nobody knows), "update" of it in place,
    "global" whose name is `variable`, and the `attributes` that are read of it at once; "refuse" otherwise.
    """

    kind: str
    what: str
    variable: str
    line: int
    attributes: tuple[str, ...] = ()


@lru_cache(maxsize=4096)
def noted(code: CodeType) -> dict[int, Noted]:
    """The instructions of a function to look at when they run, by their offsets."""
    steps, found, line = [*dis.get_instructions(code)], dict[int, Noted](), code.co_firstlineno
    for i, step in enumerate(steps):
        line = _line(step) or line
        told = _told(code, steps, i, line)
        if told is not None:
            found[step.offset] = told
    return found


def stores(code: CodeType) -> str:
    """What a function stores into what none of its local variables holds; "" if nothing."""
    found = noted(code).values()
    return next((n.what for n in found if n.kind == "refuse" or (n.kind == "store" and not n.variable)), "")


@lru_cache(maxsize=4096)
def own_dicts(code: CodeType) -> frozenset[str]:
    """Local variables that hold only dicts which the call itself has made: displays, and **keywords."""
    made, others = set[str](), set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    if code.co_flags & CO_VARKEYWORDS:
        made.add(code.co_varnames[len(others) + bool(code.co_flags & CO_VARARGS)])
    last: tuple[str, ...] = ("", "")
    comprehended = set[str]()
    for step in dis.get_instructions(code):
        if isinstance(step.argval, CodeType):
            comprehended.add(step.argval.co_name)
        if step.opname.startswith(("STORE_FAST", "DELETE_FAST")):
            names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
            # What a comprehension gives is a dict if all in the statement are of dicts.
            comprehension = last == ("GET_ITER", "CALL") and comprehended == {"<dictcomp>"}
            display = last[1] in _DISPLAYS or comprehension
            (made if display and len(names) == 1 else others).update(map(str, names))
        if step.opname.startswith(("STORE_", "POP_TOP", "RETURN")):
            comprehended.clear()
        if step.opname != "PRECALL":
            last = last[1], step.opname
    return frozenset(made - others)


_OF_OBJECTS = ("object", "__dataclass_builtins_object__")
_OF_VARIABLES = ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE", "LOAD_CLASSDEREF")
# By which a function may look at its variables in other ways than by instructions.
_FRAMES = frozenset(("locals", "vars", "dir", "eval", "exec", "_getframe"))


def items_read(code: CodeType) -> dict[str, frozenset[Any]]:
    """By parameter: the constant places or keys of which it is asked for items, where it is used for nothing
    else. Parameters that are never looked at ask for none.
    """
    if _FRAMES.intersection(code.co_names):
        return {}
    count = code.co_argcount + code.co_kwonlyargcount
    found: dict[str, set[Any]] = {name: set() for name in code.co_varnames[:count]}
    steps = [s for s in dis.get_instructions(code) if s.opname not in ("CACHE", "EXTENDED_ARG")]
    for i, step in enumerate(steps):
        names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
        if not step.opname.startswith(("LOAD_FAST", "STORE_FAST", "DELETE_FAST", "MAKE_CELL")):
            continue
        later = steps[i + 1 : i + 3]
        if step.opname.startswith("LOAD_FAST") and _subscripts(later) and names[-1] in found:
            found[names[-1]].add(later[0].argval)
            names = names[:-1]
        for name in names:
            found.pop(name, None)
    return {name: frozenset(items) for name, items in found.items()}


def _subscripts(later: Sequence[dis.Instruction]) -> bool:
    """Whether the two instructions behind a loaded value ask it for a constant item."""
    if len(later) < 2 or later[0].opname not in ("LOAD_CONST", "LOAD_SMALL_INT"):
        return False
    if isinstance(later[0].argval, slice):
        return False
    return later[1].opname == "BINARY_SUBSCR" or (later[1].opname, later[1].argrepr) == ("BINARY_OP", "[]")


def _line(step: Any) -> int | None:
    # Before Python 3.13 the attribute is the line itself.
    starts = step.starts_line
    return step.line_number if starts is True else starts if starts is not False else None


def _told(code: CodeType, steps: Sequence[Any], i: int, line: int) -> Noted | None:
    step, name = steps[i], steps[i].opname
    if name in _HELD:
        what, depth = _HELD[name]
        return Noted("store", what, _variable(steps, i, depth), line)
    if name in ("LOAD_GLOBAL", "LOAD_NAME"):
        return Noted("global", "", step.argval, line, _attributes(steps, i))
    if name == "BINARY_OP" and step.argrepr.endswith("="):
        what = next((_stored(code, later) for later in steps[i + 1 : i + 6] if _stored(code, later)), "")
        after = steps[i + 1]
        # `v += ...` loads v first, and stores what comes of it there.
        local = str(after.argval) if after.opname == "STORE_FAST" else _variable(steps, i, 2)
        return Noted("update", what or "a variable is updated in place", local, line)
    if name.startswith("IMPORT_"):
        known = name == "IMPORT_FROM" or str(step.argval).partition(".")[0] in ("torch", "rushlight", "math")
        return None if known else Noted("refuse", f"{step.argval} is imported", "", line)
    what = _stored(code, step)
    if what:
        return Noted("refuse", what, "", line)
    # Not a variable of the name: what it holds has been read of something before.
    attribute = str(step.argval) if name.startswith("LOAD_") and not name.startswith(_OF_VARIABLES) else ""
    if attribute in _STORING and _of_super(steps, i) and code.co_argcount:
        return Noted("store", f"{attribute} is asked for", code.co_varnames[0], line)
    if attribute == "__setattr__" and i and steps[i - 1].argval in _OF_OBJECTS:  # of frozen dataclasses
        after = next((s for s in steps[i + 1 :] if s.opname not in ("PRECALL", "CACHE")), step)
        return Noted("store", "__setattr__ is asked for", _fast(after), line)
    if attribute in _STORING or attribute in OPTIONS:
        return Noted("refuse", f"{attribute} is {'read' if attribute in OPTIONS else 'asked for'}", "", line)
    return None


def _fast(step: Any) -> str:
    """The local variable that an instruction loads; "" for another one."""
    names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    return str(names[0]) if step.opname.startswith("LOAD_FAST") else ""


def _of_super(steps: Sequence[Any], i: int) -> bool:
    """Whether an instruction asks super() for an attribute: that of the first argument."""
    if steps[i].opname == "LOAD_SUPER_ATTR":
        return True
    before = [s for s in steps[max(i - 6, 0) : i] if s.opname not in ("PRECALL", "CACHE", "PUSH_NULL")]
    if len(before) < 2 or (before[-1].opname, before[-1].arg) not in (("CALL", 0), ("CALL_FUNCTION", 0)):
        return False
    return bool(before[-2].opname == "LOAD_GLOBAL" and before[-2].argval == "super")


def _stored(code: CodeType, step: Any) -> str:
    """What an instruction stores that is no local variable; "" if nothing."""
    name = step.opname
    if name in _HELD:
        return _HELD[name][0]
    if name in ("STORE_DEREF", "DELETE_DEREF") and step.argval not in code.co_cellvars:
        return "a variable of an enclosing function is stored"
    other = name.startswith(("STORE_", "DELETE_")) and not name.startswith(_LOCAL)
    return "a global is stored" if other else ""


def _attributes(steps: Sequence[Any], i: int) -> tuple[str, ...]:
    """The attributes that are read one after another of what the instruction gives."""
    found = []
    for step in steps[i + 1 :]:
        if step.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
            break
        found.append(str(step.argval))
    return tuple(found)


def _variable(steps: Sequence[Any], i: int, depth: int) -> str:
    """The local variable that lies `depth` from the top of the stack at an instruction; "" if unknown."""
    after = 0  # how high the stack is after an instruction, from what it is when `i` runs
    for k in range(i - 1, -1, -1):
        step = steps[k]
        jumps = step.opcode in dis.hasjrel or step.opcode in dis.hasjabs or steps[k + 1].is_jump_target
        if jumps or step.opname.startswith("STORE_"):
            return ""
        before = after - dis.stack_effect(step.opcode, step.arg, jump=False)
        if after == 1 - depth or before <= -depth:  # it has put that there
            names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
            place = len(names) - after - depth
            known = step.opname.startswith("LOAD_FAST") and "CLEAR" not in step.opname
            if step.opname == "LOAD_DEREF":  # what is called meanwhile may assign to it
                known = not any("CALL" in later.opname for later in steps[k:i])
            return str(names[place]) if known and 0 <= place < len(names) else ""
        after = before
    return ""
