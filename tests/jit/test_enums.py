"""Members of Enums in scripted functions: compared, handed in and out, their names and values, and loops."""

from __future__ import annotations

import io
import zipfile
from enum import Enum, IntEnum, StrEnum
from typing import Optional  # as programs spell it

import pytest

import rushlight as torch
from rushlight import nn


class Color(Enum):
    """Two colours."""

    RED = 1
    GREEN = 2


class Other(Enum):
    """The same, by another name."""

    RED = 1


class Level(IntEnum):
    """Numbers that are names."""

    LOW = 3
    HIGH = 7


class Mixed(Enum):
    """Values of two types."""

    NUMBER = 1
    TEXT = "one"


def is_red(c: Color) -> bool:
    return c == Color.RED and c is Color.RED and c != Color.GREEN


def chosen(x: int) -> Color:
    if x > 0:
        return Color.RED
    return Color.GREEN


def told(c: Color) -> str:
    return f"{c.name} {c.value}"


def values() -> list[int]:
    out = [Level.LOW.value]
    for c in Color:
        out.append(c.value)
    return out


def highest(level: Level) -> bool:
    return level == Level.HIGH


class Painter(nn.Module):
    """A module that holds a member."""

    def __init__(self, color: Color) -> None:
        super().__init__()
        self.color = color

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.color == Color.RED:
            return x * self.color.value
        return -x


def test_members_go_in_and_out() -> None:
    script = torch.jit.script
    assert script(is_red)(Color.RED) and not script(is_red)(Color.GREEN)
    assert [script(chosen)(x) for x in (1, 0)] == [Color.RED, Color.GREEN]
    assert script(told)(Color.GREEN) == "GREEN 2" and script(values)() == [3, 1, 2]
    assert script(highest)(Level.HIGH) and not script(highest)(Level.LOW)
    with pytest.raises(RuntimeError, match="Expected a value of type"):
        script(is_red)(1)


def test_members_of_others_are_not_equal() -> None:
    def alike(c: Color) -> bool:
        return c == Other.RED

    assert not torch.jit.script(alike)(Color.RED) and torch.jit.script(Color) is Color


def test_modules_hold_members() -> None:
    x = torch.ones(2)
    assert torch.jit.script(Painter(Color.RED))(x).tolist() == [1, 1]
    assert torch.jit.script(Painter(Color.GREEN))(x).tolist() == [-1, -1]


def test_what_is_refused() -> None:
    def of_mixed(m: Mixed) -> int:
        return m.value

    with pytest.raises(RuntimeError, match="Could not unify type list"):
        torch.jit.script(of_mixed)

    def of_none(c: Color) -> bool:
        return c == Color.PURPLE  # type: ignore[attr-defined]

    with pytest.raises(RuntimeError, match="has no attribute 'PURPLE'"):
        torch.jit.script(of_none)


class _Palette(nn.Module):
    """Members as attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.first = Color.GREEN
        self.level = Level.HIGH
        self.more = [Color.RED, Color.GREEN]
        self.other = torch.jit.Attribute(Other.RED, Optional[Other])
        self.none = torch.jit.Attribute(None, Optional[Other])

    def forward(self, x):
        return self.first, self.level, self.more, self.other, self.none, self.first == Color.GREEN


def test_members_that_modules_hold_are_saved() -> None:
    """A file has a member's class and bare value; the program's own class of these members takes it back."""
    made = torch.jit.script(_Palette())
    file = io.BytesIO()
    torch.jit.save(made, file)
    wanted = (Color.GREEN, Level.HIGH, [Color.RED, Color.GREEN], Other.RED, None, True)
    assert made(torch.ones(1)) == wanted
    file.seek(0)
    found = torch.jit.load(file)(torch.ones(1))
    assert found == wanted
    assert type(found[1]) is type(made(torch.ones(1))[1]) is int  # as PyTorch's


class Weight(StrEnum):
    """Texts that are names."""

    SIMPLE = "simple"
    SQUARE = "square"


class _Weighted(nn.Module):
    """A member that is a text, among the attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.kind = Weight.SQUARE

    def forward(self, x):
        return (x * x if self.kind == "square" else x), self.kind, len(self.kind)


def test_members_that_are_texts_or_integers_are_these_as_attributes() -> None:
    file = io.BytesIO()
    made = torch.jit.script(_Weighted())
    torch.jit.save(made, file)
    file.seek(0)
    for module in (made, torch.jit.load(file)):
        assert module(torch.tensor(3.0)) == (torch.tensor(9.0), "square", 6)
        assert type(module(torch.tensor(3.0))[1]) is type(module.kind) is str


def test_a_value_of_no_member_is_refused() -> None:
    made = torch.jit.script(_Palette())
    file = io.BytesIO()
    torch.jit.save(made, file)
    whole, damaged = zipfile.ZipFile(file), io.BytesIO()
    with zipfile.ZipFile(damaged, "w") as changed:
        for name in whole.namelist():
            changed.writestr(name, whole.read(name).replace(b"  GREEN = 2\n", b"  GREEN = 3\n"))
    damaged.seek(0)
    with pytest.raises(RuntimeError, match="2 is the value of none of"):
        torch.jit.load(damaged)
