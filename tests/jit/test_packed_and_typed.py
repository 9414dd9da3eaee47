"""Packed sequences and attention in scripts, types by name, and what is said of what does not fit."""

from __future__ import annotations

import io
from typing import Any, Optional

import pytest

import rushlight as torch
from rushlight.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Packed(torch.nn.Module):
    def __init__(self, kind: Any, **given: Any) -> None:
        super().__init__()
        self.rnn = kind(4, 3, **given)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> Any:
        packed = pack_padded_sequence(x, lengths, enforce_sorted=False)
        _, state = self.rnn(packed)
        again, last = self.rnn(packed, state)
        return pad_packed_sequence(again)[0], last


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (torch.nn.GRU, {"bidirectional": True}),
        (torch.nn.LSTM, {}),
        (torch.nn.RNN, {"nonlinearity": "relu"}),
    ],
)
def test_recurrent_modules_take_packed_sequences(kind: Any, given: dict[str, Any]) -> None:
    module = Packed(kind, **given)
    scripted = torch.jit.script(module)
    x, lengths = torch.randn(3, 3, 4), torch.tensor([2, 3, 1])
    wanted = module(x, lengths)
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    file.seek(0)
    for one in (scripted, torch.jit.load(file)):
        torch.testing.assert_close(one(x, lengths), wanted)


def attend(
    x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, mask: Optional[torch.Tensor], zero: bool
) -> tuple[torch.Tensor, Optional[torch.Tensor]]:
    return torch.nn.functional.multi_head_attention_forward(
        x, x, x, 8, 2, w, b, None, None, zero, 0.0, w[:8], b[:8], True, None, True, mask
    )


@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("mask", [None, torch.randn(3, 3), torch.eye(3).bool()])
def test_attention_as_a_function(mask: Any, zero: bool) -> None:
    for x in (torch.randn(3, 2, 8), torch.randn(3, 8)):
        given = (x, torch.randn(24, 8), torch.randn(24), mask, zero)
        torch.testing.assert_close(torch.jit.script(attend)(*given), attend(*given))


def test_types_that_are_known_by_name() -> None:
    unit = torch.jit.CompilationUnit(
        "def f(x: NoneType, g: Generator) -> NoneType:\n    return x\n"
        "def g(flag: bool) -> Any:\n    return 'yes' if flag else [1]\n"
    )
    assert unit.f(None, torch.Generator()) is None
    assert (unit.g(True), unit.g(False)) == ("yes", [1])


class Tally:
    def __init__(self, n: int) -> None:
        self.n = n

    def __iadd__(self, other: int) -> Tally:
        self.n += other
        return self

    def __add__(self, other: int) -> Tally:
        return Tally(self.n + other)


class Plain:
    def __init__(self, n: int) -> None:
        self.n = n

    def __add__(self, other: int) -> Plain:
        return Plain(self.n + other)


def test_objects_are_added_to_in_place() -> None:
    def f(n: int) -> int:
        tally = Tally(n)
        tally += 3
        return (tally + 1).n + Tally(n).n

    def g(n: int) -> int:
        plain = Plain(n)
        plain += 3
        return plain.n

    assert torch.jit.script(f)(2) == f(2) == 6 + 2
    assert torch.jit.script(g)(2) == g(2) == 5


def test_words_of_errors() -> None:
    def nothing() -> int:  # type: ignore[empty-body]
        pass

    def many() -> int:
        n = 0
        for _ in range(1, 2, 3, 4):  # type: ignore[call-overload]
            n += 1
        return n

    def over(x: torch.Tensor) -> torch.Tensor:
        for row in x:
            x = x + row
        return x

    def none() -> torch.Tensor:
        return torch.tensor([None])

    with pytest.raises(RuntimeError, match="does not return along all paths"):
        torch.jit.script(nothing)
    with pytest.raises(RuntimeError, match="range expected at most 3 arguments, got 4"):
        torch.jit.script(many)
    unit = "def f() -> Optional[int]:\n    pass\ndef g():\n    for i in range(0.5):\n        print(i)\n"
    for part, told in zip(
        unit.split("def ")[1:], ("along all paths", "found float in argument 0"), strict=True
    ):
        with pytest.raises(RuntimeError, match=told):
            torch.jit.CompilationUnit(f"def {part}")
    with pytest.raises(RuntimeError, match="of a 0-d tensor"):
        torch.jit.script(over)(torch.tensor(1))
    with pytest.raises(RuntimeError, match="must be of ints, floats, or bools, got NoneType"):
        torch.jit.script(none)()


class Told(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """What it does."""
        return x


def test_methods_keep_their_docstrings() -> None:
    assert torch.jit.script(Told()).forward.__doc__ == "What it does."
