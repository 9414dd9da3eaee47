"""What depends on where something is, and orders: by the device's kernels the CPU's numbers, to the stride."""

from __future__ import annotations

import math
from typing import Any

import pytest

import rushlight as torch

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.devices("driver", 1)
F = torch.nn.functional


def flat(found: Any) -> list[Any]:
    return [x for f in found for x in flat(f)] if isinstance(found, (tuple, list)) else [found]


def written(x: torch.Tensor, *where: Any, values: Any, accumulate: bool = False) -> torch.Tensor:
    y = x.clone()
    if accumulate:
        y.index_put_(where, values, True)
    else:
        y[where] = values
    return y


GENERATOR = torch.Generator().manual_seed(0)


def x(*shape: int, of: Any = torch.float32) -> Any:
    return (torch.randn(*shape, generator=GENERATOR) * 3).to(of)


NAN = torch.tensor([3.0, math.nan, -1.0, 3.0, math.inf, -0.0, 0.0, math.nan, -math.inf, 2.0])
WHOLE = torch.tensor([5, -7, 3, 0, -1, 12, 7, 3])
CASES: dict[str, tuple[Any, ...]] = {
    "a mask": (lambda a, m: a[m], x(5, 4), x(5, 4) > 0),
    "a mask of rows": (lambda a, m: a[m], x(5, 4), x(5) > 0),
    "a mask behind": (lambda a, m: a[:, m], x(5, 4), x(4) > 0),
    "a mask behind that selects nothing": (lambda a, m: a[:, m], x(5, 4, 3), torch.zeros(4, dtype=torch.bool)),
    "a mask and positions": (lambda a, m, i: a[m, i], x(3, 4), torch.tensor([True, False, True]), torch.tensor([1, -1])),
    "a mask of nothing": (lambda a, m: a[m], x(5), torch.zeros(5, dtype=torch.bool)),
    "nonzero": (lambda a: (a.nonzero(), a.nonzero(as_tuple=True), torch.where(a)), x(3, 4, 2, of=torch.int64)),
    "many": (lambda a: a.nonzero(), x(5000)),
    "masked_select": (lambda a, m: a.masked_select(m), x(5, 4), x(4) > 0),
    "masked_scatter": (lambda a, m, s: a.masked_scatter(m, s), x(3, 4), x(3, 4) > 0, x(12)),
    "write under a mask": (lambda a, m: written(a, m, values=7.0), x(5, 4), x(5, 4) > 0),
    "write rows under a mask": (lambda a, m, v: written(a, m, values=v), x(5, 4), x(5) > 0, x(4)),
    "write at positions": (lambda a, i, v: written(a, i, values=v), x(5, 4), torch.tensor([4, -5, 2]), x(3, 4)),
    "write at coordinates": (lambda a, i, j: written(a, i, j, values=1.0), x(5, 4), torch.tensor([4, 0]), torch.tensor([1, -1])),
    "add at positions": (lambda a, i, v: written(a, i, values=v, accumulate=True), x(5, 4), torch.tensor([4, 1, 4, 4]), x(4, 4)),
    "add whole numbers": (lambda a, i, j, v: written(a, i, j, values=v, accumulate=True), WHOLE.reshape(4, 2), torch.tensor([0, 0, 3]), torch.tensor([1, 1, 0]), torch.tensor([1, 2, 3])),
    "write behind a slice": (lambda a, i, v: a.index_put((None, i), v), x(3, 5, 2), torch.tensor([0, 3]), x(3, 2, 2)),
    "write to columns": (lambda a, i: written(a.t(), i, values=0.0), x(5, 4), torch.tensor([1])),
    "put": (lambda a, i, s: a.put(i, s), x(3, 4), torch.tensor([1, -1]), x(2)),
    "one_hot": (lambda a: (F.one_hot(a), F.one_hot(a, 9)), torch.tensor([[1, 0], [4, 2]])),
    "bincount": (lambda a, w: (a.bincount(), a.bincount(minlength=9), a.bincount(w)), torch.tensor([1, 4, 1, 0]), x(4)),
    "histc": (lambda a: (a.histc(5), a.histc(4, -1, 1)), x(50)),
    "searchsorted": (lambda a, v: (torch.searchsorted(a, v), torch.searchsorted(a, v, right=True), torch.bucketize(v, a[0])), x(3, 6).sort(1)[0], x(3, 4)),
    "isin": (lambda a, b: (torch.isin(a, b), torch.isin(a, b, invert=True)), WHOLE, torch.tensor([3, 0, 99])),
    "unique": (lambda a: torch.unique(a, return_inverse=True, return_counts=True), WHOLE.reshape(2, 4)),
    "unique_consecutive": (lambda a: torch.unique_consecutive(a, return_inverse=True, return_counts=True), torch.tensor([1, 1, 2, 2, 2, 1])),
    "repeat_interleave": (lambda a, r: (a.repeat_interleave(2, 0), a.repeat_interleave(r, 1)), x(2, 3), torch.tensor([2, 0, 1])),
    "sort": (lambda a: (a.sort(), a.sort(0, descending=True), a.t().sort(0), a.argsort(1)), x(5, 7)),
    "sort of nan": (lambda a: (a.sort(stable=True), a.sort(descending=True, stable=True)), NAN),
    "sort of many": (lambda a: (a.sort(stable=True), a.sort(0, descending=True, stable=True)), torch.arange(6000).reshape(2, 3000) * 7919 % 1013),
    "topk of many": (lambda a: a.topk(3), torch.randperm(4000).float()),
    "kthvalue": (lambda a: (a.kthvalue(2), a.kthvalue(3, 0, True)), x(5, 7)),
    "median": (lambda a: (a.median(), a.median(1), a.nanmedian(), a.nanmedian(0, True)), x(5, 7)),
    "median of nan": (lambda a: (a.median(0), a.nanmedian(0)), NAN),
    "quantile": (lambda a: (a.quantile(0.3), a.quantile(torch.tensor([0.1, 0.9]).to(a.device), 1)), x(5, 7)),
    "running": (lambda a: (a.cummax(1), a.cummin(0), a.logcumsumexp(1), a.cumprod(0)), x(5, 7)),
    "running nan": (lambda a: (a.cummax(0), a.cummin(0), a.logcumsumexp(0)), NAN),
    "cumsum of many": (lambda a: (a.cumsum(0), a.reshape(2, 2500).cumsum(1)), torch.randint(0, 9, (5000,))),
    "argmax of many": (lambda a: (a.argmax(), a.argmin(), a.max(0)), torch.randperm(70000).float()),
    "whole numbers": (lambda a: (a // 3, a % 3, a // -3, a % -3, torch.div(a, 3, rounding_mode="trunc"), a.fmod(3), a**3, a.gcd(a * 6 + 4), a.lcm(a + 2)), WHOLE),
    "bytes": (lambda a: (a // 3, a % 3, a**2), (WHOLE % 256).to(torch.uint8)),
    "powers": (lambda a: (a.abs() ** 1.5, 2.0**a, a.abs() ** a, a**-2, a.double().abs() ** 1.7), x(9)),
    "max_pool with padding": (lambda a: F.max_pool2d(a, 3, 2, 1, return_indices=True), x(2, 3, 7, 9)),
    "max_pool of minus infinity": (lambda a: F.max_pool2d(a, 3, 2, 1, return_indices=True)[0], torch.full((1, 1, 4, 4), -math.inf)),
    "pools of many": (lambda a: (F.max_pool2d(a, 9, 1, return_indices=True), F.avg_pool2d(a, 9, 1), F.avg_pool2d(a, (9, 11), 2, 4)), x(2, 2, 12, 13)),
    "adaptive pools": (lambda a: (F.adaptive_max_pool2d(a, (3, 2), return_indices=True), F.adaptive_avg_pool2d(a, (3, 2))), x(2, 2, 7, 5)),
    "paddings": (lambda a: [F.pad(a, (1, 2, 2, 1), mode=k) for k in ("reflect", "replicate", "circular")], x(2, 2, 4, 5)),
    "fold": (lambda a: (F.unfold(a, 3), F.fold(F.unfold(a, 3, padding=1), (6, 6), 3, padding=1)), x(2, 2, 6, 6)),
    "einsum": (lambda a, b: [torch.einsum(e, a, b) for e in ("ij,jk->ik", "ij,jk->ki", "ij,jk->i", "ij,kl->jl")], x(3, 4), x(4, 5)),
    "einsum of one": (lambda a: [torch.einsum(e, a) for e in ("ij->ji", "ij->", "ij->i")], x(3, 4)),
    "diag_embed": (lambda a: (torch.diag_embed(a), torch.diag_embed(a, 1), torch.diag_embed(a, -1, 0, 2)), x(2, 3)),
    "halves": (lambda a: (a.tril(), a[a > 0], a.sort(1), a.cumsum(1), a.median(1), F.one_hot(a.argmax(1), 6)), x(5, 6, of=torch.bfloat16)),
    "embedding_bag": (lambda w, i, o: [F.embedding_bag(i, w, o, mode=k) for k in ("sum", "mean", "max")], x(9, 4), torch.tensor([1, 2, 8, 2]), torch.tensor([0, 2])),
}  # fmt: skip


@pytest.mark.parametrize("name", list(CASES))
def test_the_device_gives_what_the_cpu_gives(name: str) -> None:
    function, *given = CASES[name]
    want, found = flat(function(*given)), flat(function(*[t.cuda() for t in given]))
    assert len(found) == len(want)
    for f, w in zip(found, want, strict=True):
        assert f.is_cuda and f.dtype is w.dtype and f.shape == w.shape
        if w.untyped_storage().nbytes() == w.nbytes:
            assert f.stride() == w.stride()
        torch.testing.assert_close(f.cpu(), w, equal_nan=True, rtol=1e-5, atol=1e-5)


def test_a_source_that_is_too_small() -> None:
    with pytest.raises(RuntimeError, match="number of ones in mask"):
        x(4).cuda().masked_scatter(torch.ones(4, dtype=torch.bool, device="cuda"), x(3).cuda())


def test_classes_out_of_range() -> None:
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        F.one_hot(torch.tensor([3], device="cuda"), 3)
    with pytest.raises(RuntimeError, match="non-negative"):
        torch.bincount(torch.tensor([-3], device="cuda"))


def test_numbers_with_chances_of_their_own() -> None:
    chance = torch.tensor([0.0, 1.0, 0.5], device="cuda").expand(100, 3).contiguous()
    drawn = torch.bernoulli(chance).sum(0)
    assert drawn[0] == 0 and drawn[1] == 100 and 20 < drawn[2] < 80
    weights = torch.tensor([0.0, 1.0, 2.0, 3.0], device="cuda").expand(50, 4).contiguous()
    for replacement in (False, True):
        found = torch.multinomial(weights, 3, replacement)
        assert found.shape == (50, 3) and int(found.min()) >= 1
    assert sorted(torch.multinomial(weights[0], 3).tolist()) == [1, 2, 3]
    z = torch.normal(torch.full((1000,), 5.0, device="cuda"), torch.tensor(2.0, device="cuda").expand(1000))
    assert abs(z.mean().item() - 5) < 0.3 and abs(z.std().item() - 2) < 0.2
