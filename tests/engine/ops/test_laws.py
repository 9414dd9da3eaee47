"""Laws: every row, on the cases that are derived from its kind, and on those written in samples.py."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.dispatch.dispatcher import function, lookup
from rushlight._engine.ops.table import NAMES, ROWS
from tests.engine.ops.cases import cases
from tests.engine.ops.samples import SAMPLES, Sample

SMOOTH_EXCEPTIONS = {
    # Not differentiable where their argument jumps: finite differences see the jump.
    "floor_divide",
    "_trunc_divide",
    "nextafter",
    "heaviside",
    "copysign",
    # Only the gradient of `other` exists.
    "zeta",
    "igamma",
    "igammac",
}


def collect(dtype="float64"):
    """(row, case name, callable on fresh tensors) of every sample."""
    found = []
    for row in ROWS.values():
        for case in cases(row, dtype):
            found.append((row, Sample(case.name, tuple(case.arguments.items()))))
    for name, samples in SAMPLES.items():
        for sample in samples:
            found.append((ROWS[name], sample))
    return found


ALL = collect()
IDS = [f"{row.name}-{sample.name}" for row, sample in ALL]


def tensors_of(sample, transform=lambda a: a):
    """The sample's arguments with fresh tensors."""

    def convert(value):
        if isinstance(value, np.ndarray):
            return torch.from_numpy(transform(value.copy()))
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], np.ndarray):
            return [torch.from_numpy(transform(v.copy())) for v in value]
        return value

    return {name: convert(value) for name, value in sample.arguments}


def flat(result):
    """The tensors of a result."""
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (list, tuple)):
        return [t for r in result for t in flat(r)]
    return []


def call(row, arguments):
    """Run a row with arguments by name."""
    return function(row)(**arguments)


def leaves(arguments):
    """The floating tensors among arguments."""
    found = []
    for value in arguments.values():
        for t in value if isinstance(value, list) else [value]:
            if isinstance(t, torch.Tensor) and t.is_floating_point():
                found.append(t)
    return found


@pytest.mark.parametrize(("row", "sample"), ALL, ids=IDS)
def test_meta_equals_run(row, sample):
    """The shape rule gives what the run gives: sizes and dtype."""
    if not sample.meta:
        return
    ran = flat(call(row, tensors_of(sample)))
    arguments = {
        k: v.to("meta")
        if isinstance(v, torch.Tensor)
        else [t.to("meta") for t in v]
        if isinstance(v, list) and v and isinstance(v[0], torch.Tensor)
        else v
        for k, v in tensors_of(sample).items()
    }
    meta = flat(call(row, arguments))
    assert [(m.shape, m.dtype) for m in meta] == [(r.shape, r.dtype) for r in ran]


@pytest.mark.parametrize(("row", "sample"), ALL, ids=IDS)
def test_strided_equals_contiguous(row, sample):
    """Operands with other strides give the same values."""
    plain = flat(call(row, tensors_of(sample)))
    turned = flat(call(row, tensors_of(sample, strided)))
    for a, b in zip(plain, turned, strict=True):
        np.testing.assert_allclose(b.numpy(force=True), a.numpy(force=True), rtol=1e-12, atol=1e-12)


def strided(a):
    """The same values in every other element of a larger, transposed array."""
    if not a.ndim:
        return a
    wide = np.zeros([2 * n for n in a.shape[::-1]], a.dtype)
    view = wide.transpose()[tuple(slice(0, 2 * n, 2) for n in a.shape)]
    view[...] = a
    return view


@pytest.mark.parametrize(("row", "sample"), ALL, ids=IDS)
def test_gradient_equals_finite_differences(row, sample):
    """By random projection: the slope along one direction."""
    if row.name in SMOOTH_EXCEPTIONS or not sample.smooth:
        return
    check_slope(row, sample, second=False)


@pytest.mark.parametrize(("row", "sample"), ALL, ids=IDS)
def test_second_gradient_equals_finite_differences(row, sample):
    """The gradient's gradient, in the same way."""
    if row.name in SMOOTH_EXCEPTIONS or not sample.smooth or not sample.twice:
        return
    check_slope(row, sample, second=True)


def check_slope(row, sample, second):
    rng = np.random.default_rng(1)
    arguments = tensors_of(sample)
    xs = leaves(arguments)
    if not xs:
        return
    for x in xs:
        x.requires_grad_()
    weights = [np.asarray(rng.normal(size=t.shape)) for t in flat(call(row, arguments)) if t.requires_grad]
    if not weights:
        return
    directions = [rng.normal(size=x.shape) for x in xs]
    inner = [rng.normal(size=x.shape) for x in xs]

    def value(step):
        """The projected result (or gradient) with all operands moved by `step`."""
        moved = {k: v for k, v in arguments.items()}
        fresh = []
        position = iter(zip(xs, directions, strict=True))

        def shift(t):
            if not (isinstance(t, torch.Tensor) and t.is_floating_point()):
                return t
            x, d = next(position)
            new = torch.from_numpy(np.asarray(x.detach().numpy() + step * d)).requires_grad_()
            fresh.append(new)
            return new

        for k, v in moved.items():
            moved[k] = [shift(t) for t in v] if isinstance(v, list) else shift(v)
        outs = [t for t in flat(call(row, moved)) if t.requires_grad]
        total = sum((o * torch.from_numpy(np.asarray(w))).sum() for o, w in zip(outs, weights, strict=True))
        if not second:
            return total, fresh
        grads = torch.autograd.grad(total, fresh, create_graph=True, allow_unused=True)
        total = sum(
            (g * torch.from_numpy(np.asarray(w))).sum()
            for g, w in zip(grads, inner, strict=True)
            if g is not None
        )
        return total, fresh

    total, fresh = value(0.0)
    if not isinstance(total, torch.Tensor) or not total.requires_grad:
        return
    grads = torch.autograd.grad(total, fresh, allow_unused=True)
    slope = sum(
        (g.numpy(force=True) * d).sum() for g, d in zip(grads, directions, strict=True) if g is not None
    )
    eps = 1e-5
    numeric = (value(eps)[0].item() - value(-eps)[0].item()) / (2 * eps)
    scale = 1 + abs(numeric)
    assert abs(slope - numeric) < 2e-5 * scale, (row.name, sample.name, slope, numeric)


POINTWISE = [(row, s) for row, s in ALL if row.kind == "pointwise"]


@pytest.mark.parametrize(("row", "sample"), POINTWISE, ids=[f"{r.name}-{s.name}" for r, s in POINTWISE])
def test_out_and_inplace_equal_functional(row, sample):
    """`out=` and `name_` give the functional result; in place bumps the version."""
    expected = flat(call(row, tensors_of(sample)))[0]
    if row.out:
        out = torch.empty(0, dtype=expected.dtype)
        function(row)(**tensors_of(sample), out=out)
        np.testing.assert_array_equal(out.numpy(), expected.numpy())
    space = next((s for (s, n), (r, v) in NAMES.items() if r is row and v == "inplace"), None)
    arguments = tensors_of(sample)
    first = arguments[row.params[0].name]
    if space is None or first.shape != expected.shape or first.dtype != expected.dtype:
        return
    names = [n for (s, n), (r, v) in NAMES.items() if r is row and v == "inplace" and s == space]
    version = first._version
    result = lookup(space, names[0])(**arguments)
    assert result is first and first._version > version
    np.testing.assert_array_equal(first.numpy(), expected.numpy())


@pytest.mark.parametrize(("row", "sample"), POINTWISE, ids=[f"{r.name}-{s.name}" for r, s in POINTWISE])
def test_float32_is_close_to_float64(row, sample):
    """The float32 kernel agrees with the float64 one within float32's precision."""
    wide = flat(call(row, tensors_of(sample)))[0]
    if not wide.is_floating_point() or row.name in ("nextafter", "float_power"):
        return

    def narrow(a):
        return a.astype(np.float32) if a.dtype == np.float64 else a

    small = flat(call(row, tensors_of(sample, narrow)))[0]
    assert small.dtype is torch.float32
    np.testing.assert_allclose(small.numpy(), wide.numpy(), rtol=3e-5, atol=3e-5)
