"""Every row's cases on a simulated device, forward and backward: what the CPU gives, from the first call on."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight._engine.ops.table import Row
from tests.engine.ops.samples import Sample
from tests.engine.ops.test_laws import ALL, IDS, call, flat, leaves, tensors_of

# Rows that draw: their numbers are another generator's there (test_random.py).
RANDOM = {
    "uniform",
    "normal_fill",
    "exponential",
    "geometric",
    "log_normal",
    "cauchy",
    "random",
    "rand",
    "randn",
    "rand_like",
    "randn_like",
    "randint",
    "randint_like",
    "randperm",
    "bernoulli",
    "bernoulli_fill",
    "_normal_around",
    "_normal_sized",
    "normal",
    "multinomial",
    "binomial",
    "poisson",
    "_standard_gamma",
    "_sample_dirichlet",
    "_keep",
    "_rrelu_slopes",
    "dropout",
    "rrelu",
    "torch_rrelu",
    "gumbel_softmax",
}
# Vectors that are defined up to a phase, memory that holds anything: shapes are compared.
LOOSE = {
    "linalg_eig",
    "empty",
    "empty_like",
    "new_empty",
    "empty_strided",
    "new_empty_strided",
    "empty_permuted",
}


# Rows that PyTorch has for the CPU alone.
REFUSED = {"histogram", "histogramdd"}


def moved(value: Any) -> Any:
    """The arguments on the device."""
    if isinstance(value, torch.Tensor):
        return value.detach().cuda().requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(map(moved, value))
    return value


def close(found: torch.Tensor, want: torch.Tensor, loose: bool) -> None:
    """The same geometry and numbers, to rounding."""
    assert found.is_cuda and found._array.__class__.__name__ == "DeviceArray"
    assert found.shape == want.shape and found.dtype is want.dtype
    if want.untyped_storage().nbytes() == want.nbytes:  # what is dense there lies the same way here
        assert found.stride() == want.stride()
    if not loose and want.numel():
        torch.testing.assert_close(found.cpu(), want, equal_nan=True)


@pytest.mark.parametrize(("row", "sample"), ALL, ids=IDS)
def test_the_device_gives_what_the_cpu_gives(row: Row, sample: Sample) -> None:
    if row.name in RANDOM or row.options.get("factory"):
        pytest.skip("its numbers, or its device, are told elsewhere")
    here = tensors_of(sample)
    for t in leaves(here):
        t.requires_grad_()
    try:
        want = flat(call(row, here))
    except NotImplementedError:
        pytest.skip("the CPU refuses it")
    if row.name in REFUSED:
        with pytest.raises(NotImplementedError, match="'CUDA' backend"):
            call(row, {name: moved(value) for name, value in here.items()})
        return
    loose = row.name in LOOSE
    for _ in range(2):  # the second call is late
        there = {name: moved(value) for name, value in here.items()}
        found = flat(call(row, there))
        assert len(found) == len(want)
        for f, w in zip(found, want, strict=True):
            close(f.detach(), w.detach(), loose)
        _compare_gradients(here, there, want, found, loose)


def _compare_gradients(here: Any, there: Any, want: Any, found: Any, loose: bool) -> None:
    tracked = [(w, f) for w, f in zip(want, found, strict=True) if w.requires_grad]
    assert [f.requires_grad for f in found] == [w.requires_grad for w in want]
    if not tracked or loose:
        return
    torch.manual_seed(3)
    seeds = [torch.randn(w.shape, dtype=w.dtype) for w, _ in tracked]
    mine, theirs = leaves(here), leaves(there)
    try:
        one = torch.autograd.grad([w for w, _ in tracked], mine, seeds, allow_unused=True, retain_graph=True)
    except (NotImplementedError, RuntimeError):
        return
    two = torch.autograd.grad([f for _, f in tracked], theirs, [s.cuda() for s in seeds], allow_unused=True)
    for a, b in zip(one, two, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert b.is_cuda and b.shape == a.shape
            torch.testing.assert_close(b.cpu(), a, equal_nan=True)
