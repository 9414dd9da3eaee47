"""Ops that read, write, sort and count at places, as expressions over a small namespace.

Run alike by the recorder (PyTorch) and by the tests (Rushlight); many of the cases are mistakes.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
from indexing_cases import outcome

CASES = """
torch.gather(g, 0, I([0, 3])); torch.gather(T(3.), 0, T(0)); torch.gather(T(3.), 0, I(0, 0))
torch.gather(g, 0, T([])); torch.gather(g, 0, T([], dtype=torch.long)); torch.index_select(g, 0, I(0, 5))
torch.index_select(g, 0, I(0, -1)); torch.index_select(g, 0, I([0, 1]))
torch.index_select(g, 0, I(0.0, 1)); torch.index_select(g, 0, T(1)); torch.index_select(T(3.), 0, T(0))
torch.index_select(T(3.), 0, I(0, 0)); torch.index_select(g, 1, I(0, 1).int())
torch.index_select(g, 1, I(0, 1).short()); torch.index_select(g.t(), 1, I(0, 1)); torch.take(g, I(0, 12))
torch.take(g, I(0, -12)); torch.take(g, I(0, -13)); torch.take(g, I(0.0, 1)); torch.take(g, I(0, 1).int())
torch.take(g, I([0, 1])); torch.take(torch.zeros(0), I(0)); torch.take_along_dim(g, I([0, 3]))
torch.take_along_dim(g, I([0, 3]), 0); torch.take_along_dim(g, I([0], [3]), 1)
torch.take_along_dim(g, I([0], [3], [1]), 1); torch.take_along_dim(g, I([0.], [3], [1]), 1)
F.embedding(I(0, 3), g); F.embedding(I(0.0, 3), g); F.embedding(I(0, -1), g)
F.embedding(I(0, 1), T([1., 2])); F.embedding(I(0, 1), g, padding_idx=5)
F.embedding(I(0, 1), g, padding_idx=-1); F.embedding(I([0, 1]).int(), g); F.embedding(T(1), g)
F.embedding(I([0, 1]), g.t()); torch.masked_select(g, g>5); torch.masked_select(g, T([True, False, True]))
torch.masked_select(g, T([1, 0, 1, 1])); torch.masked_select(g, T([True, False, True, False]))
torch.masked_select(T(3.), T([True, True])); g.masked_fill(g>5, T([1., 2.])); g.masked_fill(g>5, T([1.]))
g.masked_fill(g>5, T(1.)); g.masked_fill(g>5, 1j); gi.masked_fill(g>5, 1.5); gi.masked_fill(g>5, T(1.5))
g.masked_fill(T([1, 0, 1, 1]), 0); g.masked_fill(T([True, False, True]), 0); g[0].masked_fill(g>5, 0)
g.clone()[0].masked_fill_(g>5, 0); gi.masked_fill(g>5, float('nan')); gi.byte().masked_fill(g>5, 300)
gi.byte().masked_fill(g>5, -1); g.masked_scatter(g>5, T([1., 2.]))
g.masked_scatter(g>5, torch.arange(20.)); g.masked_scatter(g>5, torch.arange(20))
g.masked_scatter(T([1, 0, 0, 0]), torch.arange(20.)); g[0].masked_scatter(g>5, torch.arange(20.))
torch.scatter(g, 0, I([0, 1]), g); torch.scatter(g, 0, I([0, 1]), 1.); torch.index_add(g, 0, I(0, 1), g)
torch.index_add(g, 0, I(0, 1, 5), g); torch.index_add(g, 0, I(0, 1, 2), g, alpha=2)
torch.index_add(g, 0, I(0, 1, 2), gi); torch.index_add(gi, 0, I(0, 1, 2), gi, alpha=2.5)
torch.index_add(g, 0, I(0.0, 1, 2), g); torch.index_add(g, 0, I([0, 1, 2]), g)
torch.index_add(g, 0, T(1), g[0]); torch.index_add(g, 0, I(1), g[0]); torch.index_add(g, 0, I(-1), g[:1])
torch.index_copy(g, 0, I(0, 1), g); torch.index_copy(g, 0, I(0, 5), g[:2])
torch.index_copy(g, 0, I(0, -1), g[:2]); torch.index_copy(g, 0, I(0, 1), gi[:2])
torch.index_copy(g, 0, I(0, 1), T(1.)); torch.index_copy(g, 0, T(1), g[0])
torch.index_copy(g, 0, I(1), g[0]); torch.index_copy(g, 0, I(0, 1), g[:2, :2])
torch.index_copy(g, 0, I(0, 1).int(), g[:2]); torch.index_fill(g, 0, I(0, 5), 1.)
torch.index_fill(g, 0, I(0, -1), 1.); torch.index_fill(g, 0, I(0, -1), T([1.]))
torch.index_fill(g, 0, I(0, -1), T(1.)); torch.index_fill(g, 0, I(0, 1).int(), 1)
torch.index_fill(g, 0, I([0, 1]), 1); torch.index_fill(gi, 0, I(0, 1), 1.5)
torch.index_fill(g, 0, I(0, 1), 1j); torch.index_reduce(g, 0, I(0, 1, 0), g, 'prod')
torch.index_reduce(g, 0, I(0, 1, 0), g, 'foo'); torch.index_reduce(g, 0, I(0, 1, 5), g, 'prod')
torch.index_reduce(gi, 0, I(0, 1, 0), gi, 'mean'); torch.put(g, I(0, 12), T([1., 2]))
torch.put(g, I(0, -1), T([1., 2])); torch.put(g, I(0, 1), T([1., 2, 3])); torch.put(g, I(0, 1), T([1, 2]))
torch.put(g, I(0, 0), T([1., 2]), True); torch.select_scatter(g, T([1., 2., 3., 4.]), 0, 1)
torch.select_scatter(g, T([1., 2., 3.]), 0, 1); torch.select_scatter(g, T(1.), 0, 1)
torch.select_scatter(g, T([1, 2, 3, 4]), 0, 1); torch.slice_scatter(g, torch.ones(1, 4), 0, 1, 2)
torch.slice_scatter(g, torch.ones(2, 4), 0, 1, 2); torch.slice_scatter(g, torch.ones(4), 0, 1, 2)
torch.diagonal_scatter(g, torch.ones(3)); torch.diagonal_scatter(g, torch.ones(2))
torch.diagonal_scatter(g, T(1.)); torch.scatter(g, 0, I([0, 3]), 1.); torch.scatter(g, 0, I([0, -1]), 1.)
torch.scatter(g, 0, I([0, 1]), gi); torch.scatter(g, 0, I([0, 1]), T([[1.]]))
torch.scatter(g, 0, I([0, 1]), T(1.)); torch.scatter(g, 0, I([0, 1]), 1, reduce='add')
torch.scatter(g, 0, I([0, 1]), 1, reduce='multiply'); torch.scatter(g, 0, I([0, 1]), g, reduce='multiply')
torch.scatter(g, 0, I([0, 1]), g, reduce='foo'); torch.scatter(gi, 0, I([0, 1]), value=2.5)
torch.scatter(g, 0, I([0, 1]), value=1j); torch.scatter(g, 0, I([0., 1]), 2)
torch.scatter(g, 0, I([0, 1, 0, 0, 0]), 2); torch.scatter(g, 1, I([0, 1, 0, 0, 0]), 2)
torch.scatter(g, 1, I([0, 1, 0, 0, 0]), g); torch.scatter(T(1.), 0, T(0), T(5.))
torch.scatter(T(1.), 0, T(1), T(5.)); torch.scatter(T(1.), 0, I(0), T(5.))
torch.scatter(g, 0, T([], dtype=torch.long), g); torch.scatter_add(g, 0, I([0, 5]), g)
torch.scatter_add(g, 0, I([0, 1]), T(1.))
torch.scatter_reduce(g, 0, I([0, 1]), g, 'sum'); torch.scatter_reduce(g, 0, I([0, 1]), g, 'foo')
torch.scatter_reduce(g, 0, I([0, 1]), gi, 'sum')
torch.scatter_reduce(g, 0, I([0, 1]), g, 'mean', include_self=False)
torch.scatter_reduce(gi, 0, I([0, 1], [0, 1]), gi, 'mean', include_self=True)
torch.sort(T([3., float('nan'), 1.]))
torch.sort(T([3., float('nan'), 1.]), descending=True)
torch.sort(T([1, 1, 0, 0]), descending=True, stable=True); torch.sort(T([True, False, True]))
torch.sort(T(3.)); torch.sort(T([1j])); torch.sort(g, 5); torch.sort(torch.zeros(0))
torch.sort(g.t(), 0)[0]; torch.sort(g.t(), 0)[1]; torch.sort(g.t(), 1)[0]; torch.argsort(g.t(), 0)
torch.topk(g, 2); torch.topk(g, 5); torch.topk(g, -1); torch.topk(g, 2, 0, False)
torch.topk(g, 2, 0, False)[0]; torch.topk(g.t(), 2, 0, False)[0]; torch.topk(T([3., float('nan'), 1.]), 1)
torch.topk(T([3., float('nan'), 1.]), 1, largest=False); torch.topk(T([True, False]), 1)
torch.topk(T(3.), 1); torch.topk(T([1j]), 1); torch.topk(g, 2, sorted=False); torch.kthvalue(g, 2)
torch.kthvalue(g, 5); torch.kthvalue(g, 0); torch.kthvalue(g, 2, 0, True); torch.kthvalue(T(3.), 1)
torch.kthvalue(torch.zeros(0), 1); torch.kthvalue(T([3., float('nan'), 1.]), 3)
torch.kthvalue(T([2, 2, 2, 1]), 2); torch.kthvalue(T([1j]), 1); torch.median(g); torch.median(g, 1)
torch.median(g, 0, True); torch.median(T([3., float('nan'), 1.]))
torch.median(T([3., float('nan'), 1.]), 0); torch.nanmedian(T([3., float('nan'), 1.]), 0)
torch.nanmedian(T([3., float('nan'), 1.])); torch.nanmedian(T([float('nan'), float('nan')]), 0)
torch.median(torch.zeros(0)); torch.median(torch.zeros(0), 0); torch.median(torch.zeros(2, 0), 0)
torch.median(T([1, 1, 2, 2]), 0); torch.median(T([2, 1, 1, 1]), 0); torch.median(T([True, False]))
torch.median(T([1j])); torch.mode(T([1, 2, 2, 1])); torch.mode(T([[1, 2, 2, 1], [3, 3, 1, 0]]))
torch.mode(T([[1, 2, 2, 1], [3, 3, 1, 0]]), 0, True); torch.mode(T(3.)); torch.mode(torch.zeros(0))
torch.mode(torch.zeros(2, 0)); torch.mode(T([True, True, False])); torch.msort(g); torch.msort(T(3.))
torch.argmax(g); torch.argmax(g, 1); torch.argmax(g, 1, True); torch.argmax(T([1., float('nan'), 3]))
torch.argmin(T([1., float('nan'), 3])); torch.argmax(torch.zeros(0)); torch.argmax(torch.zeros(0, 2), 0)
torch.argmax(torch.zeros(0, 2), 1); torch.argmax(T([True, False])); torch.argmax(T([1j]))
torch.argmax(g, keepdim=True); torch.argmax(g, dim=None, keepdim=True); torch.argmax(T(3.), 0)
torch.cumsum(gi, 0); torch.cumsum(gi.int(), 0); torch.cumsum(T([True, True]), 0); torch.cumsum(g, 5)
torch.cumsum(T(3.), 0); torch.cumsum(g.t(), 0); torch.cumsum(g, 0, dtype=torch.int64)
torch.cumprod(T([True, True]), 0); torch.cummax(T([1, 3, 3, 2]), 0)
torch.cummax(T([1., float('nan'), 3, 2]), 0); torch.cummin(T([1., float('nan'), -3, 2]), 0)
torch.cummax(T([1j]), 0); torch.cummax(T(3.), 0); torch.cummax(torch.zeros(2, 0), 0)
torch.cummax(T([True, False]), 0); torch.logcumsumexp(g, 0); torch.logcumsumexp(gi, 0)
torch.logcumsumexp(T([-float('inf'), -float('inf'), 1.]), 0); torch.diff(g)
torch.diff(g, n=2, prepend=T([[1.], [2.], [3.]])); torch.diff(T(3.)); torch.diff(g, n=-1)
torch.diff(g, n=0); torch.diff(g, n=10); torch.diff(T([True, False])); torch.diff(g, prepend=T([1.]))
torch.flip(g, [0]); torch.flip(g, [0, 0]); torch.flip(g, [3]); torch.flip(g.t(), [0])
torch.fliplr(T([1, 2])); torch.flipud(T(1)); torch.roll(g, 1); torch.roll(g, 1, 0)
torch.roll(g, (1, 2), (0, 1)); torch.roll(g, (1, 2), 0); torch.roll(g, (1, 2)); torch.roll(g, (), ())
torch.roll(g.t(), 1, 0); torch.rot90(g); torch.rot90(g, 2); torch.rot90(g, 1, [0, 0])
torch.rot90(g, 1, [0]); torch.rot90(T([1]), 1); torch.rot90(g, 1, [0, 5]); torch.tril(g); torch.triu(g, 1)
torch.tril(T([1.])); torch.triu(g.t()); torch.trace(g); torch.trace(gi.int()); torch.trace(T([1]))
torch.diag(g); torch.diag(T([1., 2]), 1); torch.diag(T(1.)); torch.diag(g[None]); g.repeat(2)
g.repeat(2, 1, 2); g.repeat(-1, 1); g.repeat(0, 1); g.repeat((2, 2)); torch.repeat_interleave(g, 2)
torch.repeat_interleave(g, 2, 1); torch.repeat_interleave(g, T([1, 2, 3]), 0)
torch.repeat_interleave(g, T([1, 2]), 0); torch.repeat_interleave(T([1, 2, 0]))
torch.repeat_interleave(T([1, -2, 0])); torch.repeat_interleave(T([1., 2, 0]))
torch.repeat_interleave(g, T([2]), 0); torch.repeat_interleave(g, T(2), 0)
torch.repeat_interleave(g, -2, 0); torch.repeat_interleave(g, T([1, 2, 3]), 0, output_size=7)
torch.repeat_interleave(g, T([1., 2, 3]), 0); torch.tile(g, (2, )); torch.tile(g, (2, 1, 1))
torch.cat([]); torch.cat([g, gi]); torch.cat([g, g[:2]], 1); torch.cat([g, g[0]], 0)
torch.cat([T(1.), g], 0); torch.cat([torch.zeros(0), g], 0); torch.cat([torch.zeros(0, 5), g], 0)
torch.cat([g, g], 5); torch.cat(g); torch.cat([g, 1]); torch.cat((g.t(), g.t()))
torch.cat((g, g), dim=-1); torch.cat([gi.int(), gi.short(), T([[True]*4])])
torch.cat([torch.zeros(0), torch.zeros(0)]); torch.stack([]); torch.stack([g, g[:2]])
torch.stack([g, g], 3); torch.stack([g, g], -1); torch.stack([g, g], 2); torch.stack([g, gi], 2)
torch.hstack([T(1), T([2, 3])]); torch.vstack([T(1), T([2])]); torch.dstack([T(1), T([2])])
torch.column_stack([T(1), T([2])]); torch.column_stack([T([1, 2]), g[:2]]); torch.hstack([])
torch.hstack(g); torch.bincount(T([1, 2, 2])); torch.bincount(T([1, 2, 2]), minlength=5)
torch.bincount(T([1, 2, 2]), T([.5, 1, 1]))
torch.bincount(T([1, 2, 2]), T([.5, 1, 1], dtype=torch.float64))
torch.bincount(T([1, 2, 2]), T([1, 1, 1])); torch.bincount(T([1, 2, -2])); torch.bincount(T([1., 2]))
torch.bincount(T([[1]])); torch.bincount(T([], dtype=torch.long), minlength=3)
torch.bincount(T([1]), minlength=-1); torch.bincount(T([1]), T([1., 2])); torch.histc(g, 4)
torch.histc(g, 4, 1, 5); torch.histc(gi, 4); torch.histc(g, 0); torch.histc(g, 4, 5, 1)
torch.histc(g, bins=3, min=2, max=2); torch.histc(T([1., float('inf')]))
torch.histc(T([1., float('nan')]), min=0, max=2, bins=2); torch.bucketize(T([1., 2.5, 3]), T([1., 2, 3]))
torch.bucketize(T([1., 2.5, 3]), T([1., 2, 3]), right=True); torch.bucketize(2.5, T([1., 2, 3]))
torch.bucketize(T([1., 2.5, 3]), T([1., 2, 3]), out_int32=True); torch.bucketize(T([1., 2.5, 3]), g)
torch.bucketize(T([float('nan')]), T([1., 2, 3])); torch.searchsorted(T([1., 2, 3]), T([1., 2.5]))
torch.searchsorted(T([1., 2, 3]), 2); torch.searchsorted(g, T([[1.], [5], [11]]))
torch.searchsorted(g, T([1., 5])); torch.searchsorted(T([1., 2, 3]), T([1., 2.5]), side='right')
torch.searchsorted(T([1., 2, 3]), T([1., 2.5]), side='left', right=True)
torch.searchsorted(T([1., 2, 3]), T([1., 2.5]), side='foo')
torch.searchsorted(T([1., 3, 2]), T([1., 2.5]), sorter=T([0, 2, 1]))
torch.searchsorted(T([1., 3, 2]), T([1, 2]))
torch.searchsorted(T([1., 3, 2]), T([1, 2]), sorter=T([0, 1])); torch.unique(T([3, 1, 1, 2]))
torch.unique(T([3, 1, 1, 2]), return_inverse=True, return_counts=True)
torch.unique(g%2, dim=0, return_inverse=True, return_counts=True)
torch.unique(T([float('nan'), 1., float('nan')]), return_counts=True)
torch.unique(T([True, False, True]), return_inverse=True); torch.unique(T(3), return_inverse=True)
torch.unique(T([3, 1, 1, 2]), sorted=False); torch.unique(torch.zeros(0))
torch.unique(torch.zeros(0, 2), dim=0); torch.unique(torch.zeros(2, 0), dim=0)
torch.unique_consecutive(T([1, 1, 2, 2, 1]), return_inverse=True, return_counts=True)
torch.unique_consecutive(g%2, dim=1, return_inverse=True)
torch.unique_consecutive(T([float('nan'), float('nan')])); torch.isin(T([1, 2, 3]), T([2]))
torch.isin(T([1, 2, 3]), 2); torch.isin(2, T([1, 2])); torch.isin(T([1, 2, 3]), T([2]), invert=True)
torch.isin(T([1., 2, 3]), T([2]), assume_unique=True); torch.isin(T([1j]), T([1j]))
torch.isin(T([True]), T([1])); F.one_hot(T([0, 2])); F.one_hot(T([0, 2]), 5); F.one_hot(T([0, 2]), 2)
F.one_hot(T([0, -2])); F.one_hot(T([0., 1])); F.one_hot(T([], dtype=torch.long))
F.one_hot(T([], dtype=torch.long), 3); F.one_hot(T(2)); F.one_hot(T([0, 2]).int())
F.one_hot(T([0, 2]), 0); torch.nonzero(g); torch.nonzero(g, as_tuple=True); torch.nonzero(T(1))
torch.nonzero(T(0)); torch.nonzero(T(1), as_tuple=True); torch.argwhere(T(1)); torch.count_nonzero(g)
g.flip(0, 1); torch.flip(g, []); torch.diag_embed(T([1., 2])); torch.diag_embed(g, 1, 0, 2)
torch.diag_embed(g, 0, 0, 0); torch.diag_embed(T(1.)); torch.diagflat(g); torch.diagflat(T(1.), 2)
torch.unravel_index(T([5, 7]), (3, 4)); torch.unravel_index(T([5, 70]), (3, 4))
torch.unravel_index(T(5), 4); torch.renorm(g, 2, 0, 5.)
"""


def cases() -> list[str]:
    """The expressions."""
    return [part.strip() for line in CASES.splitlines() for part in line.split("; ") if part.strip()]


def namespace(torch: Any) -> dict[str, Any]:
    """The tensors that CASES mention."""
    g = torch.arange(12.0).reshape(3, 4)
    return {
        "torch": torch,
        "F": import_module(f"{torch.__name__}.nn.functional"),
        "np": np,
        "T": torch.tensor,
        "I": lambda *items: torch.tensor(items),
        "g": g,
        "gi": torch.arange(12).reshape(3, 4),
    }


def _described(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        fields = getattr(value, "_fields", None) or [n for n in getattr(type(value), "__match_args__", ())]
        return {"fields": list(fields), "items": [_described(v) for v in value]}
    return {
        "dtype": str(value.dtype),
        "shape": list(value.shape),
        "values": [str(v) if isinstance(v, complex) else v for v in value.reshape(-1).tolist()],
    }


def case_outcome(expression: str, names: dict[str, Any]) -> dict[str, Any]:
    """What an expression gives: its result described, or the error."""

    def run() -> dict[str, Any]:
        return {"result": _described(eval(expression, names))}  # noqa: S307

    return outcome(run)


def same(ours: Any, theirs: Any) -> bool:
    """Whether two descriptions agree, numbers to float32's precision."""
    if isinstance(theirs, dict):
        return (
            isinstance(ours, dict)
            and ours.keys() == theirs.keys()
            and all(same(ours[k], theirs[k]) for k in theirs)
        )
    if isinstance(theirs, list):
        return isinstance(ours, list) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(theirs, float) and isinstance(ours, float):
        return math.isclose(ours, theirs, rel_tol=2e-6, abs_tol=1e-7) or (
            math.isnan(ours) and math.isnan(theirs)
        )
    return bool(ours == theirs)
