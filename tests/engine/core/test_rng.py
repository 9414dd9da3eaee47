"""The engine and its distributions on arrays: known words, states, laws."""

from __future__ import annotations

import threading
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from rushlight._engine.core import dtype
from rushlight._engine.numerics import (
    box_muller,
    distributions,
    fma,
    multinomial,
    random_integers,
    rejection_samplers,
)
from rushlight._engine.numerics.rng import DEFAULT_SEED, Engine, WordTransform

Array = np.ndarray[Any, Any]
_FLOATS = (dtype.float32, dtype.float64, dtype.float16, dtype.bfloat16)


# --- words and states -----------------------------------------------------------------------------


def test_words_are_mersenne_twisters() -> None:
    words = Engine(5489).words32(10000)
    assert words[0] == 3499211612
    assert words[-1] == 4123659995  # the value that the C++ standard names


def test_bulk_and_single_draws_are_one_stream() -> None:
    bulk, single = Engine(7), Engine(7)
    assert np.array_equal(
        bulk.words32(5000), np.concatenate([single.words32(n) for n in (1, 7, 600, 1392, 3000)])
    )
    assert np.array_equal(bulk.words64(3000), np.concatenate([single.words64(1000) for _ in range(3)]))


def test_the_first_word_of_a_pair_is_the_upper_half() -> None:
    pairs, words = Engine(7).words64(5), Engine(7).words32(10).astype(np.uint64)
    assert np.array_equal(pairs, words[0::2] << np.uint64(32) | words[1::2])


def test_double_is_the_next_of_standard64() -> None:
    one_by_one, bulk = Engine(3), Engine(3)
    assert [one_by_one.double() for _ in range(5)] == distributions.standard64(bulk, 5).tolist()


@pytest.mark.parametrize("drawn", [0, 1, 3, 623, 624, 625, 1248, 5000])
@pytest.mark.parametrize("seed", [0, DEFAULT_SEED, -1, 2**63])
def test_states_go_round(drawn: int, seed: int) -> None:
    engine, other = Engine(seed), Engine(1)
    engine.words32(drawn)
    other.set_state(engine.get_state())
    assert other.initial_seed == seed % 2**64
    assert np.array_equal(other.get_state(), engine.get_state())
    assert np.array_equal(other.words32(700), engine.words32(700))


def test_the_kept_normal_is_part_of_the_state() -> None:
    engine, other = Engine(1), Engine(2)
    distributions.normal(engine, 3, dtype.float32)
    other.set_state(engine.get_state())
    assert other.normal == engine.normal is not None
    first, second = (distributions.normal(e, 4, dtype.float64) for e in (engine, other))
    assert np.array_equal(first, second)


def test_seeding_forgets_the_kept_normal() -> None:
    engine = Engine(1)
    distributions.normal(engine, 3, dtype.float32)
    assert engine.normal is not None
    engine.manual_seed(1)
    assert engine.normal is None


def test_fresh_seeds_differ() -> None:
    engine = Engine()
    assert engine.seed() != engine.seed()
    assert engine.initial_seed != DEFAULT_SEED


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1])
def test_seeds_out_of_range(seed: int) -> None:
    with pytest.raises(ValueError, match="Overflow"):
        Engine(seed)


@pytest.mark.parametrize(
    "state", [np.zeros(10, np.uint8), np.zeros(5056, np.uint8), np.full(5056, 255, np.uint8)]
)
def test_bad_states(state: Array) -> None:
    with pytest.raises(RuntimeError, match="size 5056|Invalid mt19937 state"):
        Engine().set_state(state)


# --- arithmetic -----------------------------------------------------------------------------------


def test_fma64_rounds_once() -> None:
    x, y, z = np.random.default_rng(0).normal(size=(3, 2000))
    exact = [
        float(Fraction(a) * Fraction(b) + Fraction(c))
        for a, b, c in zip(x.tolist(), y.tolist(), z.tolist(), strict=True)
    ]
    assert np.array_equal(fma.fma64(x, y, z), exact)


def test_fma32_rounds_once() -> None:
    x, y, z = np.random.default_rng(0).normal(size=(3, 2000)).astype(np.float32)
    exact = [
        np.float32(float(Fraction(a) * Fraction(b) + Fraction(c)))
        for a, b, c in zip(x.tolist(), y.tolist(), z.tolist(), strict=True)
    ]
    assert np.array_equal(fma.fma32(x, y, z), exact)


def test_single_precision_box_muller_is_accurate() -> None:
    words = Engine(4).words32(16 * 5000)
    exact = (words & 0xFFFFFF) * 2.0**-24
    box_muller.normal64(exact)
    made = words.copy()
    box_muller.by_numpy(made, 0, 1)
    pairs = exact.reshape(-1, 2, 8)
    radius = np.sqrt(pairs[:, 0] ** 2 + pairs[:, 1] ** 2)
    error = np.abs(made.view(np.float32) - exact).reshape(-1, 2, 8)
    assert (error / np.maximum(radius, 1e-3)[:, None]).max() < 2e-6


# --- distributions --------------------------------------------------------------------------------

_MOMENTS = {  # draw -> its mean and standard deviation
    "uniform": (lambda e, n: distributions.uniform(e, n, dtype.float32, -1, 3), 1, 4 / 12**0.5),
    "normal": (lambda e, n: distributions.normal(e, n, dtype.float32, 1, 2), 1, 2),
    "normal in pairs": (lambda e, n: distributions.normal(e, n, dtype.float64, 1, 2, contiguous=False), 1, 2),
    "exponential": (lambda e, n: distributions.exponential(e, n, dtype.float64, 2), 0.5, 0.5),
    "geometric": (lambda e, n: distributions.geometric(e, n, dtype.int64, 0.25), 4, 12**0.5),
    "bernoulli": (lambda e, n: distributions.bernoulli(e, n, dtype.float32, 0.2), 0.2, 0.4),
    "integers": (lambda e, n: random_integers.integers(e, n, dtype.int64, -3, 4), 0, 2),
    "wide integers": (
        lambda e, n: random_integers.integers(e, n, dtype.float64, -(2**40), 2**40),
        0,
        2**40 / 3**0.5,
    ),
    "poisson": (lambda e, n: rejection_samplers.poisson(e, np.full(n // 10, 3.0)), 3, 3**0.5),
    "binomial": (
        lambda e, n: rejection_samplers.binomial(e, np.full(n // 10, 9.0), np.full(n // 10, 0.3)),
        2.7,
        1.89**0.5,
    ),
    "large binomial": (
        lambda e, n: rejection_samplers.binomial(e, np.full(n // 10, 100.0), np.full(n // 10, 0.75)),
        75,
        18.75**0.5,
    ),
    "gamma": (lambda e, n: rejection_samplers.gamma(e, np.full(n // 10, 2.5)), 2.5, 2.5**0.5),
    "small gamma": (
        lambda e, n: rejection_samplers.gamma(e, np.full(n // 10, 0.4, np.float32)),
        0.4,
        0.4**0.5,
    ),
    "large poisson": (lambda e, n: rejection_samplers.poisson(e, np.full(n // 10, 40.0)), 40, 40**0.5),
}


@pytest.mark.parametrize("name", _MOMENTS)
def test_moments(name: str) -> None:
    draw, mean, std = _MOMENTS[name]
    made = draw(Engine(11), 60000).astype(np.float64)
    assert abs(made.mean() - mean) < 5 * std / len(made) ** 0.5
    assert abs(made.std() / std - 1) < 0.05


@pytest.mark.parametrize("of", _FLOATS)
@pytest.mark.parametrize("n", [15, 16, 17, 40, 1000])
def test_uniforms_stay_below_their_end(of: Any, n: int) -> None:
    made = distributions.uniform(Engine(5), n * 50, of).astype(np.float64)
    assert made.min() >= 0
    assert made.max() < 1


def test_uniforms_near_the_end_of_the_range() -> None:
    near, far = (
        distributions.uniform(Engine(5), 9, dtype.float64, 0.0, high) for high in (1.5, 1.5 * 2.0**1022)
    )
    assert np.array_equal(near * 2.0**1022, far)


@pytest.mark.parametrize("of", _FLOATS)
def test_a_prefix_does_not_depend_on_the_length(of: Any) -> None:
    short, long = (distributions.normal(Engine(3), n, of) for n in (32, 64))
    assert np.array_equal(short, long[:32])


def test_memory_order_of_views() -> None:
    flat = np.arange(24)
    base = np.zeros((2, 3, 4))
    for view in (base, base.transpose(2, 0, 1), base.transpose(1, 2, 0)):
        made = distributions.in_memory_order(flat, view)
        assert made.shape == view.shape
        back = np.argsort([-s for s in view.strides], kind="stable")
        assert np.array_equal(made.transpose(back).reshape(-1), flat)


# --- integers and categories ----------------------------------------------------------------------


def _one_by_one(engine: Engine, n: int) -> list[int]:
    """The shuffle as PyTorch writes it: one exchange after the other."""
    words, made = engine.words32(n - 1).tolist(), list(range(n))
    for i, word in enumerate(words):
        j = i + word % (n - i)
        made[i], made[j] = made[j], made[i]
    return made


@pytest.mark.parametrize("n", [2, 3, 4, 5, 10, 100, 1000, 5000])
def test_permutations_are_fisher_and_yates(n: int) -> None:
    for seed in range(5):
        assert random_integers.exchanged(Engine(seed).words32(n - 1)).tolist() == _one_by_one(Engine(seed), n)


@pytest.mark.parametrize("of", [dtype.float16, dtype.bfloat16, dtype.float32])
def test_rounded_integers_stay_in_range(of: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns where not every integer can come out
        made = random_integers.integers(Engine(2), 5000, of, -40001, 50001).astype(np.float64)
    assert made.min() >= -40001
    assert made.max() < 50001


@pytest.mark.parametrize(
    ("low", "high", "of"),
    [
        (0, 300, dtype.uint8),
        (-1, 3, dtype.uint8),
        (0, 3, dtype.bool_),
        (5, 5, dtype.int64),
        (0, 10**6, dtype.float16),
    ],
)
def test_impossible_ranges(low: int, high: int, of: Any) -> None:
    with pytest.raises(RuntimeError, match="out of bounds|less than 'to'"):
        random_integers.integers(Engine(), 3, of, low, high)


@pytest.mark.parametrize("replacement", [True, False])
def test_categories_follow_their_weights(replacement: bool) -> None:
    weights = np.tile(np.array([0.1, 0.0, 0.6, 0.3], np.float32), (5000, 1))
    made = multinomial.chooser(weights, 2, replacement, lambda a: lambda a: np.cumsum(a, -1))(
        Engine(6), weights
    )
    share = np.bincount(made[:, 0], minlength=4) / len(made)
    assert np.abs(share - weights[0]).max() < 0.03
    if not replacement:
        assert (made[:, 0] != made[:, 1]).all()


def test_dirichlet_shares_sum_to_one() -> None:
    made = rejection_samplers.dirichlet(Engine(3), np.tile(np.array([1.0, 2.0, 5.0]), (2000, 1)))
    assert np.allclose(made.sum(-1), 1)
    assert np.allclose(made.mean(0), [0.125, 0.25, 0.625], atol=0.02)


def test_nothing_is_drawn_for_nothing() -> None:
    engine = Engine(1)
    before = engine.get_state()
    distributions.uniform(engine, 0, dtype.float32)
    distributions.normal(engine, 0, dtype.float32)
    random_integers.permutation(engine, 1, dtype.int64)
    random_integers.integers(engine, 0, dtype.int64, 0, 9)
    assert np.array_equal(engine.get_state(), before)


def test_who_looks_at_the_words_does_not_hold_numpys_lock() -> None:
    """Before NumPy 2.4 that lock is not re-entrant: NumPy's own draws would wait for it for ever."""
    engine, free = Engine(1), []

    def make(words: Array) -> Array:
        def attempt() -> None:
            free.append(engine._numpy.lock.acquire(timeout=5))
            engine._numpy.lock.release()

        other = threading.Thread(target=attempt)
        other.start()
        other.join()
        return words

    assert engine.take(WordTransform(make), (3,)).tolist() == Engine(1).single_words(3).tolist()
    with engine.lock, engine.exclusive():
        make(np.zeros(1, np.uint32))
    assert free and all(free)


@pytest.mark.parametrize("rates", [(0.0, 0.3, 3.0, 9.9), (10.0, 40.0, 1e4), (0.0, 2.0, 30.0)], ids=str)
def test_poisson_numbers_by_machine_code_are_those_of_python(rates):
    wide = np.resize(np.array(rates), 3000)
    one, other = Engine(3), Engine(3)
    found = rejection_samplers.poisson(one, wide)
    large, small, draw = rejection_samplers._poisson_large, rejection_samplers._poisson_small, other.double
    wanted = [large(r, draw) if r >= 10 else small(r, draw) if r else 0 for r in wide.tolist()]
    assert found.tolist() == wanted and one.double() == other.double()


def test_binomial_numbers_by_machine_code_are_those_of_python() -> None:
    counts = np.resize(np.array([0.0, 1, 10, 40, 1000, np.nan, 30]), 3000)
    shares = np.resize(np.array([0.0, 0.1, 0.5, 0.7, 1.0, 0.97, 0.02, np.nan, 0.4]), 3000)
    one, other = Engine(3), Engine(3)
    found = rejection_samplers.binomial(one, counts, shares)
    wanted = [
        float(rejection_samplers.binomial(other, counts[k : k + 1], shares[k : k + 1])[0])
        for k in range(3000)
    ]
    np.testing.assert_array_equal(found, wanted)
    assert one.double() == other.double()
