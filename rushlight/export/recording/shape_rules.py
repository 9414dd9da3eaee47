"""Sizes of results as expressions of the operands' sizes, while a program is recorded.

Ops compute with the sizes of this call. What an op of the program asks of sizes (that two be equal, that one
divide another) would be known only by recording at sizes at which it fails. So for usual ops a rule says it:
the sizes of the result, and what has to hold for them. A rule is believed only where it tells the sizes of
this call; an op without one has a result of which only further records tell.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import rushlight as torch
from rushlight._engine.ops.table import ROWS
from rushlight.export import overloads
from rushlight.export.numbers.expressions import Expr, Relation, applied, number, product
from rushlight.export.numbers.symbolic import expression
from rushlight.export.recording import window_rules
from rushlight.export.recording.asked import Shape, Sizes, UnknownSize, broadcast, divided


def tell(listener: Any, target: Any, args: Any, kwargs: Any, result: Any) -> None:
    """Note the sizes of an op's results, where a rule tells them, and what the op asks of sizes."""
    name = overloads.plain(target)
    rule = _RULES.get(name) or _RULES.get(name.removesuffix("_"))
    row = ROWS.get(name.removesuffix("_"))
    if rule is None and row is not None and row.kind == "pointwise":
        rule = _broadcast
    results = result if isinstance(result, (tuple, list)) else (result,)
    if rule is None or not all(isinstance(t, torch.Tensor) for t in results):
        return
    named = dict(zip([a.name for a in target._schema.arguments], args, strict=False)) | kwargs
    defaults = {a.name: a.default_value for a in target._schema.arguments if a.has_default_value()}
    sizes = Sizes(listener)
    try:
        found = rule(sizes, defaults | named)
    except (
        UnknownSize,
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        ZeroDivisionError,
    ):
        return
    shapes = found if isinstance(found, list) else [found] * len(results)
    for t, shape in zip(results, shapes, strict=False):
        here = tuple(n.at(listener.numbers.values) for n in shape)
        if here == tuple(t._geometry.shape):
            listener.exprs[id(t)] = {d: n for d, n in enumerate(shape) if n.constant is None}
            listener.node(t).meta["told"] = shape


def _tensors(args: dict[str, Any]) -> list[Any]:
    found: list[Any] = []
    for a in args.values():
        several = a if isinstance(a, (tuple, list)) else (a,)
        found += [t for t in several if isinstance(t, torch.Tensor)]
    return found


def _broadcast(sizes: Sizes, args: dict[str, Any]) -> Shape:
    return broadcast(sizes, [sizes.of(t) for t in _tensors(args)])


def _into(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own, *others = [sizes.of(t) for t in _tensors(args)]
    broadcast(sizes, [own, *others])
    return own


def _normalized(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own = sizes.of(args["input"])
    given = [sizes.setting(n) for n in args.get("normalized_shape", ())]
    for n, wanted in zip(own[len(own) - len(given) :], given, strict=True):
        sizes.same(n, wanted)
    for name in ("weight", "bias", "running_mean", "running_var") if not given else ():
        if args.get(name) is not None:
            sizes.same(own[1], sizes.of(args[name])[0])
    return own


def _first(sizes: Sizes, args: dict[str, Any]) -> Shape:
    return sizes.of(_tensors(args)[0])


def _reshaped(sizes: Sizes, before: Shape, given: Any) -> Shape:
    after = [sizes.number(n) for n in given]
    free = [i for i, n in enumerate(after) if n.constant == -1]
    rest = product([n for i, n in enumerate(after) if i not in free])
    if free:
        after[free[0]] = divided(sizes, product(before), rest)
    else:
        sizes.same(product(before), rest)
    return tuple(after)


def _view(sizes: Sizes, args: dict[str, Any]) -> Shape:
    return _reshaped(sizes, sizes.of(args["self"]), args.get("size") or args.get("shape"))


def _flatten(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own = sizes.of(args["self"])
    start, end = args["start_dim"] % len(own), args["end_dim"] % len(own)
    return (*own[:start], product(own[start : end + 1]), *own[end + 1 :])


def _unflatten(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own = sizes.of(args["self"])
    dim = args["dim"] % len(own)
    return (
        *own[:dim],
        *_reshaped(sizes, own[dim : dim + 1], args["sizes"]),
        *own[dim + 1 :],
    )


def _permute(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own = sizes.of(args["self"])
    return tuple(own[d] for d in args["dims"])


def _transpose(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own = list(sizes.of(args["self"]))
    a, b = args.get("dim0", 0), args.get("dim1", len(own) - 1)
    own[a], own[b] = own[b], own[a]
    return tuple(own)


def _unsqueeze(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own = sizes.of(args["self"])
    dim = args["dim"] % (len(own) + 1)
    return (*own[:dim], number(1), *own[dim:])


def _squeeze(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own = sizes.of(args["self"])
    dims = args.get("dim", range(len(own)))
    gone = {d % len(own) for d in ((dims,) if isinstance(dims, int) else dims)}
    return tuple(n for d, n in enumerate(own) if d not in gone or n.constant != 1)


def _expand(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own = sizes.of(args["self"])
    given = [sizes.number(n) for n in args["size"]]
    own = (number(1),) * (len(given) - len(own)) + own
    found = []
    for n, wanted in zip(own, given, strict=True):
        found.append(n if wanted.constant == -1 else wanted if n.constant == 1 else sizes.same(n, wanted))
    return tuple(found)


def _select(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own = sizes.of(args["self"])
    dim, index = args["dim"] % len(own), sizes.number(args["index"])
    if index.constant is not None:
        low = index if index.constant >= 0 else -index - number(1)
        if own[dim].free() <= sizes.numbers.backed:
            sizes.holds(Relation(">", own[dim], low))
    return own[:dim] + own[dim + 1 :]


def _bound(sizes: Sizes, at: Any, whole: Expr) -> Expr:
    """Where a slice begins or ends."""
    if isinstance(at, int) and not hasattr(at, "expr"):
        if at >= 2**62:
            return whole
        if at == 0:
            return number(0)
        sizes.number(at)
        place = number(at) if at > 0 else whole + number(at)
        return sizes.least(place, whole) if at > 0 else _not_below(sizes, place)
    place = sizes.number(at)
    if sizes.numbers.known.holds(Relation(">=", place, number(0))) is not True:
        raise UnknownSize
    return sizes.least(place, whole)


def _not_below(sizes: Sizes, place: Expr) -> Expr:
    inside = Relation(">=", place, number(0))
    if sizes.numbers.known.holds(inside) is None and not inside.free() <= sizes.numbers.backed:
        raise UnknownSize
    here = inside.at(sizes.numbers.values)
    if sizes.numbers.known.holds(inside) is None:
        sizes.numbers.decide(inside, here)
    return place if here else number(0)


def _slice(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own = sizes.of(args["self"])
    dim = args["dim"] % len(own)
    whole = own[dim]
    start = _bound(sizes, 0 if args["start"] is None else args["start"], whole)
    end = _bound(sizes, 2**63 - 1 if args["end"] is None else args["end"], whole)
    if not Relation("<=", start, end).at(sizes.numbers.values):
        raise UnknownSize
    length, step = end - start, sizes.number(args["step"])
    if step.constant != 1:
        length = applied("FloorDiv", length + step - number(1), step)
    elif length.free() and length.free() <= sizes.numbers.unnamed and length.at(sizes.numbers.values) > 1:
        sizes.holds(Relation(">=", length, number(2)))  # parts of 0 and 1 are other programs, as in PyTorch
    return (*own[:dim], length, *own[dim + 1 :])


def hangs_on_numbers(listener: Any, t: Any, dim: int, start: Any, end: Any, step: Any) -> bool:
    """Whether how long a slice is is a number of its own, since it ends or begins where data says."""
    backed = listener.numbers.backed
    if all(expression(n).free() <= backed for n in (start, end) if n is not None):
        return False
    sizes = Sizes(listener)
    try:
        sizes.of(t)
    except UnknownSize:
        return False
    try:
        _slice(sizes, {"self": t, "dim": dim, "start": start, "end": end, "step": step})
    except UnknownSize:
        return True
    return False


def _cat(sizes: Sizes, args: dict[str, Any]) -> Shape:
    shapes = [sizes.of(t) for t in args["tensors"]]
    shapes = [s for s in shapes if len(s) != 1 or s[0].constant != 0] or shapes
    dim = args["dim"] % len(shapes[0])
    found = []
    for d, column in enumerate(zip(*shapes, strict=True)):
        size = column[0]
        for n in column[1:]:
            size = size + n if d == dim else sizes.same(size, n)
        found.append(size)
    return tuple(found)


def _stack(sizes: Sizes, args: dict[str, Any]) -> Shape:
    shapes = [sizes.of(t) for t in args["tensors"]]
    own = [reduce(sizes.same, column) for column in zip(*shapes, strict=True)]
    dim = args["dim"] % (len(own) + 1)
    return (*own[:dim], number(len(shapes)), *own[dim:])


def _matmul(sizes: Sizes, args: dict[str, Any]) -> Shape:
    a, b = (sizes.of(t) for t in _tensors(args)[:2])
    sizes.same(a[-1], b[max(len(b) - 2, 0)])
    batch = broadcast(sizes, [a[:-2], b[:-2]]) if len(a) > 2 or len(b) > 2 else ()
    return (*batch, *(a[-2:-1] if len(a) > 1 else ()), *(b[-1:] if len(b) > 1 else ()))


def _addmm(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own, a, b = (sizes.of(t) for t in _tensors(args)[:3])
    sizes.same(a[-1], b[-2])
    return broadcast(sizes, [own, (*a[:-1], b[-1])])


def _linear(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own, weight = sizes.of(args["input"]), sizes.of(args["weight"])
    sizes.same(own[-1], weight[-1])
    return (*own[:-1], *weight[:-1])


def _reduced(sizes: Sizes, args: dict[str, Any]) -> Shape:
    if "other" in args:  # the larger or smaller one of two
        return _broadcast(sizes, args)
    own = sizes.of(args["self"])
    dims = args.get("dim")
    several = (dims,) if isinstance(dims, int) else dims or range(len(own))
    gone = {d % len(own) for d in several}
    if args.get("keepdim"):
        return tuple(number(1) if d in gone else n for d, n in enumerate(own))
    return tuple(n for d, n in enumerate(own) if d not in gone)


def _embedding(sizes: Sizes, args: dict[str, Any]) -> Shape:
    return (*sizes.of(args["indices"]), sizes.of(args["weight"])[-1])


def _made(sizes: Sizes, args: dict[str, Any]) -> Shape:
    return tuple(sizes.number(n) for n in args["size"])


def _attention(sizes: Sizes, args: dict[str, Any]) -> Shape:
    query, key, value = (sizes.of(args[n]) for n in ("query", "key", "value"))
    sizes.same(query[-1], key[-1])
    sizes.same(key[-2], value[-2])
    if args.get("enable_gqa"):
        return (*query[:-1], value[-1])
    batch = broadcast(sizes, [query[:-2], key[:-2], value[:-2]])
    if args.get("attn_mask") is not None:
        broadcast(sizes, [(*batch, query[-2], key[-2]), sizes.of(args["attn_mask"])])
    return (*batch, query[-2], value[-1])


def _repeat(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own, times = sizes.of(args["self"]), [sizes.number(n) for n in args["repeats"]]
    own = (number(1),) * (len(times) - len(own)) + own
    return tuple(n * by for n, by in zip(own, times, strict=True))


def _arange(sizes: Sizes, args: dict[str, Any]) -> Shape:
    start, end = sizes.number(args.get("start", 0)), sizes.number(args["end"])
    if sizes.number(args.get("step", 1)).constant != 1:
        raise UnknownSize
    return (end - start,)


def _index_select(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own = sizes.of(args["self"])
    dim = args["dim"] % len(own)
    return (*own[:dim], *(sizes.of(args["index"]) or (number(1),)), *own[dim + 1 :])


def _split(sizes: Sizes, args: dict[str, Any]) -> list[Shape]:
    own = sizes.of(args["self"])
    dim = args["dim"] % len(own)
    given = args.get("split_sizes", args.get("split_size"))
    if isinstance(given, (tuple, list)):
        parts = [sizes.number(n) for n in given]
        sizes.same(own[dim], sum(parts, start=number(0)))
    else:
        size = sizes.number(given)
        count = -(-own[dim].at(sizes.numbers.values) // size.at(sizes.numbers.values))
        rest = own[dim] - size * number(count - 1)
        sizes.holds(Relation(">=", rest, number(1)))
        sizes.holds(Relation("<=", rest, size))
        parts = [size] * (count - 1) + [rest]
    return [(*own[:dim], n, *own[dim + 1 :]) for n in parts]


def _chunk(sizes: Sizes, args: dict[str, Any]) -> list[Shape]:
    own = sizes.of(args["self"])
    dim, count = args["dim"] % len(own), args["chunks"]
    size = applied("FloorDiv", own[dim] + number(count - 1), number(count))
    if own[dim].constant is None:
        if not Relation(">", own[dim], size * number(count - 1)).at(sizes.numbers.values):
            raise UnknownSize  # fewer parts than were asked for
        sizes.holds(Relation(">", own[dim], size * number(count - 1)))  # of others there are fewer
    parts = [size] * (count - 1) + [own[dim] - size * number(count - 1)]
    return [(*own[:dim], n, *own[dim + 1 :]) for n in parts]


def _multinomial(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own, count = sizes.of(args["self"]), sizes.number(args["num_samples"])
    sizes.numbers.possible.append(Relation("<=", count, own[-1]))
    return (*own[:-1], count)


def _gather(sizes: Sizes, args: dict[str, Any]) -> Shape:
    return sizes.of(args["index"])


def _narrow(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own = sizes.of(args["self"])
    dim = args["dim"] % len(own)
    length = sizes.number(args["length"])
    if not isinstance(args["start"], torch.Tensor):
        sizes.holds(Relation("<=", sizes.number(args["start"]) + length, own[dim]))
    return (*own[:dim], length, *own[dim + 1 :])


def _moved(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own = sizes.of(args["self"])
    source, to = (
        [d % len(own) for d in ((v,) if isinstance(v, int) else v)]
        for v in (args["source"], args["destination"])
    )
    rest = iter([n for d, n in enumerate(own) if d not in source])
    there = dict(zip(to, source, strict=True))
    return tuple(own[there[d]] if d in there else next(rest) for d in range(len(own)))


def _unbound(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own = sizes.of(args["self"])
    dim = args["dim"] % len(own)
    if own[dim].constant is None:
        sizes.same(own[dim], number(own[dim].at(sizes.numbers.values)))
    return own[:dim] + own[dim + 1 :]


def _most(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own, count = sizes.of(args["self"]), sizes.number(args["k"])
    if not own:
        return own
    dim = args["dim"] % len(own)
    if own[dim].free() <= sizes.numbers.backed:
        sizes.holds(Relation("<=", count, own[dim]))
    return (*own[:dim], count, *own[dim + 1 :])


def _indexed(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own, given = sizes.of(args["self"]), list(args["indices"])
    if any(t is not None and t.dtype in (torch.bool, torch.uint8) for t in given):
        raise UnknownSize
    given += [None] * (len(own) - len(given))
    at = [d for d, t in enumerate(given) if t is not None]
    found = broadcast(sizes, [sizes.of(given[d]) for d in at])
    first = at[0] if at == list(range(at[0], at[-1] + 1)) else 0
    rest = [n for d, n in enumerate(own) if given[d] is None]
    return (*rest[:first], *found, *rest[first:])


def _interleaved(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own, by = sizes.of(args["self"]), sizes.number(args["repeats"])
    if args.get("dim") is None:
        return (product(own) * by,)
    dim = args["dim"] % len(own)
    return (*own[:dim], own[dim] * by, *own[dim + 1 :])


def _halved(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own = sizes.of(args["self"])
    dim = args["dim"] % len(own)
    return (*own[:dim], divided(sizes, own[dim], number(2)), *own[dim + 1 :])


def _outer(sizes: Sizes, args: dict[str, Any]) -> Shape:
    a, b = (sizes.of(t) for t in _tensors(args)[:2])
    return (*a, *b)


def _recurrent(sizes: Sizes, args: dict[str, Any]) -> list[Shape]:
    own, params, both = sizes.of(args["input"]), args["params"], 1 + args["bidirectional"]
    given = args["hx"]
    states = [sizes.of(t) for t in (given if isinstance(given, (tuple, list)) else [given])]
    if len(own) != 3 or len(params) % (args["num_layers"] * both):
        raise UnknownSize
    sizes.same(own[-1], sizes.of(params[0])[-1])
    batch = 0 if args["batch_first"] else 1
    for state in states:
        sizes.same(own[batch], state[1])
    return [(*own[:2], states[0][-1] * number(both)), *states]


_NAMES: dict[Callable[[Sizes, dict[str, Any]], Any], str] = {
    _view: "view reshape _unsafe_view",
    _flatten: "flatten",
    _unflatten: "unflatten",
    _permute: "permute",
    _transpose: "transpose t swapaxes swapdims",
    _unsqueeze: "unsqueeze",
    _squeeze: "squeeze",
    _expand: "expand",
    _select: "select",
    _slice: "slice",
    _cat: "cat concat concatenate",
    _stack: "stack",
    _matmul: "matmul mm bmm mv dot",
    _addmm: "addmm baddbmm",
    _linear: "linear",
    _reduced: "sum mean amax amin prod any all argmax argmin var std logsumexp max min norm std_mean "
    "var_mean aminmax",
    _embedding: "embedding",
    _made: "zeros ones full empty rand randn new_zeros new_ones new_full new_empty",
    _attention: "scaled_dot_product_attention",
    _repeat: "repeat",
    _arange: "arange",
    _index_select: "index_select",
    _gather: "gather take_along_dim",
    _narrow: "narrow",
    _moved: "movedim moveaxis",
    _unbound: "unbind",
    _most: "topk",
    _indexed: "index",
    _interleaved: "repeat_interleave",
    _halved: "glu",
    _outer: "outer",
    _recurrent: "lstm gru rnn_tanh rnn_relu",
    _into: "copy_ fill_ zero_ masked_fill",
    _normalized: "layer_norm batch_norm group_norm instance_norm rms_norm",
    _split: "split split_with_sizes",
    _chunk: "chunk",
    _multinomial: "multinomial",
    _first: "clone contiguous to _to_copy detach alias lift_fresh_copy lift_fresh dropout softmax _softmax "
    "log_softmax zeros_like ones_like full_like empty_like rand_like randn_like cumsum cumprod flip roll "
    "sort tril triu softplus gelu index_copy index_add index_fill index_put scatter scatter_add "
    "scatter_reduce feature_dropout alpha_dropout",
}
_RULES = window_rules.RULES | {name: rule for rule, names in _NAMES.items() for name in names.split()}
_RULES["where"] = _broadcast
