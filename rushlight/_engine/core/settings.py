"""The settings: one table of name, default, choices and a sentence (settings.tsv).

Each is an environment variable (RUSHLIGHT_ and its name in capitals), an attribute of `settings`, and
a keyword of the context manager `settings.using(...)`. An unknown RUSHLIGHT_ variable is warned of, once.
docs/settings.md is made of the table: `python -m rushlight._engine.core.settings`.
"""

from __future__ import annotations

import os
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rushlight._engine.core.callers import warn

PREFIX = "RUSHLIGHT_"


@dataclass(frozen=True)
class Setting:
    """One setting; `choices` lists the accepted texts where they are few."""

    name: str
    type: type
    default: Any
    sentence: str
    choices: tuple[str, ...] = ()


with open(os.path.join(os.path.dirname(__file__), "settings.tsv"), encoding="utf-8") as _file:
    SETTINGS: tuple[Setting, ...] = tuple(
        [
            Setting(name, type(literal_eval(default)), literal_eval(default), sentence, literal_eval(choices))
            for name, default, choices, sentence in [line.rstrip("\n").split("\t") for line in _file]
        ]
    )
_BY_NAME = {k.name: k for k in SETTINGS}
# Whose wrong values are refused by what reads them: whoever measures narrow kernels must not get wide ones.
_REFUSED = frozenset(("cpu",))
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def _suggest(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, known, 1, 0.5)
    return f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}"


def _warn_unknown(variable: str) -> None:
    """Say that a variable of the environment sets nothing, with the name that may be meant."""
    known = [PREFIX + k.name.upper() for k in SETTINGS]
    warn(f"{variable}: Rushlight has no such setting; {_suggest(variable, known)}")


def page() -> str:
    """docs/settings.md: the table for readers."""
    rows = [
        f"| `{PREFIX}{k.name.upper()}` | {', '.join(f'`{c}`' for c in k.choices) or k.type.__name__} "
        f"| {f'`{k.default}`' if k.default != '' else 'empty'} | {k.sentence} |"
        for k in SETTINGS
    ]
    head = """\
# Settings

Variables of the environment, read when Rushlight first computes. `python -m rushlight --info` prints those
that are not at their defaults; one that does not exist, and a value that it cannot have, is warned of (of
`RUSHLIGHT_CPU`, it is an error of the first op with a kernel). A bool is 1 or 0, true or false, yes or no, on
or off. An empty variable is as one that is not set.

| variable | values | default | what it says |
|---|---|---|---|"""
    return "\n".join([head, *rows, ""])


def parse(setting: Setting, text: str) -> Any:
    """A setting's value from text; ValueError says what is expected."""
    if setting.type is bool:
        if text.lower() in _TRUE + _FALSE:
            return text.lower() in _TRUE
        raise ValueError(f"{setting.name}: expected one of {_TRUE + _FALSE}, got {text!r}")
    if setting.choices and text not in setting.choices:
        raise ValueError(f"{setting.name}: expected one of {setting.choices}, got {text!r}")
    try:
        return setting.type(text)
    except ValueError:
        raise ValueError(f"{setting.name}: expected {setting.type.__name__}, got {text!r}") from None


class Settings:
    """The values in force, as attributes."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        for setting in SETTINGS:
            self.__dict__[setting.name] = setting.default
        for variable, text in environment.items():
            if variable.startswith(PREFIX):
                name = variable[len(PREFIX) :].lower()
                if name not in _BY_NAME:
                    _warn_unknown(variable)
                    continue
                if not text:  # as shells and CI files unset a variable
                    continue
                try:
                    self.__dict__[name] = parse(_BY_NAME[name], text)
                except ValueError as error:  # a setting stops nobody, but for these
                    if name in _REFUSED:
                        self.__dict__[name] = text
                        continue
                    reason = str(error).partition(": ")[2]
                    warn(f"{variable}: {reason}; the default {_BY_NAME[name].default!r} is used")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"no setting {name!r}; {_suggest(name, list(_BY_NAME))}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _BY_NAME:
            raise AttributeError(f"no setting {name!r}; {_suggest(name, list(_BY_NAME))}")
        found = parse(_BY_NAME[name], str(value))
        if found == self.__dict__[name]:  # listeners drop what they have prepared, which is not for nothing
            return
        self.__dict__[name] = found
        for forget in on_change:
            forget()

    @contextmanager
    def using(self, **changes: Any) -> Iterator[None]:
        """Change settings for a while; AttributeError for an unknown one."""
        before = {name: getattr(self, name) for name in changes}
        try:
            for name, value in changes.items():
                setattr(self, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)


# What is told of every change.
on_change: list[Callable[[], None]] = []
settings = Settings(os.environ)

if __name__ == "__main__":
    print(page(), end="")
