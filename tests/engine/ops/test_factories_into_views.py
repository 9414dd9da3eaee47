"""Factories with out=: what they write stays inside the tensor that was given."""

from __future__ import annotations

import pytest

import rushlight as torch

RANGES = {
    "linspace": (lambda out: torch.linspace(0, 3, 4, out=out), [0.0, 1.0, 2.0, 3.0]),
    "arange": (lambda out: torch.arange(0, 4.0, out=out), [0.0, 1.0, 2.0, 3.0]),
    "logspace": (lambda out: torch.logspace(0, 3, 4, out=out), [1.0, 10.0, 100.0, 1000.0]),
}


@pytest.mark.parametrize("name", RANGES)
def test_as_many_numbers_are_written_where_the_view_has_its_elements(name):
    call, (a, b, c, d) = RANGES[name]
    x = torch.full((2, 4), -1.0)
    out = x.narrow(1, 1, 2)
    assert call(out) is out and out.shape == (2, 2)
    assert x.tolist() == [[-1.0, a, b, -1.0], [-1.0, c, d, -1.0]]


def test_another_count_resizes():
    x = torch.full((2, 4), -1.0)
    out = x.narrow(1, 1, 2)
    with pytest.warns(
        UserWarning,
        match=r"The number of elements in the out tensor of shape \[2, 2\] is 4 which "
        "does not match the computed number of elements 5",
    ):
        torch.arange(0, 5.0, out=out)
    assert out.shape == (5,) and x.tolist() == [[-1.0, 0.0, 1.0, 2.0], [3.0, 4.0, -1.0, -1.0]]
    assert torch.linspace(0, 3, 5, out=torch.empty(0)).tolist() == [0.0, 0.75, 1.5, 2.25, 3.0]


def test_empty_writes_nothing():
    x = torch.full((2, 4), -1.0)
    assert torch.empty(4, out=x[0]).tolist() == [-1.0] * 4
    assert torch.empty(5, out=x.narrow(1, 1, 2)).shape == (5,) and bool((x == -1.0).all())


@pytest.mark.parametrize(
    "call",
    [
        lambda out: torch.linspace(0, 1, 4, out=out),
        lambda out: torch.arange(0, 4.0, out=out),
        lambda out: torch.logspace(0, 1, 4, out=out),
        lambda out: torch.rand(4, out=out),
    ],
)
def test_numbers_that_differ_are_not_written_to_one_place(call):
    with pytest.raises(
        RuntimeError, match="more than one element of the written-to tensor refers to a single"
    ):
        call(torch.ones(1).expand(4))
    assert torch.ones(4, out=torch.zeros(1).expand(4)).tolist() == [1.0] * 4
