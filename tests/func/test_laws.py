"""Laws: on every row's cases, vmap is a loop with stack, and forward mode is the transpose of reverse mode."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rushlight as torch
from rushlight.func import jvp, vmap
from tests.engine.ops.test_laws import ALL, IDS, SMOOTH_EXCEPTIONS, call, flat, tensors_of

COUNT = 3
# Results that are Python values, or of shapes that depend on values.
NOT_BATCHED = {"equal"}


def examples(sample):
    """COUNT sets of arguments like the sample's: floating data is scaled a little from one to the next."""

    def scaled(factor):
        return lambda a: np.asarray(a * factor) if a.dtype.kind == "f" else a

    return [tensors_of(sample, scaled(factor)) for factor in (1.0, 0.97, 1.02)[:COUNT]]


def places(arguments):
    """Names (and positions in lists) of floating tensors."""
    return [
        (name, i)
        for name, value in arguments.items()
        for i, t in enumerate(value if isinstance(value, list) else [value])
        if isinstance(t, torch.Tensor) and t.is_floating_point()
    ]


def replaced(arguments, where, tensors):
    """The arguments with tensors in the places `where`."""
    found = {n: list(v) if isinstance(v, list) else v for n, v in arguments.items()}
    for (name, i), t in zip(where, tensors):
        if isinstance(found[name], list):
            found[name][i] = t
        else:
            found[name] = t
    return found


def at(arguments, place):
    value = arguments[place[0]]
    return value[place[1]] if isinstance(value, list) else value


def same(got, expected, rtol=1e-9, atol=1e-9):
    assert got.shape == expected.shape, (got.shape, expected.shape)
    assert got.dtype is expected.dtype
    np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol, atol)


@pytest.mark.parametrize(("row", "sample"), ALL, ids=IDS)
def test_vmap_is_a_loop(row, sample):
    """All floating operands batched; then each alone. Results and gradients."""
    sets = examples(sample)
    every = places(sets[0])
    if row.name in NOT_BATCHED or not every:
        return
    for where in [every, *([p] for p in every if len(every) > 1)]:
        fixed = sets[0]

        def run(*tensors, where=where, fixed=fixed):
            return tuple(flat(call(row, replaced(fixed, where, tensors))))

        stacks = [torch.stack([at(s, p) for s in sets]).requires_grad_() for p in where]
        if (row.name, where[0][0]) == ("cov", "aweights") or (sample.name == "weighted" and len(where) > 1):
            continue  # refused by value, as PyTorch does
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            together = vmap(run)(*stacks)
        loop = [torch.stack(column) for column in zip(*[run(*[s[i] for s in stacks]) for i in range(COUNT)])]
        for got, expected in zip(together, loop, strict=True):
            same(got, expected)
        pairs = [(g, e) for g, e in zip(together, loop) if e.requires_grad]
        if pairs and sample.smooth and row.name not in SMOOTH_EXCEPTIONS:
            assert all(g.requires_grad for g, _ in pairs)
            got, expected = (
                torch.autograd.grad([(o * o.detach().cos()).sum() for o in outs], stacks, allow_unused=True)
                for outs in zip(*pairs)
            )
            for g, e in zip(got, expected):
                if e is not None:
                    same(torch.zeros_like(e) if g is None else g, e, 1e-7, 1e-8)


@pytest.mark.parametrize(("row", "sample"), ALL, ids=IDS)
def test_forward_is_reverse_transposed(row, sample):
    """<u, J t> = <J' u, t>."""
    arguments = tensors_of(sample)
    where = places(arguments)
    if not where or not sample.smooth or row.name in SMOOTH_EXCEPTIONS:
        return
    generator = np.random.default_rng(3)

    def run(*tensors):
        return tuple(flat(call(row, replaced(arguments, where, tensors))))

    def noise(t):
        return torch.from_numpy(np.asarray(generator.normal(size=tuple(t.shape)), str(t.dtype).split(".")[1]))

    points = [at(arguments, p).detach().requires_grad_() for p in where]
    outs = run(*points)
    if not any(o.requires_grad for o in outs):
        return
    tangents = tuple(noise(t) for t in points)
    primal, forward = jvp(run, tuple(p.detach() for p in points), tangents)
    for got, expected in zip(primal, outs, strict=True):
        same(got, expected)
    smooth = [(o, f) for o, f in zip(outs, forward) if o.requires_grad]
    seeds = [noise(o) for o, _ in smooth]
    back = torch.autograd.grad([o for o, _ in smooth], points, seeds, allow_unused=True)
    left = sum(
        float((u * f).sum().real if f.is_complex() else (u * f).sum()) for u, (_, f) in zip(seeds, smooth)
    )
    right = sum(float((g * t).sum()) for g, t in zip(back, tangents) if g is not None)
    np.testing.assert_allclose(left, right, 1e-7, 1e-8)
