"""How ops work on parts: what each rank computes, from which parts, and how the result then lies.

A strategy names a placement for every operand and one for the result, along one dim of a mesh. The rules
below
list those that an op has; the one whose operands are the least work to bring about is taken, for each dim of
the
mesh on its own. An op without a rule has one strategy: every rank has everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten, tree_map
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.tensor import Tensor
from rushlight.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard, box

R = Replicate()


@dataclass(frozen=True)
class Strategy:
    """Along one dim of a mesh: how the operands lie, and then the result."""

    operands: tuple[Placement, ...]
    result: Placement


class Call:
    """An op's call: its operands' shapes (those of the whole tensors), and its result's.

    Operands are of the whole shapes, on the meta device, as what the op gives for them.
    """

    def __init__(self, function: Any, name: str, args: Any, kwargs: dict[str, Any]) -> None:
        self.function, self.name = function, name
        given = [t for t in flatten((args, kwargs))[0] if isinstance(t, Tensor)]
        self.differentiable = torch.is_grad_enabled() and any(t.requires_grad for t in given)
        self.args, self.kwargs = tree_map(_on_meta, (args, kwargs))
        self.operands: list[Any] = [t for t in flatten((self.args, self.kwargs))[0] if isinstance(t, Tensor)]
        self.shapes = [tuple(t.shape) for t in self.operands]
        with torch.no_grad():
            result = function(*self.args, **self.kwargs)
        results = [t for t in flatten(result)[0] if isinstance(t, Tensor)]
        self.results = [tuple(t.shape) for t in results]
        self.strides = [t.stride() for t in results]

    def given(self, place: int, name: str, default: Any = None) -> Any:
        """An argument, by its place or its name."""
        if len(self.args) > place:
            return self.args[place]
        other = self.kwargs.get("axis", default) if name == "dim" else default
        return self.kwargs.get(name, other)

    @property
    def out(self) -> tuple[int, ...]:
        """The first result's shape."""
        return self.results[0]

    def everywhere(self) -> Strategy:
        """Every rank has all and computes all."""
        return Strategy((R,) * len(self.operands), R)

    def all_cut(self, *dims: int | None, to: Placement) -> Strategy:
        """Operands that are cut along these dims, None being replicated."""
        return Strategy(tuple(R if d is None else Shard(d) for d in dims), to)


def _on_meta(value: Any) -> Any:
    """A tensor's shape and dtype, without its elements."""
    return torch.empty(value.shape, dtype=value.dtype, device="meta") if isinstance(value, Tensor) else value


Rule = Callable[[Call], Iterator[Strategy]]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """The decorated function tells these ops' strategies."""

    def named(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return named


# Ops besides the pointwise ones that treat each element by itself.
_BY_ELEMENT = frozenset(
    "clone to float double half bfloat16 contiguous zeros_like ones_like empty_like full_like copy_ zero_ "
    "fill_ "
    "cpu type type_as where dropout feature_dropout masked_fill detach softplus relu6 leaky_relu elu "
    "nan_to_num".split()
)
# Those that a sum goes through: of terms, the result is terms.
_LINEAR = frozenset(
    "add sub neg clone to float double half bfloat16 contiguous zeros_like copy_ zero_ detach".split()
)
_SCALING = frozenset("mul div true_divide".split())


def rule_of(name: str) -> Rule | None:
    """The rule of an op, by its name or, in place, that of the op that it is."""
    plain = name.rstrip("_") if name.endswith("_") and not name.endswith("__") else name
    if found := RULES.get(name) or RULES.get(plain):
        return found
    row = ROWS.get(name) or ROWS.get(plain)
    by_element = name in _BY_ELEMENT or plain in _BY_ELEMENT or (row is not None and row.kind == "pointwise")
    return pointwise if by_element else None


def pointwise(call: Call) -> Iterator[Strategy]:
    """Cut alike along a dim, where shorter operands are repeated; terms, where the op is linear."""
    name = call.name.strip("_")
    for d in range(len(call.out)):
        cut = _aligned(call, d)
        if any(place is not None for place in cut):
            yield call.all_cut(*cut, to=Shard(d))
    yield call.everywhere()
    terms = Partial()
    if name in _LINEAR and all(s == call.out for s in call.shapes):
        if name not in ("add", "sub") or len(call.operands) == 2:
            yield Strategy((terms,) * len(call.operands), terms)
    elif name in _SCALING and call.kwargs.get("rounding_mode") is None:
        for n in range(len(call.operands) if name == "mul" else 1):
            yield Strategy(tuple(terms if m == n else R for m in range(len(call.operands))), terms)


def _aligned(call: Call, d: int) -> list[int | None]:
    """Where each operand has dim `d` of the result; None where it is shorter, or repeated along it."""
    places = [d - len(call.out) + len(shape) for shape in call.shapes]
    return [
        place if place >= 0 and shape[place] == call.out[d] else None
        for place, shape in zip(places, call.shapes, strict=True)
    ]


# --- products ---------------------------------------------------------------------------------------


@rule("mm", "bmm", "matmul", "__matmul__", "__rmatmul__")
def matmul(call: Call) -> Iterator[Strategy]:
    """Rows of the first, columns of the second, the dim that is summed over, and those of a batch."""
    a, b = (len(s) for s in call.shapes[:2])
    ndim = len(call.out)
    if call.name == "__rmatmul__" or min(a, b) < 2:
        yield call.everywhere()
        return
    yield call.all_cut(a - 2, None, to=Shard(ndim - 2))
    yield call.all_cut(None, b - 1, to=Shard(ndim - 1))
    yield call.all_cut(a - 1, b - 2, to=Partial())
    for d in range(ndim - 2):
        yield call.all_cut(*_aligned(call, d), to=Shard(d))
    yield call.everywhere()
    yield Strategy((Partial(), R), Partial())
    yield Strategy((R, Partial()), Partial())


@rule("linear")
def linear(call: Call) -> Iterator[Strategy]:
    """As a product; the bias goes with the columns, or is a term of a sum."""
    n, ndim = len(call.shapes[0]), len(call.out)
    bias = len(call.operands) == 3
    for d in range(n - 1):
        yield call.all_cut(d, None, *[None] * bias, to=Shard(d))
    if len(call.shapes[1]) == 2:
        yield call.all_cut(None, 0, *[0] * bias, to=Shard(ndim - 1))
    terms = Partial()
    yield Strategy((Shard(n - 1), Shard(len(call.shapes[1]) - 1), *[terms] * bias), terms)
    yield call.everywhere()


@rule("addmm")
def addmm(call: Call) -> Iterator[Strategy]:
    """The first operand is repeated along the rows, or has them."""
    first = call.shapes[0]
    rows = 0 if len(first) == 2 and first[0] == call.out[0] else None
    columns = len(first) - 1 if first and first[-1] == call.out[1] else None
    yield call.all_cut(rows, 0, None, to=Shard(0))
    yield call.all_cut(columns, None, 1, to=Shard(1))
    yield Strategy((Partial(), Shard(1), Shard(0)), Partial())
    yield call.everywhere()


@rule("embedding")
def embedding(call: Call) -> Iterator[Strategy]:
    """Rows of indices, columns of the weight, or rows of the weight: then other ranks' rows count as zero."""
    for d in range(len(call.shapes[0])):
        yield call.all_cut(d, None, to=Shard(d))
    if call.given(3, "max_norm") is None:
        yield call.all_cut(None, 1, to=Shard(len(call.out) - 1))
        yield call.all_cut(None, 0, to=Partial())
    yield call.everywhere()


@rule("scaled_dot_product_attention")
def attention(call: Call) -> Iterator[Strategy]:
    """Batches and heads, where no mask tells them apart."""
    plain = len(call.operands) == 3 and len({s[:-2] for s in call.shapes}) == 1
    for d in range(len(call.out) - 2 if plain else 0):
        yield call.all_cut(d, d, d, to=Shard(d))
    yield call.everywhere()


# --- along dims -------------------------------------------------------------------------------------

# Where an op works if it is not told.
_LAST = {"sort": -1, "argsort": -1, "glu": -1}


@rule(
    "softmax",
    "log_softmax",
    "softmin",
    "cumsum",
    "cumprod",
    "logcumsumexp",
    "sort",
    "argsort",
    "flip",
    "normalize",
    "glu",
)
def along(call: Call) -> Iterator[Strategy]:
    """Any dim but those that the op works along."""
    if call.name == "normalize":
        dims = call.given(2, "dim", 1)
    elif call.name == "flip":
        dims = call.kwargs.get("dims", call.args[1:])
    else:
        dims = call.given(1, "dim", _LAST.get(call.name))
    listed = flatten(dims)[0]
    if listed and all(isinstance(d, int) for d in listed):
        yield from _others(call, {d % max(len(call.shapes[0]), 1) for d in listed})
    yield call.everywhere()


@rule("layer_norm", "rms_norm")
def normalization(call: Call) -> Iterator[Strategy]:
    """Any dim but those that are normalized."""
    ndim, shape = len(call.shapes[0]), call.given(1, "normalized_shape")
    count = 1 if isinstance(shape, int) else len(shape)
    yield from _others(call, set(range(ndim - count, ndim)))
    yield call.everywhere()


def _others(call: Call, used: set[int]) -> Iterator[Strategy]:
    """The first operand is cut along a dim that is not used, which the result has, too."""
    for d in set(range(len(call.shapes[0]))) - used:
        yield call.all_cut(d, *[None] * (len(call.operands) - 1), to=Shard(d))


_PARTIALS = {"sum": "sum", "mean": "avg", "amax": "max", "amin": "min", "max": "max", "min": "min"}
_ALL = {
    "sum",
    "mean",
    "max",
    "min",
    "amax",
    "amin",
    "prod",
    "all",
    "any",
    "var",
    "std",
    "argmax",
    "argmin",
    "logsumexp",
}


@rule(*_ALL)
def reduction(call: Call) -> Iterator[Strategy]:
    """Dims that stay; of those that go, terms of the result."""
    ndim = len(call.shapes[0])
    dims = call.given(1, "dim")
    if len(call.operands) > 1 or isinstance(dims, bool):
        yield call.everywhere()
        return
    listed = [dims] if isinstance(dims, int) else list(dims or range(ndim))
    gone = {d % max(ndim, 1) for d in listed}
    for d in set(range(ndim)) - gone:
        kept = len(call.out) == ndim
        yield call.all_cut(d, to=Shard(d if kept else d - sum(g < d for g in gone)))
    yield call.everywhere()
    how = _PARTIALS.get(call.name)
    if how in ("max", "min") and (call.differentiable or len(call.results) > 1):
        return
    for d in gone if how else ():
        yield call.all_cut(d, to=Partial(how or ""))
    if how == "sum":
        yield Strategy((Partial(),), Partial())


# --- views ------------------------------------------------------------------------------------------


@rule("view", "_view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "view_as", "reshape_as")
def reshape(call: Call) -> Iterator[Strategy]:
    """A dim that is the first of those it is joined with, or cut into."""
    for mine, theirs in _groups(call.shapes[0], call.out):
        if mine and theirs:
            yield call.all_cut(mine[0], *[None] * (len(call.operands) - 1), to=Shard(theirs[0]))
    yield call.everywhere()
    yield Strategy((Partial(),) + (R,) * (len(call.operands) - 1), Partial())


def _groups(a: Sequence[int], b: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """The dims of two shapes of one size that hold the same elements; dims of size 1 are in none."""
    left = [n for n, size in enumerate(a) if size != 1]
    right = [n for n, size in enumerate(b) if size != 1]
    while left or right:
        mine, theirs = left[:1], right[:1]
        left, right = left[1:], right[1:]
        while prod(a[n] for n in mine) != prod(b[n] for n in theirs):
            if left and prod(a[n] for n in mine) < prod(b[n] for n in theirs):
                mine.append(left.pop(0))
            elif right:
                theirs.append(right.pop(0))
            else:
                return
        yield mine, theirs


@rule(*"transpose permute t swapaxes swapdims movedim moveaxis adjoint".split())
@rule(*"select narrow split chunk unbind tensor_split __getitem__ slice".split())
def same_strides(call: Call) -> Iterator[Strategy]:
    """Dims that all results have as they were: of the same stride and size."""
    if call.name == "__getitem__" and not _plain_index(call.args[1]):
        yield call.everywhere()
        return
    shape, steps = call.shapes[0], torch.empty(call.shapes[0], device="meta").stride()
    rest = [None] * (len(call.operands) - 1)
    for d, (size, step) in enumerate(zip(shape, steps, strict=True)):
        places = {
            next((n for n, have in enumerate(zip(of, by)) if have == (size, step)), None)
            for of, by in zip(call.results, call.strides)
        }
        found = places.pop() if len(places) == 1 else None
        if found is not None and size != 1:
            yield call.all_cut(d, *rest, to=Shard(found))
    yield call.everywhere()
    if not rest:
        yield Strategy((Partial(),), Partial())


def _plain_index(index: Any) -> bool:
    """Whether it picks and slices only; one of elements may give other rows in the same shape."""
    entries = index if isinstance(index, tuple) else (index,)
    return all(
        e is None or e is Ellipsis or (isinstance(e, (int, slice)) and not isinstance(e, bool))
        for e in entries
    )


@rule("expand", "expand_as", "broadcast_to")
def expand(call: Call) -> Iterator[Strategy]:
    """Dims that are as long as before."""
    more = len(call.out) - len(call.shapes[0])
    for d, size in enumerate(call.shapes[0]):
        if call.out[d + more] == size != 1:
            yield call.all_cut(d, *[None] * (len(call.operands) - 1), to=Shard(d + more))
    yield call.everywhere()


@rule("cat", "concat", "stack")
def joined(call: Call) -> Iterator[Strategy]:
    """Dims besides the one that the tensors are joined along."""
    ndim, at = len(call.out), call.given(1, "dim", 0) % len(call.out)
    new = call.name == "stack"
    for d in range(ndim):
        if d != at:
            yield call.all_cut(*[d - (new and at < d)] * len(call.operands), to=Shard(d))
    yield call.everywhere()
    yield Strategy((Partial(),) * len(call.operands), Partial())


_SIZED = frozenset(name for name, found in RULES.items() if found in (reshape, expand))


def local_function(call: Call, mesh: Any, results: Sequence[Placement], operands: Sequence[Any]) -> Any:
    """What each rank calls where the op's own arguments speak of the whole; None: the op itself."""
    if call.name in _SIZED:
        method = "reshape" if RULES[call.name] is reshape else "expand"
        return _of_size(method, box(call.out, mesh, results)[1])
    if call.name == "embedding" and any(p == Shard(0) for p in operands[1]):
        begin, rows = (values[0] for values in box(call.shapes[1], mesh, operands[1]))
        return _some_rows(call, begin, rows)
    return None


def _of_size(method: str, sizes: Sequence[int]) -> Callable[..., Any]:
    def viewed(t: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(t, method)(sizes)

    return viewed


def _some_rows(call: Call, begin: int, rows: int) -> Callable[..., Any]:
    """embedding where a rank has only rows begin, ... of the weight: zeros for those of others."""

    def some(*args: Any, **kwargs: Any) -> Any:
        indices, weight = (t for t in flatten((args, kwargs))[0] if isinstance(t, Tensor))
        mine = (indices >= begin) & (indices < begin + rows)
        skipped = call.given(2, "padding_idx")
        found = torch.nn.functional.embedding(
            (indices - begin).where(mine, 0) if rows else indices * 0,
            weight if rows else weight.new_zeros(1, weight.shape[1]) + weight.sum() * 0,
            scale_grad_by_freq=call.given(4, "scale_grad_by_freq", False),
        )
        counted = mine if skipped is None else mine & (indices != skipped % call.shapes[1][0])
        kept = found.where(counted.unsqueeze(-1), found.detach())
        return kept.where(mine.unsqueeze(-1), 0)

    return some


# --- the choice -------------------------------------------------------------------------------------


def choose(call: Call, mesh: Any, number: int, now: Sequence[Placement], in_place: bool) -> Strategy | None:
    """The strategy along one dim of the mesh that takes the least moving.

    now: how the operands lie there. in_place: the first of them, which is the result, stays as it is.
    """
    best: tuple[float, Strategy] | None = None
    for strategy in (rule_of(call.name) or _everywhere)(call):
        stays = strategy.result == strategy.operands[0] == now[0]
        if not _fits(call, strategy, mesh) or (in_place and not stays):
            continue
        sizes = (prod(shape) for shape in call.shapes)
        parts = mesh.size(number)
        work = sum(_work(*each, parts) for each in zip(now, strategy.operands, sizes, strict=True))
        if work < (best[0] if best else float("inf")):
            best = work, strategy
    return best[1] if best else None


def _everywhere(call: Call) -> Iterator[Strategy]:
    yield call.everywhere()


def _fits(call: Call, strategy: Strategy, mesh: Any) -> bool:
    """Whether parts of equal size are there where a mean or a reshaped dim needs them."""
    even = strategy.result == Partial("avg") or call.name in _SIZED
    if not even:
        return True
    cut = [
        (shape, p)
        for shape, p in zip([*call.shapes, call.out], [*strategy.operands, strategy.result])
        if isinstance(p, Shard)
    ]
    return all(shape[p.dim] % mesh.size() == 0 for shape, p in cut)


def _work(source: Placement, target: Placement, size: int, parts: int) -> float:
    """About how long a move of `size` numbers takes, by the estimates that PyTorch chooses with: a collective
    starts in microseconds, then numbers go at 87.7 GB/s. Moves that only cut are nearly free.
    """
    if source == target:
        return 0.0
    if source.is_replicate():
        return 0.0 if target.is_partial() else 1e-9 * size
    if target.is_partial():
        return float("inf")
    exchanged = source.is_shard() and target.is_shard()
    hops = (parts - 1) * (2 if source.is_partial() and target.is_replicate() else 1)
    gigabytes = 4 * (size / parts if exchanged else size) / 2**30
    return 6.6 + 0.6 * hops + gigabytes * hops / parts / 87.7 * 1e6 + (1.0 if exchanged else 0.0)
