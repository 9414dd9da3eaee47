"""Entries that move elements, or look them up, are stages of a program: eager's bits, in one native call."""

import re

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight._engine.kernels.emit.target import available

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")
MOVES = {
    "flip": lambda x: x.flip(1),
    "flip of all": lambda x: x.flip(0, 1),
    "roll": lambda x: x.roll(3, 1),
    "roll of all": lambda x: x.roll((5, -2), (0, 1)),
    "repeat": lambda x: x.repeat(2, 3),
    "a new dim": lambda x: x.repeat(2, 1, 2),
    "each": lambda x: x.repeat_interleave(3, 0),
    "pad": lambda x: F.pad(x, (1, 2, 3, 0), value=-1.5),
    "cut": lambda x: F.pad(x, (-1, 2)),
    "tril": lambda x: x.tril(2),
    "triu": lambda x: x.triu(-1),
    "of a transposed": lambda x: x.t().flip(0),
    "windows": lambda x: F.unfold(x.view(1, 2, 12, 8), 3),
    "integers": lambda x: (x > 0).long().flip(0),
    "masks": lambda x: (x > 0).roll(1).float(),
}


def replayed(f, *args):
    """What a replay gives, beside eager's; and its calls: native ones, of Python."""
    compiled = torch.compile(f, mode="reduce-overhead")
    for _ in range(3):
        compiled(*args)
    others = [torch.randn_like(a) if a.is_floating_point() else a for a in args]
    assert torch.equal(compiled(*others), f(*others))
    told = str(torch.explain(compiled, *args))
    return [int(n) for n in re.search(r"in (\d+) native calls and (\d+) of Python", told).groups()], compiled


@pytest.mark.parametrize("name", MOVES)
def test_moves(name):
    calls, _ = replayed(lambda x: MOVES[name](x * 2) * 3, torch.randn(24, 8))
    assert calls == [1, 0]


def test_looking_up():
    rows, places = torch.randint(0, 24, (9,)), torch.randint(0, 24, (24, 8))
    assert replayed(lambda x, i: (x * 2).gather(0, i) * 2, torch.randn(24, 8), places)[0] == [1, 0]
    assert replayed(lambda x, i: (x.t() * 2).contiguous().index_select(1, i) * 2, torch.randn(24, 8), rows)[
        0
    ] == [1, 0]


def test_a_place_outside_is_refused():
    places = torch.randint(0, 24, (24, 8))
    _, compiled = replayed(lambda x, i: (x * 2).gather(0, i) * 2, torch.randn(24, 8), places)
    places[3, 3] = 24
    with pytest.raises(RuntimeError, match="out of bounds"):
        compiled(torch.randn(24, 8), places)


def test_gradients():
    def step(x):
        x = x.clone().requires_grad_()
        (F.pad(x * 2, (1, 1)).roll(1, 0).flip(1).tril() ** 2).sum().backward()
        return x.grad

    replayed(step, torch.randn(24, 8))
