"""Random rows on a device: PyTorch's CUDA numbers for the same seed, from the device's Philox.

A row of ROWS gets the device, the operands' arrays and the row's attributes, one of FACTORIES the device and
the arguments by name; both give a device's array. What is drawn is decided when the row is called, and made
when the stream gets there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.devices.cuda import philox
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import Device, NotServed, geometry_of
from rushlight._engine.devices.cuda.philox import Philox
from rushlight._engine.numerics import distributions
from rushlight._engine.numerics.distributions import in_memory_order
from rushlight._engine.numerics.random_integers import ranged
from rushlight._engine.numerics.rng import Engine
from rushlight._engine.ops.creation.filled import Fill, like as fill_like, np_dtype, sizes_of
from rushlight._engine.ops.table import ROWS as TABLE

Array = np.ndarray[Any, Any]


class Words(NamedTuple):
    """How a device's kernel draws the same numbers (served/drawing.py): from words of 32 bits.

    claim: Philox.claim's.  fours: whether a thread's four numbers are neighbours, else they lie a grid apart.
    kind: what is made of them.  values: its numbers, by name.
    """

    claim: Any
    fours: bool
    kind: str
    values: dict[str, Any]


@dataclass(frozen=True)
class Recipe:
    """What gives an array's numbers: the host's way, and the words of a kernel's, if there is one."""

    host: Callable[[Array], Array]
    words: Words | None = None

    def __call__(self, memory: Array) -> Array:
        """By the host."""
        return self.host(memory)


Draw = Callable[[Array], Array] | Recipe


# From which range of integers on two words are used.
WIDE = 1 << 28


def engine_of(backend: Device, generator: Any) -> Philox:
    """The engine of a torch.Generator of this device, or the device's own."""
    if generator is None:
        return backend.philox
    engine = getattr(generator, "engine", None)
    if not isinstance(engine, Philox):
        found = "cpu" if hasattr(generator, "engine") else type(generator).__name__
        raise RuntimeError(f"Expected a 'cuda' device type for generator but found '{found}'")
    return engine


def _of(a: Any) -> dt.dtype:
    return dt.from_numpy_dtype(a.dtype)


def _made(
    backend: Device, like: DeviceArray, draw: Draw, what: str, uses: tuple[Any, ...] = ()
) -> DeviceArray:
    """An array laid out as `like`, which draw(a host array of that layout) gives when the stream gets
    there.
    """
    made: DeviceArray = backend.empty(like.shape, like.dtype, like.strides if like.dense else None, False)
    if backend.kernels and draw.__class__ is Recipe and draw.words is not None and made.size:
        # a circle: drawing.py imports this file
        from rushlight._engine.devices.cuda.served import drawing

        try:
            drawing.draw(backend, made, draw.words, what)
            return made
        except NotServed:
            pass
    backend.fill_late(made, draw, what, uses)
    return made


# --- numbers for an array ------------------------------------------------------------------------


def _floats(
    engine: Philox,
    a: Any,
    single: Any,
    double: Any,
    finish: Callable[[Array], Array],
    kind: str = "",
    **values: float,
) -> Draw:
    """What draws floats for an array: by `single`, or by `double` for float64, and then `finish`.

    kind, values: of a kernel that draws the same; "" where there is none.
    """
    count, real = a.size * (1 + _of(a).is_complex), _of(a).to_real()
    wide = real is dt.float64
    claim = engine.claim(count, 2 if wide else 4)
    words = Words(claim, False, kind, values) if kind and not wide and not _of(a).is_complex else None
    return Recipe(
        lambda memory: in_memory_order(
            finish(philox.drawn(claim, count, double if wide else single)).astype(real.np).view(memory.dtype),
            memory,
        ),
        words,
    )


def uniform(engine: Philox, a: Any, low: float, high: float) -> Draw:
    """Uniforms of [low, high)."""
    distributions.check_uniform(_of(a), low, high)

    of = _of(a).to_real().np.type
    first, last = of(low), of(high)
    span = last - first

    def finish(u: Array) -> Array:
        # Rounded to the dtype before the bounds are turned around: curand has (0, 1].
        scaled: Array = (u * u.dtype.type(span) + u.dtype.type(first)).astype(of)
        scaled[scaled == last] = first
        return scaled

    given = {"span": float(span), "low": float(first), "high": float(last)}
    return _floats(engine, a, philox.uniform32, philox.uniform64, finish, "uniform", **given)


def normal(engine: Philox, a: Any, mean: float, std: float) -> Draw:
    """Normals."""
    of = _of(a)
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    std = std / math.sqrt(2) if of.is_complex else std

    def finish(z: Array) -> Array:
        found: Array = z * z.dtype.type(std) + z.dtype.type(mean)
        return found

    return _floats(engine, a, philox.normal32, philox.normal64, finish, "normal", mean=mean, std=std)


def integers(engine: Philox, a: Any, low: int, span: int) -> Draw:
    """Integers of [low, low + span)."""
    count, wide = a.size, span >= WIDE
    claim = engine.claim(count, 2 if wide else 4)

    def draw(memory: Array) -> Array:
        found = philox.drawn(claim, count, philox.integers64 if wide else philox.integers32)
        if span < 1 << 64:
            found = found % found.dtype.type(span)
        whole = found.astype(np.uint64) + np.uint64(low % (1 << 64))
        return in_memory_order(whole.astype(np.int64).astype(memory.dtype), memory)

    given = {"span": span, "low": low}
    return Recipe(draw, None if wide or abs(low) >= 1 << 62 else Words(claim, False, "integers", given))


def bernoulli(engine: Philox, a: Any, p: Any) -> Draw:
    """Ones with probability p, a number."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    count, wide = a.size, _of(a) is dt.float64
    claim = engine.claim(count, 2 if wide else 4)

    def draw(memory: Array) -> Array:
        u = philox.drawn(claim, count, philox.uniform64 if wide else philox.uniform32)
        return in_memory_order((u <= u.dtype.type(p)).astype(memory.dtype), memory)

    return Recipe(draw, None if wide else Words(claim, False, "bernoulli", {"p": p}))


def fours(engine: Philox, count: int) -> Callable[[], Array]:
    """Uniforms (float32) for kernels whose threads, as many as that takes, each have four neighbours."""
    return _neighbours((engine.take(10), max(-(-count // 4), 1)), count)


def _claim_of_fours(engine: Philox, count: int) -> tuple[Any, int]:
    return engine.claim(-(-count // 4) * 4)


def _neighbours(claim: tuple[Any, int], count: int) -> Callable[[], Array]:
    if not count:
        return lambda: np.empty(0, np.float32)
    groups, (place, threads) = -(-count // 4), claim

    def draw() -> Array:
        seed, offset = place
        parts = []
        for k, first in enumerate(range(0, groups, threads)):
            four = philox.uniform32(philox.words(seed, offset + 4 * k, min(threads, groups - first)))
            parts.append(np.stack(four, -1).reshape(-1))
        return np.concatenate(parts)[:count]

    return draw


# --- fills ----------------------------------------------------------------------------------------


def _uniform(backend: Device, a: Any, low: float = 0.0, high: float = 1.0, generator: Any = None) -> Any:
    return _made(backend, a, uniform(engine_of(backend, generator), a, low, high), "uniform_")


def _normal(backend: Device, a: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    return _made(backend, a, normal(engine_of(backend, generator), a, mean, std), "normal_")


def _by_uniform(name: str, finish: Callable[..., Array]) -> Callable[..., Any]:
    def fill(backend: Device, a: Any, *rest: Any) -> Any:
        *parameters, generator = rest
        distributions.check(name, *parameters)
        draw = _floats(
            engine_of(backend, generator),
            a,
            philox.uniform32,
            philox.uniform64,
            lambda u: finish(u, *map(u.dtype.type, parameters)),
            "exponential" if finish is _exponential else "",
            **({"rate": float(parameters[0])} if finish is _exponential else {}),
        )
        return _made(backend, a, draw, name)

    return fill


def _exponential(u: Array, rate: Any) -> Array:
    tiny = np.finfo(u.dtype).eps / 2
    found: Array = -1 / rate * np.where(u >= 1 - tiny, -tiny, np.log(u)).astype(u.dtype)
    return found


def _cauchy(u: Array, median: Any, sigma: Any) -> Array:
    eps = np.finfo(u.dtype).eps
    clear = np.where(u > 1 - eps, 1 - eps, np.where(u < eps, eps, u)).astype(u.dtype)
    found: Array = median + sigma * np.tan(u.dtype.type(np.pi) * (clear - u.dtype.type(0.5)))
    return found


def _geometric(u: Array, p: Any) -> Array:
    found: Array = np.ceil(np.log(u) / np.log1p(-p))
    return found


def _log_normal(backend: Device, a: Any, mean: float, std: float, generator: Any = None) -> Any:
    distributions.check("log_normal_", mean, std)
    draw = normal(engine_of(backend, generator), a, mean, std)
    return _made(
        backend,
        a,
        lambda memory: np.exp(draw(memory).astype(dt.opmath(_of(memory)).np)).astype(memory.dtype),
        "log_normal_",
    )


def _random(backend: Device, a: Any, low: Any = None, high: Any = ..., generator: Any = None) -> Any:
    of = _of(a)
    if low is None and high.__class__ is not int and high is not None:
        low, high = (
            0,
            (1 << distributions.DIGITS[of]) + 1
            if of in distributions.DIGITS
            else (2 if of is dt.bool_ else np.iinfo(of.np).max + 1),
        )
    elif high.__class__ is not int and high is not None:
        low, high = 0, low
    low = 0 if low is None else low
    high = np.iinfo(of.np).max + 1 if high is None else high
    ranged(of, low, high)
    return _made(backend, a, integers(engine_of(backend, generator), a, low, high - low), "random_")


# --- rows with operands ---------------------------------------------------------------------------


def _bernoulli_each(backend: Device, a: Any, p: Any, generator: Any, what: str) -> Any:
    draw, seen = fours(engine_of(backend, generator), a.size), backend.outline(p)

    def make(memory: Array) -> Array:
        chance = np.broadcast_to(seen, memory.shape)
        if not ((chance >= 0) & (chance <= 1)).all():
            raise RuntimeError("Assertion `0 <= p4 && p4 <= 1` failed.")
        return (in_memory_order(draw(), memory) <= chance.astype(np.float32)).astype(memory.dtype)

    return _made(backend, a, make, what, (p,))


def _bernoulli(backend: Device, a: Any, p: Any = None, generator: Any = None) -> Any:
    if p is not None:
        return _made(backend, a, bernoulli(engine_of(backend, generator), a, float(p)), "bernoulli")
    return _bernoulli_each(backend, a, a, generator, "bernoulli")


def _bernoulli_fill(backend: Device, a: Any, p: Any = 0.5, generator: Any = None) -> Any:
    if p.__class__ is DeviceArray:
        return _bernoulli_each(backend, a, p, generator, "bernoulli_")
    return _made(backend, a, bernoulli(engine_of(backend, generator), a, float(p)), "bernoulli_")


def _keep(backend: Device, a: Any, p: float, channels: bool = False, share: float = 1.0) -> Any:
    """dropout's mask: as PyTorch's fused kernel draws it, or by bernoulli_ for whole channels."""
    engine, of = engine_of(backend, None), _of(a)
    if share != 1 and of.category < dt.FLOATING:
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {of.legacy}: dropout scales what it "
            "keeps; convert the input to a floating dtype"
        )
    one = dt.opmath(of).np.type(1)
    kept = (one / one.dtype.type(share)).astype(of.np) if share != 1 else one.astype(of.np)
    if channels or share == 1:
        shape = (*a.shape[:2], *[1] * (len(a.shape) - 2)) if channels else a.shape
        like = backend.empty(shape, a.dtype, None, False)
        draw = bernoulli(engine, like, 1 - p)
        return _made(backend, like, lambda memory: draw(memory) * kept, "dropout")
    numbers, words = _vectors(engine, a, p, kept)

    def masked(memory: Array) -> Array:
        chosen = in_memory_order(numbers(), memory) < np.float32(1 - p)
        found: Array = np.where(chosen, kept, of.np.type(0)).astype(of.np)
        return found

    return _made(backend, a, Recipe(masked, words), "dropout")


def _vectors(engine: Philox, a: Any, p: float, kept: Any) -> tuple[Callable[[], Array], Words | None]:
    """(uniforms as fused_dropout takes them: four or two neighbours a thread where the number of elements
    allows; a kernel's words).
    """
    count, given = a.size, {"p": 1 - p, "kept": kept}
    if count % 4 == 0:
        claim = _claim_of_fours(engine, count)
        return _neighbours(claim, count), Words(claim, True, "keep", given)
    claim = engine.claim(count)
    if count % 2:
        words = Words(claim, False, "keep", given)
        return lambda: philox.drawn(claim, count, philox.uniform32), words
    place, threads = claim

    def pairs() -> Array:
        seed, offset = place
        parts: list[Array] = []
        groups, four = count // 2, None
        for k, first in enumerate(range(0, groups, threads)):
            if four is None:
                four = philox.uniform32(philox.words(seed, offset + 4 * (k // 2), threads))
                two, rest = four[:2], four[2:]
            else:
                two, four = rest, None
            parts.append(np.stack(two, -1)[: groups - first].reshape(-1))
        return np.concatenate(parts)

    return pairs, None


def _normal_around(backend: Device, mean: Any, std: Any, generator: Any = None) -> Any:
    like = mean if mean.__class__ is DeviceArray else std
    shape = np.broadcast_shapes(getattr(mean, "shape", ()), getattr(std, "shape", ()))
    if std.__class__ is DeviceArray and std.size and not bool(np.all(std >= 0)):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    memory = backend.empty(shape, like.dtype, None, False)
    spread = 1.0 if std.__class__ is DeviceArray else float(std)
    made = _normal(backend, memory, 0.0, spread, generator)
    given = made, mean, std if std.__class__ is DeviceArray else None
    return backend.call(_shifted, given, key=geometry_of((_shifted, *given)), what="normal")


def _shifted(z: Array, mean: Any, std: Any) -> Array:
    wide = z.astype(dt.opmath(dt.from_numpy_dtype(z.dtype).to_real()).np) if z.dtype.kind == "V" else z
    if std is not None:
        wide = (wide * std).astype(z.dtype)
    return (wide + (mean if isinstance(mean, np.ndarray) else wide.dtype.type(mean))).astype(z.dtype)


def _multinomial(
    backend: Device, weights: Any, count: int, replacement: bool = False, generator: Any = None
) -> Any:
    """PyTorch's way where each row gives one or none is repeated: the largest quotients by exponentials."""
    engine = engine_of(backend, generator)
    if replacement and count > 1:
        rows = weights.size // weights.shape[-1] if weights.shape[-1] else 0
        claim = engine.claim(rows * count)

        def chosen(w: Array) -> Array:
            _check_weights(w)
            u = philox.drawn(claim, rows * count, philox.uniform32).reshape(*w.shape[:-1], count)
            total = np.cumsum(w.astype(np.float64), -1)
            total /= total[..., -1:]
            lines = zip(total.reshape(rows, -1), u.reshape(rows, -1), strict=True)
            return np.array([np.searchsorted(t, x) for t, x in lines], np.int64).reshape(u.shape)

        return backend.call(chosen, (weights,), what="multinomial")
    memory = backend.empty(weights.shape, weights.dtype, None, False)
    q = _by_uniform("exponential_", _exponential)(backend, memory, 1.0, generator)

    def largest(w: Array, q: Array) -> Array:
        _check_weights(w)
        if not replacement and count > 1 and ((w > 0).sum(-1) < count).any():
            raise RuntimeError(
                "invalid multinomial distribution (with replacement=False, not enough non-negative category "
                "to sample)"
            )
        ratio = w.astype(dt.opmath(dt.from_numpy_dtype(w.dtype)).np) / q.astype(np.float64)
        return np.argsort(-ratio, -1, kind="stable")[..., :count].astype(np.int64)

    return backend.call(largest, (weights, q), what="multinomial")


def _check_weights(w: Array) -> None:
    wide = w.astype(np.float64)
    if not np.isfinite(wide).all() or (wide < 0).any():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")


@dataclass(frozen=True)
class _Seeded:
    """Stands for a torch.Generator of the host's, from which a row's body draws."""

    engine: Engine


def _by_samplers(name: str, words: int) -> Callable[..., Any]:
    """A row whose numbers the CPU's samplers draw, from a seed that is the device's next words; as many are
    used as PyTorch's kernel uses for a thread. They have the row's distribution, and are not PyTorch's.
    """

    def row(backend: Device, *given: Any) -> Any:
        *operands, generator = given
        place = engine_of(backend, generator).take(words)

        def sample(*arrays: Any) -> Array:
            seed, offset = place
            (first, *_) = (int(w[0]) for w in philox.words(seed, offset, 1))
            found: Array = TABLE[name].body(*arrays, generator=_Seeded(Engine(first)))
            return found

        if backend.simulated:
            return backend.call(sample, operands, what=name)
        read = [backend.read(a) if a.__class__ is DeviceArray else a for a in operands]
        return backend.brought(sample(*read))

    return row


ROWS: dict[str, Callable[..., Any]] = {
    "poisson": _by_samplers("poisson", 20),
    "binomial": _by_samplers("binomial", 42),
    "_standard_gamma": _by_samplers("_standard_gamma", 10),
    "_sample_dirichlet": _by_samplers("_sample_dirichlet", 10),
    "_rrelu_slopes": _by_samplers("_rrelu_slopes", 4),
    "uniform": _uniform,
    "normal_fill": _normal,
    "random": _random,
    "bernoulli": _bernoulli,
    "exponential": _by_uniform("exponential_", _exponential),
    "cauchy": _by_uniform("cauchy_", _cauchy),
    "geometric": _by_uniform("geometric_", _geometric),
    "log_normal": _log_normal,
    "_keep": _keep,
    "bernoulli_fill": _bernoulli_fill,
    "_normal_around": _normal_around,
    "multinomial": _multinomial,
}


# --- factories ------------------------------------------------------------------------------------


def _memory(backend: Device, memory: Fill) -> DeviceArray:
    step = np.dtype(memory.np).itemsize
    strides = None if memory.strides is None else tuple(s * step for s in memory.strides)
    return backend.empty(tuple(memory.sizes), memory.np, strides, False)


def _alike(given: dict[str, Any]) -> Fill:
    return fill_like(given["input"]._geometry, None, given.get("dtype"), given.get("memory_format"))


def _sized(draw: Callable[..., Draw], what: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """NAME and NAME_like."""

    def make(backend: Device, given: dict[str, Any], memory: Fill) -> Any:
        made = _memory(backend, memory)
        return _made(backend, made, draw(engine_of(backend, given.get("generator")), made, 0.0, 1.0), what)

    def sized(backend: Device, given: dict[str, Any]) -> Any:
        return make(backend, given, Fill(sizes_of(given["size"]), np_dtype(given.get("dtype"))))

    return sized, lambda backend, given: make(backend, given, _alike(given))


def _whole(given: dict[str, Any], sized: bool) -> tuple[int, int, Any]:
    low, high, size = given.get("low"), given.get("high"), given.get("size")
    if sized and high is None and size is not None:
        low, high = None, low
    elif sized and size is None:
        low, high, size = None, low if low is not None else high, high if low is not None else None
    elif not sized and high is None:
        low, high = 0, low
    if high is None or (sized and (size is None or isinstance(size, int))):
        raise TypeError(
            "randint(): arguments 'high' and 'size' must be given, as in randint(high, size) or "
            "randint(low, high, size); size must be tuple of ints"
        )
    low, high = int(0 if low is None else low), int(high)
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return low, high, size


def _randint(backend: Device, given: dict[str, Any]) -> Any:
    low, high, size = _whole(given, True)
    of = given.get("dtype") or dt.int64
    memory = _memory(backend, Fill(sizes_of(tuple(size)), of.np))
    engine = engine_of(backend, given.get("generator"))
    return _made(backend, memory, integers(engine, memory, low, high - low), "randint")


def _randint_like(backend: Device, given: dict[str, Any]) -> Any:
    low, high, _ = _whole(given, False)
    memory = _memory(backend, _alike(given))
    engine = engine_of(backend, given.get("generator"))
    return _made(backend, memory, integers(engine, memory, low, high - low), "randint_like")


def _normals(backend: Device, given: dict[str, Any]) -> Any:
    memory = _memory(backend, Fill(sizes_of(given["size"]), np_dtype(given.get("dtype"))))
    engine = engine_of(backend, given.get("generator"))
    return _made(backend, memory, normal(engine, memory, given["mean"], given["std"]), "normal")


def _randperm(backend: Device, given: dict[str, Any]) -> Any:
    """A sort by random keys of as many bits as make equal ones unlikely; equal ones are shuffled."""
    count, of = int(given["n"]), given.get("dtype") or dt.int64
    sizes_of(count)
    engine = engine_of(backend, given.get("generator"))
    memory = backend.empty((count,), of.np, None, False)
    if not count:
        return memory
    bits = min(64, math.ceil(math.log2(count - (6 * float(count) ** 2 + 1) / (math.log2(0.9) * 12))))
    claim = engine.claim(count, 2)
    island = engine.take(count)
    digits = 32 if bits <= 32 else 64  # of the keys' dtype, all of whose numbers but the last are drawn

    def draw(memory: Array) -> Array:
        span, low = (1 << digits) - 1, (1 << 64) - (1 << (digits - 1))
        keys = philox.drawn(claim, count, philox.integers64) % np.uint64(span) + np.uint64(low)
        keys &= np.uint64((1 << bits) - 1)
        order = np.argsort(keys, kind="stable")
        _shuffle_islands(order, keys[order], island)
        return order.astype(memory.dtype)

    return _made(backend, memory, draw, "randperm")


def _shuffle_islands(order: Array, keys: Array, seeded: Any) -> None:
    """Elements with equal keys in random order, each run by its own thread."""
    seed, offset = seeded
    same = np.flatnonzero(keys[1:] == keys[:-1])
    for first in same:
        if first and keys[first - 1] == keys[first]:
            continue
        size = int((keys == keys[first]).sum())
        for i in range(size - 1, 0, -1):
            step = size - 1 - i
            four = philox.words(seed, offset + step // 4 * 4, 1, int(first))
            other = int(four[step % 4][0]) % (i + 1)
            order[[first + i, first + other]] = order[[first + other, first + i]]


FACTORIES: dict[str, Callable[..., Any]] = {
    "randint": _randint,
    "randint_like": _randint_like,
    "_normal_sized": _normals,
    "randperm": _randperm,
}
for _name, _draw in (("rand", uniform), ("randn", normal)):
    FACTORIES[_name], FACTORIES[f"{_name}_like"] = _sized(_draw, _name)
