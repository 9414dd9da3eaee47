"""The forms in which an op is called, as messages tell them: which arguments go together.

A row has one signature. PyTorch's ops have several, of which some parameters are alternatives (max's dim
and other), or which begin otherwise (randint's high and low). They are read off the recorded schemas, once
somebody made a mistake.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache

from rushlight._engine.ops.signature import Param, text
from rushlight._engine.ops.table import Row

_SCHEMAS = os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "jit", "program", "schemas.txt")
_LINE = re.compile(r"(\w+)(?:\.\w+)?\((.*)\) -> .*")
_PARAMETER = re.compile(r"(\*)|(?:\w+(?:\[\d*\])?\??)+ (\w+)(=.*)?")


@cache
def _recorded(op: str) -> list[list[str]]:
    """The parameters of each form of an op, as they are written in a signature."""
    with open(_SCHEMAS, encoding="utf-8") as lines:
        matches = [_LINE.match(line) for line in lines if "!" not in line and "Dimname" not in line]
    return [list(_spelled(said[2])) for said in matches if said is not None and said[1] == op]


def _spelled(parameters: str) -> Iterator[str]:
    for part in re.split(r", (?![^\[]*\])", parameters):
        said = _PARAMETER.fullmatch(part)
        if said is not None:
            # The schemas say dtypes by number, and 4 is the only one.
            default = "=torch.int64" if said[2] == "dtype" and said[3] == "=4" else said[3] or ""
            default = default or "=None" * (said[2] == "generator")
            yield said[1] or ("input" if said[2] == "self" else said[2]) + default


def _names(form: list[str]) -> set[str]:
    return {part.partition("=")[0] for part in form} - {"*"}


def _needed(form: list[str]) -> set[str]:
    return {part for part in form if "=" not in part} - {"*"}


def _covers(wide: list[str], form: list[str]) -> bool:
    """Whether each call of one form is a call of the other, too."""
    return _names(form) < _names(wide) and _needed(wide) <= _needed(form)


def _forms(op: str, params: tuple[Param, ...]) -> list[list[str]]:
    """The recorded forms that the row's parameters can spell."""
    own = {p.name for p in params}
    return [form for form in _recorded(op) if form and _names(form) <= own]


def _calls(op: str, forms: list[list[str]]) -> str:
    apart = [form for form in forms if not any(_covers(wide, form) for wide in forms)]
    calls = dict.fromkeys(f"{op}({', '.join(form)})" for form in sorted(apart, key=len))
    return f"it is called as {' or as '.join(calls)}"


def how_called(op: str, params: tuple[Param, ...]) -> str:
    """How an op is called, for a message: its forms where they exclude each other, else its signature."""
    forms = _forms(op, params)
    known = set().union(*map(_names, forms))
    alike = len({form[0].partition("=")[0] for form in forms}) < 2
    if alike and (not forms or any(_names(form) == known for form in forms)):
        return f"the signature is {text(op, params)}"
    return _calls(op, forms)


def refusal(row: Row) -> TypeError:
    """Of arguments that do not go together, by a row that has several forms."""
    calls = _calls(row.name, _forms(row.name, row.params))
    return TypeError(f"{row.name}() received an invalid combination of arguments; {calls}")
