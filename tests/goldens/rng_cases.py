"""Random numbers: what to draw, written in the API that PyTorch and Rushlight share.

`cases(m)` gives (name, call) for a module `m`; `outcome(m, call)` seeds, calls, and sums up what
came out: dtypes, shapes, strides, the first numbers, checksums of all of them and of the
generator's state afterwards.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from typing import Any

Case = tuple[str, Callable[[], Any]]

SEED = 12
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64", "bool")
# Around the groups of 16, and more than the bulk path's threshold.
SIZES = ((), (0,), (3,), (16,), (17,), (5, 7), (2500,))
FILLS: tuple[tuple[str, tuple[float, ...]], ...] = (
    ("uniform_", ()),
    ("uniform_", (-0.3, 1.9)),
    ("normal_", ()),
    ("normal_", (0.3, 1.7)),
    ("exponential_", ()),
    ("exponential_", (2.7,)),
    ("log_normal_", ()),
    ("log_normal_", (0.3, 0.7)),
    ("cauchy_", ()),
    ("cauchy_", (0.3, 1.7)),
    ("geometric_", (0.3,)),
    ("bernoulli_", ()),
    ("bernoulli_", (0.3,)),
    ("random_", ()),
    ("random_", (7,)),
    ("random_", (2, 9)),
)
RANGES = ((0, 2), (-5, 7), (0, 2**28 - 1), (0, 2**28), (3, 2**40), (-(2**63), 2**63 - 1))


def outcome(m: Any, call: Callable[[], Any]) -> list[Any]:
    """["ok", what came out..., the state's checksum], or ["error", the exception's name]."""
    m.manual_seed(SEED)
    try:
        made = call()
    except Exception as error:
        return ["error", type(error).__name__]
    state = zlib.crc32(bytes(m.get_rng_state().numpy()))
    return ["ok", *(_summary(t) for t in (made if isinstance(made, (list, tuple)) else [made])), state]


def _summary(t: Any) -> Any:
    if not hasattr(t, "detach"):
        return t
    values = t.detach().reshape(-1).tolist()
    strides = list(t.stride()) if t.numel() else []
    return [
        str(t.dtype),
        list(t.shape),
        strides,
        [_plain(v) for v in values[:3]],
        zlib.crc32(repr(values).encode()),
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, complex):
        return [value.real, value.imag]
    return value if not isinstance(value, float) or math.isfinite(value) else repr(value)


def cases(m: Any) -> Iterator[Case]:
    """All cases, by name."""
    for family in (_fills, _layouts, _factories, _likes, _integers, _sampled, _dropouts, _generators):
        yield from family(m)


def _fills(m: Any) -> Iterator[Case]:
    for name in (*FLOATS, *INTEGERS):
        of = getattr(m, name)
        for size in SIZES if name in FLOATS else ((5, 7),):
            for fill, parameters in FILLS:
                yield (
                    f"{fill}{parameters} {name} {size}",
                    lambda: getattr(m.zeros(size, dtype=of), fill)(*parameters),
                )
    for name in ("complex64", "complex128"):
        for size in ((3,), (8,), (9,)):
            for fill in ("uniform_", "normal_"):
                yield (
                    f"{fill} {name} {size}",
                    lambda: getattr(m.zeros(size, dtype=getattr(m, name)), fill)(),
                )


def _layouts(m: Any) -> Iterator[Case]:
    for fill in ("uniform_", "normal_", "exponential_", "bernoulli_", "random_"):
        for name, view in (
            ("permuted", lambda: m.zeros(4, 5, 6).permute(2, 0, 1)),
            ("sliced", lambda: m.zeros(4, 5, 6)[:, ::2, 1:]),
            ("both", lambda: m.zeros(4, 5, 6).permute(1, 2, 0)[:, ::2, 1:]),
            ("expanded", lambda: m.zeros(3).expand(2, 3)),
        ):
            yield f"{fill} {name}", lambda: getattr(view(), fill)()
    yield "normal_ twice, odd", lambda: [m.zeros(3).normal_(), m.zeros(3).normal_(), m.zeros(2).normal_()]
    yield "bernoulli_ permuted p", lambda: m.zeros(5, 4).t().bernoulli_(m.full((4, 1), 0.4))


def _factories(m: Any) -> Iterator[Case]:
    for name in (*FLOATS, "complex64", "int64"):
        of = getattr(m, name)
        for size in ((), (3,), (2, 3), (33,)):
            for factory in ("rand", "randn"):
                yield f"{factory} {name} {size}", lambda: getattr(m, factory)(size, dtype=of)
    yield "rand spread", lambda: m.rand(2, 3)
    yield "rand size=", lambda: m.rand(size=(2, 3))
    yield "rand requires_grad", lambda: m.rand(2, 3, requires_grad=True)
    yield "rand out", lambda: m.rand(3, out=m.empty(0, dtype=m.float64))
    yield "rand negative", lambda: m.rand(-1)
    yield "rand generator", lambda: m.rand(3, generator=m.Generator().manual_seed(3))
    yield "rand bad generator", lambda: m.rand(3, generator=3)
    yield "rand meta", lambda: list(m.rand(2, 3, device="meta").shape)


def _likes(m: Any) -> Iterator[Case]:
    for factory, bounds in (
        ("rand_like", ()),
        ("randn_like", ()),
        ("randint_like", (9,)),
        ("randint_like", (2, 9)),
    ):
        yield f"{factory}{bounds}", lambda: getattr(m, factory)(m.zeros(3, 4), *bounds)
        yield f"{factory}{bounds} permuted", lambda: getattr(m, factory)(m.zeros(3, 4).t(), *bounds)
        yield (
            f"{factory}{bounds} dtype",
            lambda: getattr(m, factory)(m.zeros(3, 4), *bounds, dtype=m.float64),
        )


def _integers(m: Any) -> Iterator[Case]:
    for low, high in RANGES:
        for name in ("int64", "int32", "uint8", "bool", "float32", "float16", "uint64"):
            yield (
                f"randint {low} {high} {name}",
                lambda: m.randint(low, high, (20,), dtype=getattr(m, name)),
            )
    yield "randint high", lambda: m.randint(10, (3, 4))
    yield "randint keywords", lambda: m.randint(low=2, high=10, size=(3,))
    yield "randint empty range", lambda: m.randint(5, 5, (3,))
    yield "randint float", lambda: m.randint(3.5, (3,))
    yield "random_ from", lambda: m.zeros(5, dtype=m.int64).random_(5, None)
    yield "random_ all bits", lambda: m.zeros(5, dtype=m.int64).random_(-(2**63), None)
    for n in (0, 1, 2, 100, 3000):
        yield f"randperm {n}", lambda: m.randperm(n)
    for name in (*FLOATS, "uint8", "int16"):
        yield f"randperm {name}", lambda: m.randperm(100, dtype=getattr(m, name))
    yield "randperm too many", lambda: m.randperm(300, dtype=m.uint8)


def _sampled(m: Any) -> Iterator[Case]:
    for name in FLOATS:
        p = m.linspace(0, 1, 24).to(getattr(m, name)).reshape(4, 6)
        yield f"bernoulli {name}", lambda: m.bernoulli(p)
        yield f"bernoulli permuted {name}", lambda: m.bernoulli(p.t())
        yield f"bernoulli p {name}", lambda: m.bernoulli(p, 0.4)
        yield f"bernoulli_ p {name}", lambda: m.zeros(4, 6).bernoulli_(p)
        yield f"poisson {name}", lambda: m.poisson(p * 40)
        yield f"normal tensors {name}", lambda: m.normal(p, p)
        yield f"normal mean {name}", lambda: m.normal(p, 0.3)
        yield f"normal std {name}", lambda: m.normal(0.3, p)
        for k, replacement in ((1, True), (1, False), (3, False), (9, True)):
            yield (f"multinomial {k} {replacement} {name}", lambda: m.multinomial(p + 0.1, k, replacement))
    for name in ("float32", "float64"):
        shapes = m.linspace(0.1, 20, 24).to(getattr(m, name))
        yield f"gamma {name}", lambda: m._standard_gamma(shapes)
        yield f"dirichlet {name}", lambda: m._sample_dirichlet(shapes.reshape(4, 6))
        yield f"binomial {name}", lambda: m.binomial((shapes * 5).round(), shapes / 20)
    yield "binomial half", lambda: m.binomial(m.ones(3).half(), m.ones(3).half())
    yield "normal size", lambda: m.normal(0.3, 1.7, (3, 7))
    yield "normal mixed", lambda: m.normal(m.zeros(3), m.ones(3, dtype=m.float64))
    yield "normal negative std", lambda: m.normal(m.zeros(3), -1.0)
    yield "multinomial too many", lambda: m.multinomial(m.ones(3), 5)
    yield "multinomial negative", lambda: m.multinomial(-m.ones(3), 1)
    yield "multinomial row", lambda: m.multinomial(m.ones(7), 4, replacement=True)


def _dropouts(m: Any) -> Iterator[Case]:
    functional = m.nn.functional
    for name in FLOATS:
        x = m.linspace(-1, 2, 60).to(getattr(m, name)).reshape(3, 4, 5)
        for form in ("dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout3d"):
            for p in (0.0, 0.3, 1.0):
                yield f"{form} {p} {name}", lambda: getattr(functional, form)(x.clone(), p, True)
        yield f"dropout permuted {name}", lambda: functional.dropout(x.permute(2, 0, 1), 0.3)
        yield f"dropout inplace {name}", lambda: functional.dropout(x.clone(), 0.3, True, True)
        yield f"torch.dropout {name}", lambda: m.dropout(x, 0.3, True)
        yield f"rrelu {name}", lambda: functional.rrelu(x, 0.1, 0.35, True)
    yield "dropout bad p", lambda: functional.dropout(m.ones(3), 1.5)
    yield "dropout eval", lambda: functional.dropout(m.ones(3), 0.5, False)


def _generators(m: Any) -> Iterator[Case]:
    for seed in (0, 1, -1, 2**32, 2**63, 2**64 - 1, -(2**63)):
        yield f"seed {seed}", lambda: [m.manual_seed(seed).initial_seed(), m.initial_seed(), m.rand(5)]
    for seed in (2**64, -(2**63) - 1):
        yield f"seed {seed}", lambda: m.manual_seed(seed)
    yield "seed float", lambda: [m.manual_seed(3.7).initial_seed(), m.rand(2)]
    yield "generator seed float", lambda: m.Generator().manual_seed(1.5)
    yield "new generator", lambda: [m.Generator().initial_seed(), m.Generator().get_state()]
    yield "state of the wrong size", lambda: m.set_rng_state(m.zeros(10, dtype=m.uint8))
    yield "state of the wrong dtype", lambda: m.set_rng_state(m.zeros(5056))
    yield "no state", lambda: m.set_rng_state(m.zeros(5056, dtype=m.uint8))
    yield "fork", lambda: _forked(m)
    yield "clone_state", lambda: _cloned(m)


def _forked(m: Any) -> list[Any]:
    with m.random.fork_rng():
        inside = m.rand(2)
    return [inside, m.rand(2)]


def _cloned(m: Any) -> list[Any]:
    g = m.Generator().manual_seed(4)
    m.randn(3, generator=g)
    other = g.clone_state()
    return [m.randn(3, generator=g), m.randn(3, generator=other)]
