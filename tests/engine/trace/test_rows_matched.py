"""Every row's cases, matched again and again: the same bits, nodes and gradients as eager."""

import zlib

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.core.settings import settings
from rushlight._engine.trace import choice, matching
from tests.engine.ops.test_laws import ALL, call, flat, leaves, tensors_of

# A part of the cases at each run of the tests; RUSHLIGHT's whole table takes minutes (`python -m` this file).
PARTS = 12
CALLS = 6


def owned(value):
    """The same with memory that nobody else knows of, so that it may come in without a copy."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    return [owned(v) for v in value] if isinstance(value, list) else value


def step(row, arguments, tracked):
    """The row on fresh operands that are an op's results, and its gradients."""
    given = {n: owned(v) for n, v in arguments.items()}
    sources = leaves(given) if tracked else []
    for t in sources:
        t.requires_grad_()
    results = flat(call(row, given))
    found = [r * 2 if r.is_floating_point() else r for r in results]
    if tracked:
        total = sum(r.double().sum() for r in results if r.requires_grad and not r.is_complex())
        if isinstance(total, torch.Tensor) and total.requires_grad:
            grads = torch.autograd.grad(total, sources, allow_unused=True)
            found += [g for g in grads if g is not None]
    return found, [type(r.grad_fn).__name__ for r in results]


def described(out):
    """What must be the same: kinds, sizes, strides, bits, nodes."""
    found, nodes = out
    return [
        (
            t.dtype,
            tuple(t.shape),
            t.stride(),
            np.ascontiguousarray(t.detach().resolve_conj().resolve_neg()._array).tobytes(),
        )
        for t in found
    ], nodes


def attempt(run):
    """The result of run(), or the error's type."""
    torch.manual_seed(0)
    try:
        return described(run())
    except Exception as error:
        return type(error)


def differences(row, sample):
    """Calls of a case that are not as eager; empty if there are none."""
    found = []
    for tracked in (False, True):
        trace = matching.Trace()
        arguments = tensors_of(sample)
        expected = attempt(lambda: step(row, arguments, tracked))
        if expected != attempt(lambda: step(row, arguments, tracked)):
            continue  # memory that nobody wrote to, say
        for number in range(CALLS):
            made = attempt(lambda: choice.call(trace, step, (row, arguments, tracked), {}))
            if made != expected:
                found.append((tracked, number, made, expected))
                break
    return found


def part_of(name):
    """Which part of the cases this one is in."""
    return zlib.crc32(name.encode()) % PARTS


CASES = [(row, sample) for row, sample in ALL if not part_of(f"{row.name}-{sample.name}")]


@pytest.mark.parametrize(("row", "sample"), CASES, ids=[f"{r.name}-{s.name}" for r, s in CASES])
def test_a_matched_row_is_as_eager(row, sample):
    with settings.using(kernels="llvm"):
        assert not differences(row, sample)


if __name__ == "__main__":
    for row, sample in ALL:
        for difference in differences(row, sample):
            print(row.name, sample.name, *[str(d)[:200] for d in difference], flush=True)
