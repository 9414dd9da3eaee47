"""What help() shows of an op: the row's own words, and what follows from its kind."""

from __future__ import annotations

import inspect

import pytest

import rushlight as torch


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("exp", "Any shape. Integers give the default floating dtype."),
        ("add", "Shapes broadcast, and dtypes are promoted."),
        ("eq", "Shapes broadcast, and dtypes are promoted. The result is bool."),
        ("abs", "Any shape. Of complex numbers the result is real."),
        (
            "any",
            "dim: one or several, by default all; with keepdim they stay, with size 1. The result is bool.",
        ),
    ],
)
def test_shapes_and_dtypes_follow_from_the_kind(name: str, told: str) -> None:
    summary, _, rest = (inspect.getdoc(getattr(torch, name)) or "").partition("\n\n")
    assert summary and rest == told


def test_others_say_it_themselves() -> None:
    assert "\n\n" not in (inspect.getdoc(torch.cat) or "\n\n")
    assert "batch dims broadcast" in (inspect.getdoc(torch.matmul) or "")
