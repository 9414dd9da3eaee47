"""Short ways of small and of native calls give what the long ways give."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.moves import along_dim
from rushlight._engine.numerics.rng import Engine

DRAWS: tuple[Any, ...] = (
    lambda: torch.rand(4, 4),
    lambda: torch.randn(16),
    lambda: torch.empty(4, 8).normal_(),
    lambda: torch.empty(7).exponential_(),
    lambda: torch.empty(3, 5).uniform_(-1, 2),
    lambda: torch.randperm(5),
    lambda: torch.randint(0, 9, (3,)),
    lambda: torch.bernoulli(torch.full((6,), 0.4)),
    lambda: torch.rand(700),
    lambda: torch.multinomial(torch.tensor([0.1, 0.6, 0.3]), 4, True),
    lambda: torch.empty(9).exponential_(0.5),
    lambda: torch.empty(4, 4).t().uniform_(),
    lambda: torch.randn(5),
    lambda: torch.rand(4, dtype=torch.float64),
)


def _stream() -> tuple[list[Any], Any]:
    torch.manual_seed(3)
    random = np.random.RandomState(0)
    order = np.concatenate(
        (
            random.randint(0, len(DRAWS), 400),
            np.repeat(random.randint(0, len(DRAWS), 60), random.randint(1, 90, 60)),
        )
    )
    found = [DRAWS[i]().numpy().copy() for i in order[:-1]]
    kept = torch.get_rng_state()  # in the middle of a run
    found += [DRAWS[order[-1]]().numpy().copy() for _ in range(2) if torch.set_rng_state(kept) is None]
    return found, torch.get_rng_state().numpy()


def test_draws_out_of_tables_are_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    short, state = _stream()
    monkeypatch.setattr(Engine, "cut", lambda self, few, sizes: None)
    long, wanted = _stream()
    assert all(np.array_equal(a, b) for a, b in zip(short, long, strict=True))
    assert np.array_equal(state, wanted)


def test_no_number_is_given_out_twice() -> None:
    draws: list[Any] = [(4,), (2, 4), (16,), (4,)]

    def run(sizes: Any) -> list[Any]:
        return [torch.rand(sizes, dtype=torch.float64).ravel().tolist() for _ in range(3000)]

    with ThreadPoolExecutor(len(draws)) as pool:
        found = [x for drawn in pool.map(run, draws) for numbers in drawn for x in numbers]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("sizes", [(3, 5), (64, 64), (100, 70), (300, 300), (0, 7000)])
def test_outer(sizes: tuple[int, int], dtype: Any) -> None:
    a, b = ((torch.randn(2 * n) * 9).to(dtype)[::2] for n in sizes)
    a[:1] = -0.0
    wanted = (a[:, None] * b).view(torch.uint8)
    for x, y in ((a, b), (a.contiguous(), b), (a.contiguous(), b.contiguous())):
        assert all(torch.equal(torch.outer(x, y).view(torch.uint8), wanted) for _ in range(80))


def test_a_draw_is_its_own_memory() -> None:
    torch.manual_seed(0)
    first = [torch.rand(4) for _ in range(30)]
    kept = [t.numpy().copy() for t in first]
    for t in first:
        t.zero_()
    torch.manual_seed(0)
    assert all(np.array_equal(torch.rand(4).numpy(), k) for k in kept)


@pytest.mark.skipif(not target.available(), reason="needs llvmlite")
@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "int8", "bool", "complex64"])
@pytest.mark.parametrize("how", ["read", "write", "sum", "prod", "amax", "amin"])
def test_along(how: str, dtype: str, dim: int) -> None:
    random = np.random.RandomState(1)
    a = (random.randn(4, 5, 6) * 3).astype(dtype)
    shape = [4, 5, 6]
    shape[dim] = 9
    index, other = random.randint(0, a.shape[dim], shape), (random.randn(*shape) * 3).astype(dtype)
    kernel = along_dim.kernel(how, a.dtype, index.dtype, dim == 2)
    if kernel is None:
        assert how not in ("read", "write")
        return
    assert kernel.compile_now()
    places = list(np.indices(shape))
    places[dim] = index
    wanted = a.copy(), other.copy()
    if how == "read":
        wanted[1][...] = a[tuple(places)]
    elif how == "write":
        for place, value in zip(zip(*(p.ravel() for p in places), strict=True), other.ravel(), strict=True):
            wanted[0][place] = value
    else:
        combine = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[how]
        combine.at(wanted[0], tuple(places), other)
    assert along_dim.along(how, a, dim, index, other)
    assert np.array_equal(a, wanted[0]) and np.array_equal(other, wanted[1])
    index[0, 0, 0] = -1
    assert not along_dim.along(how, a, dim, index, other)


def test_positions_outside_are_refused() -> None:
    x, index = torch.zeros(3, 4), torch.full((3, 4), 4)
    for _ in range(40):
        with pytest.raises(RuntimeError, match="index 4 is out of bounds for dimension 1 with size 4"):
            x.scatter_add(1, index, torch.ones(3, 4))
        with pytest.raises(RuntimeError, match="index 4 is out of bounds"):
            x.gather(1, index)
        with pytest.raises(IndexError, match="Target 4 is out of bounds"):
            torch.nn.functional.nll_loss(x, torch.tensor([0, 4, 1]))


@pytest.mark.parametrize("k", [1, 3, 8, 12])
def test_topk_of_ties_nan_and_infinities(k: int) -> None:
    x = torch.randint(0, 6, (20, 40)).float()
    x[0, :30], x[1, 3:], x[2] = torch.nan, -torch.inf, 1.0
    for dim, t in ((1, x), (0, x.t()), (0, x.t().contiguous()), (1, x.long())):
        values, places = t.topk(k, dim)
        wanted = t.sort(dim, descending=True, stable=True)
        for found in (wanted[0].narrow(dim, 0, k), t.gather(dim, places)):
            assert np.array_equal(values.numpy(), found.numpy(), equal_nan=t.is_floating_point())


@pytest.mark.parametrize("shape", [(3, 5), (2, 4, 4), (1, 1), (0, 3), (130, 129)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.bool, torch.complex128, torch.int64])
def test_triangles(shape: tuple[int, ...], dtype: Any) -> None:
    x = (torch.arange(np.prod(shape)).reshape(shape) % 7 + 1).to(dtype)
    for k in (-200, -2, 0, 1, 300):
        for ours, theirs in ((torch.tril, np.tril), (torch.triu, np.triu)):
            for given in (x, x.transpose(-1, -2)):
                found = ours(given, k)
                assert found.dtype is dtype and found.is_contiguous()
                assert np.array_equal(found._array, theirs(given._array, k))


def test_alignments_of_tensors_and_arrays_agree() -> None:
    logs = torch.randn(12, 3, 6).log_softmax(-1)
    words, steps, lengths = torch.randint(1, 6, (3, 5)), torch.tensor([12, 9, 4]), torch.tensor([5, 3, 0])
    ours = torch.nn.functional.ctc_loss(logs, words, steps, lengths, reduction="none")
    tracked = torch.nn.functional.ctc_loss(logs.requires_grad_(), words, steps, lengths, reduction="none")
    assert torch.allclose(ours, tracked.detach(), rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
@pytest.mark.parametrize("extent", [2, 3, 7, 15])
def test_very_short_rows_have_the_bits_of_the_row_kernel(extent, dtype, monkeypatch):
    torch.manual_seed(0)
    scale = torch.tensor(10.0) ** torch.randint(-6, 7, (6000, extent))
    x = (torch.randn(6000, extent) * scale).to(dtype)
    if dtype.is_floating_point:
        x[5], x[6, 0], x[7, 1], x[8] = -0.0, float("nan"), float("inf"), -float("inf")
    calls = [torch.sum, torch.amax, torch.amin, *([torch.mean] if dtype.is_floating_point else [])]
    found = [f(x, -1) for f in calls]
    monkeypatch.setattr("rushlight._engine.dispatch.runners.reductions._plain_rows", lambda *given: None)
    wanted = [f(x.view(2, 3000, extent), -1).view(-1) for f in calls]  # of other sizes: planned anew
    for a, b in zip(found, wanted, strict=True):
        assert a.numpy().tobytes() == b.numpy().tobytes()
